"""What of a search's finding survives: the policy is asked again about whatever is claimed."""

from dataclasses import replace

import numpy as np

from paretofoil.core.answer import Answer, Outcome
from paretofoil.core.policy import probabilities
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding
from paretofoil.explanation.rounding import round_command

CHANGED = 1e-9
"""A scaled change up to this counts as no change."""


def check(batch: QuestionBatch, row: int, finding: Finding, min_change: float, nothing: Answer) -> Answer:
    """The answer that a finding amounts to; `nothing` is the answer to the same question that found nothing."""
    certificate = finding.certificate
    nothing = replace(nothing, stop=finding.stop)
    if certificate is not None:
        nothing = replace(nothing, certificate=certificate, lower_bound=certificate.lower)
    if finding.change is None:
        infeasible = certificate is not None and certificate.status == "infeasible"
        return replace(nothing, outcome=Outcome.PROVEN_INFEASIBLE) if infeasible else nothing
    question, rows = batch.questions[row], np.array([row])
    command = _to_command(question, finding.change)
    if min_change > 0:
        command = _without_small_changes(batch, row, command, min_change)
    scores = batch.scores_at(rows, command[None], "verify")
    margin = float(batch.margins_of(rows, scores)[0])
    if margin < question.kappa:
        return nothing
    proven = certificate is not None and certificate.status == "optimal"
    return replace(
        nothing,
        outcome=Outcome.PROVEN_OPTIMAL if proven else Outcome.FOUND,
        command=command,
        distance=float(question.space.distance(command, question.command, question.norm)),
        margin=margin,
        rounded=round_command(batch, row, command),
        counterfactual_probabilities=probabilities(scores[0], question.valid_actions),
    )


def changed(question: Question, command: np.ndarray) -> np.ndarray:
    """Which objectives a command changes, and in which direction: -1, 0 or 1 each."""
    change = (command - question.command) / question.space.scale
    return np.where(np.abs(change) <= CHANGED, 0, np.sign(change))


def _to_command(question: Question, change: np.ndarray) -> np.ndarray:
    """From a scaled change to a command inside the region; objectives that do not change keep their number."""
    command = np.clip(question.command + change * question.space.scale, question.low, question.high)
    return np.where(np.abs(change) <= CHANGED, question.command, command)


def _without_small_changes(batch: QuestionBatch, row: int, command: np.ndarray, min_change: float) -> np.ndarray:
    """Undo the small changes, the smallest first, as long as the foil still wins by kappa."""
    question = batch.questions[row]
    sizes = np.abs(command - question.command) / question.space.scale
    for i in np.argsort(sizes):
        if CHANGED < sizes[i] < min_change:
            trial = command.copy()
            trial[i] = question.command[i]
            if batch.margins_at(np.array([row]), trial[None], "snap")[0] >= question.kappa:
                command = trial
    return command
