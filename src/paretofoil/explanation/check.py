"""What of a search's finding survives: the policy is asked again about whatever is claimed, and quoted."""

from dataclasses import replace

import numpy as np

from paretofoil.core.answer import Answer, Status
from paretofoil.core.limit import Stop
from paretofoil.core.policy import shares
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.explanation.confirm import confirm
from paretofoil.explanation.rounding import round_command


def check(batch: QuestionBatch, row: int, finding: Finding, nothing: Answer) -> Answer:
    """The answer that a finding amounts to; `nothing` is the answer to the same question that found nothing.

    What is found is confirmed first, then rounded, and the answer is about the rounded command alone.
    """
    certificate = finding.certificate
    nothing = replace(nothing, stop=finding.stop)
    if certificate is not None:
        nothing = replace(nothing, certificate=certificate, lower_bound=certificate.lower)
    if finding.scaled_change is None:
        infeasible = certificate is not None and certificate.status == "infeasible"
        return replace(nothing, status=Status.PROVEN_INFEASIBLE) if infeasible else nothing
    closest = confirm(batch, row, finding.scaled_change)
    if closest is None:
        return replace(nothing, stop=Stop.NOT_CONFIRMED)
    question, rows = batch.questions[row], np.array([row])
    command = round_command(batch, row, closest)
    scores = batch.scores_at(rows, command[None], "verify")
    size, quoted = (question.space.distance(c, question.command, question.norm) for c in (closest, command))
    chances, values = shares(question.policy, scores[0], question.valid_actions)
    proven = certificate is not None and certificate.status == "optimal" and size <= certificate.upper + NEGLIGIBLE
    return replace(
        nothing,
        status=Status.PROVEN_CLOSEST if proven else Status.FOUND,
        command=command,
        distance=float(quoted),
        margin=float(batch.margins_of(rows, scores)[0]),
        counterfactual_probabilities=chances,
        counterfactual_values=values,
        closest=closest,
        closest_distance=float(size),
    )


NEGLIGIBLE = 1e-9
"""An answer that the check had to walk outwards by more than this is no longer the one that was proven closest."""
