"""Verification of what a search found: the policy is queried again before anything is quoted."""

from dataclasses import replace

import numpy as np

from paretofoil.core.answer import Answer, Counterfactual, Status
from paretofoil.core.limit import Stop
from paretofoil.core.policy import action_values, probabilities
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.explanation.confirm import confirm
from paretofoil.explanation.rounding import round_command

NEGLIGIBLE = 1e-9
"""A command that had to be moved outwards by more than this is no longer the one that was proven closest."""


def check(batch: QuestionBatch, row: int, finding: Finding, unanswered: Answer) -> Answer:
    """Return the answer for what a search found; `unanswered` is the answer to the question before the search.

    The command is confirmed on the policy first, and then rounded to the quoted one.
    """
    proof, search = finding.certificate, replace(unanswered.search, stop=finding.stop)
    unanswered = replace(unanswered, search=search, proof=proof)
    if finding.scaled_change is None:
        infeasible = proof is not None and proof.status == "infeasible"
        return replace(unanswered, status=Status.PROVEN_INFEASIBLE) if infeasible else unanswered
    confirmed = confirm(batch, row, finding.scaled_change)
    if confirmed is None:
        return replace(unanswered, search=replace(search, stop=Stop.NOT_CONFIRMED))
    closest = _counterfactual(batch, row, *confirmed)
    command = round_command(batch, row, closest.command)
    scores = batch.scores_at(np.array([row]), command[None], "verify")[0]
    proven = proof is not None and proof.status == "optimal" and closest.distance <= proof.upper + NEGLIGIBLE
    return replace(
        unanswered,
        status=Status.PROVEN_CLOSEST if proven else Status.FOUND,
        quoted=_counterfactual(batch, row, command, scores),
        closest=closest,
    )


def _counterfactual(batch: QuestionBatch, row: int, command: np.ndarray, scores: np.ndarray) -> Counterfactual:
    """Return a command (d,) with the policy's scores (num_actions,) there."""
    question = batch.questions[row]
    return Counterfactual(
        command=command,
        distance=float(question.space.distance(command, question.command, question.norm)),
        margin=float(batch.margins_of(np.array([row]), scores[None])[0]),
        probabilities=probabilities(question.policy, scores, question.valid_actions),
        values=action_values(question.policy, scores),
    )
