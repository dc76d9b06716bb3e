"""Verification: the policy is queried again before a command is quoted.

The command of a search is confirmed on the policy in batches of several sizes. Then it is rounded to short numbers,
which are confirmed in the same way. The scores of a row may depend on its batch, because a matrix product may round
differently, most of all in half precision. This noise is measured first. Searches stay away from kappa by a multiple of
it, and checks allow for it. A random policy is refused.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from paretofoil.core.answer import Answer, Counterfactual, Status
from paretofoil.core.command import length
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Stop
from paretofoil.core.policy import IMPOSSIBLE, action_values, probabilities, tells_values
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding

NEGLIGIBLE = 1e-9
"""A command whose distance exceeds the proven one by more than this does not count as proven closest."""
UNCHANGED = 1e-9
"""A scaled change up to this counts as no change: the objective keeps its number."""
NOISE = 1e-12
"""Rounding errors of float64 numbers."""
OUTWARDS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Shares by which a change is enlarged, one after the other, until the policy confirms it."""
DIGITS = range(1, 10)
"""Resolutions of rounding: 1 is a 10th of each objective's range, 2 a 100th, and so on."""
MAX_ROUNDED = 8
"""Most commands that are queried at each resolution: all ways to round three objectives."""
BOTH_WAYS = 10
"""Most objectives that are rounded both down and up, which gives 2 ** 10 ways."""
SMALL = 0.05
"""A feature that changes by less than this share of the largest change keeps its number, if the foil still wins."""
STRETCH = 1.1
"""Largest ratio of the distance of a rounded command to that of the command before rounding."""
CANDIDATES = 128
"""Number of random commands among which noise is measured."""
PROBES = 32
"""Number of candidates, those with margins nearest to kappa, that are queried again. Far from kappa, where an action is
nearly impossible, logarithms of tiny probabilities can be much noisier than near the decision boundary."""
BATCHES = (1, 2, 7)
"""Sizes of the batches in which probes and commands are queried."""
CAUTION = 4.0
"""The margins of findings exceed kappa by at least this many times the measured noise."""
RANDOM = 1e-3
"""A policy counts as random if querying a batch twice changes a margin by more than this, in absolute terms and as a
share of the median margin."""
NORMALISED = 1e-4
"""Largest difference of a sum of probabilities from 1."""


def check(batch: QuestionBatch, row: int, finding: Finding, empty: Answer) -> Answer:
    """Return the answer for the finding of a search; `empty` is the answer without any finding.

    The command is first confirmed on the policy, and then rounded to the quoted command.
    """
    proof, search = finding.certificate, replace(empty.search, stop=finding.stop)
    empty = replace(empty, search=search, proof=proof)
    if finding.scaled_change is None:
        infeasible = proof is not None and proof.status == "infeasible"
        return replace(empty, status=Status.PROVEN_INFEASIBLE) if infeasible else empty
    confirmed = confirm(batch, row, finding.scaled_change)
    if confirmed is None:
        return replace(empty, search=replace(search, stop=Stop.NOT_CONFIRMED))
    closest = counterfactual(batch, row, *confirmed)
    question, first_valid = batch.questions[row], partial(first_that_flips, batch, row)
    for simpler in _without_small_changes(question, closest.command):
        command = round_command(question, simpler, first_valid)
        if flips(batch, row, command):
            break
    else:
        command = round_command(question, closest.command, first_valid)
    scores = batch.scores_at(np.array([row]), command[None], "verify")
    if exact_rows(batch) and not _flips(batch, row, scores):
        command, scores = closest.command, confirmed[1][None]
    proven = proof is not None and proof.status == "optimal" and closest.distance <= proof.upper + NEGLIGIBLE
    return replace(
        empty,
        status=Status.PROVEN_CLOSEST if proven else Status.FOUND,
        quoted=counterfactual(batch, row, command, scores[0]),
        closest=closest,
    )


def counterfactual(batch: QuestionBatch, row: int, command: np.ndarray, scores: np.ndarray) -> Counterfactual:
    """Return the counterfactual at a command (d,), given the policy's scores (num_actions,) under it."""
    question = batch.questions[row]
    return Counterfactual(
        command=command,
        distance=float(question.space.distance(command, question.command, question.norm)),
        margin=float(batch.margins_of(np.array([row]), scores[None])[0]),
        probabilities=probabilities(question.policy, scores, question.valid_actions),
        values=action_values(question.policy, scores),
    )


def confirm(batch: QuestionBatch, row: int, change: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the command of a scaled change and its scores, once the policy has confirmed that the foil wins.

    If it does not win, the change is enlarged in small steps. Return None if the foil wins at no step.
    """
    question, rows = batch.questions[row], np.array([row])
    for share in OUTWARDS:
        command = batch.commands_at(rows, (1 + share) * change[None])[0]
        is_unchanged = np.abs(command - question.command) <= UNCHANGED * question.space.scale
        low, high = (np.where(is_unchanged, question.command, side) for side in (question.low, question.high))
        command = question.space.project(command[None], low, high)[0]
        scores = scores_in_batches(batch, row, command)
        if _flips(batch, row, scores):
            return command, scores[0]
    return None


def flips(batch: QuestionBatch, row: int, command: np.ndarray) -> bool:
    """Return whether the foil wins by kappa at a command (d,) in every batch; if kappa is 0, a tie does not count."""
    return _flips(batch, row, scores_in_batches(batch, row, command))


def _flips(batch: QuestionBatch, row: int, scores: np.ndarray) -> bool:
    margin = sure_margin(batch, row, scores)
    return margin >= batch.questions[row].kappa and margin > 0


def scores_in_batches(batch: QuestionBatch, row: int, command: np.ndarray) -> np.ndarray:
    """Return the scores (N, num_actions) at a command (d,), queried alone and at each position of small batches."""
    sizes = (1,) if exact_rows(batch) else BATCHES
    each = [batch.scores_at(np.full(size, row), np.repeat(command[None], size, axis=0), "verify") for size in sizes]
    return np.concatenate(each)


def sure_margin(batch: QuestionBatch, row: int, scores: np.ndarray) -> float:
    """Return the smallest margin of scores (N, num_actions) under one command, minus the noise of the policy."""
    margins = batch.margins_of(np.full(len(scores), row), scores)
    if len(margins) == 1:
        return float(margins[0])
    noise = max(batch.clearance / CAUTION, float(np.ptp(margins)))
    return float(margins.min()) - (noise if noise > NOISE else 0.0)


def round_command(
    question: Question, command: np.ndarray, first_valid: Callable[[np.ndarray], np.ndarray | None]
) -> np.ndarray:
    """Return the command rounded to the fewest digits with which it is still valid.

    Each changed objective is rounded down or up, first at the coarsest resolution. Unchanged objectives keep their
    number. `first_valid` returns the first valid one of several commands (N, d), or None. If no rounded command is
    valid, the command itself is returned.
    """
    for digits in DIGITS:
        candidates = _rounded_commands(question, command, digits)
        valid = first_valid(candidates) if len(candidates) else None
        if valid is not None:
            return valid
    return command


def _without_small_changes(question: Question, command: np.ndarray) -> list[np.ndarray]:
    """Return variants of the command (d,) in which small changes of features are undone: first all, then fewer."""
    features = [o.feature for o in question.space.objectives]  # type: ignore[union-attr]
    if not any(features):
        return []
    sizes = np.abs(command - question.command) / question.space.scale
    small = [i for i in np.argsort(sizes, kind="stable") if features[i] and 0 < sizes[i] <= SMALL * sizes.max()]
    variants = [
        np.where(np.isin(np.arange(len(command)), small[:n]), question.command, command)
        for n in range(len(small), 0, -1)
    ]
    return [variant for variant in variants if question.space.allows(variant[None])[0]]


def first_that_flips(batch: QuestionBatch, row: int, commands: np.ndarray) -> np.ndarray | None:
    """Return the first of the commands (N, d) under which the foil wins by kappa."""
    margins = batch.margins_at(np.full(len(commands), row), commands, "round")
    likely = commands[(margins >= batch.questions[row].kappa) & (margins > 0)]
    if exact_rows(batch):  # the caller queries the command alone
        return likely[0] if len(likely) else None
    return next((command for command in likely if flips(batch, row, command)), None)


def _rounded_commands(question: Question, command: np.ndarray, digits: int) -> np.ndarray:
    """Return all roundings of the command at one resolution, the nearest first: (N, d)."""
    space, norm = question.space, question.norm
    changed = np.flatnonzero(command != question.command)
    if space.simplex:
        rounded = _round_preferences(command, changed, digits)
    else:
        rounded = _round_each(command, changed, digits - np.floor(np.log10(space.scale)).astype(int))
    # A number that is rounded to the original one, up to its last bits, counts as unchanged.
    back = np.abs(rounded - question.command) <= UNCHANGED * space.scale
    rounded = np.where(back, question.command, rounded)
    inside = ((rounded >= question.low) & (rounded <= question.high)).all(axis=1)
    if not space.is_box:
        inside &= space.allows(rounded)
    if space.simplex:
        inside &= np.abs(rounded.sum(axis=1) - 1.0) < NOISE
    # Rounding must not reverse a change, and must not enlarge it much.
    same_way = ((rounded - question.command) * (command - question.command) >= 0).all(axis=1)
    reach = STRETCH * space.distance(command, question.command, norm)
    rounded = rounded[inside & same_way & (space.distance(rounded, question.command, norm) <= reach)]
    if len(rounded) > MAX_ROUNDED:
        rounded = rounded[np.argsort(space.distance(rounded, command, norm), kind="stable")[:MAX_ROUNDED]]
    return rounded


def _round_each(command: np.ndarray, objectives: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """Return all ways to round some objectives of the command down or up to their decimals (d,): (N, d).

    If there are many objectives, only those farthest from a rounded number are rounded both ways.
    """
    unit = 10.0 ** -decimals.astype(float)
    down = np.floor(command / unit)
    near = np.round(command / unit) == down
    choices = [(down[i], down[i] + 1) if near[i] else (down[i] + 1, down[i]) for i in objectives]
    clear = np.abs(command / unit - down - 0.5)[objectives]
    for place in np.argsort(clear, kind="stable")[BOTH_WAYS:]:
        choices[place] = choices[place][:1]
    ways = list(itertools.product(*choices))
    rounded = np.repeat(command[None], len(ways), axis=0)
    for candidate, choice in zip(rounded, ways, strict=True):
        candidate[objectives] = [
            round(float(n * unit[i]), max(int(decimals[i]), 0)) for n, i in zip(choice, objectives, strict=True)
        ]
    return rounded


def _round_preferences(command: np.ndarray, changed: np.ndarray, decimals: int) -> np.ndarray:
    """Return rounded preferences (N, d): one changed weight is not rounded, but makes the sum 1.

    This weight has as few digits as the rounded ones, unless an unchanged weight has more.
    """
    ways = []
    for rest in changed:
        others = changed[changed != rest]
        rounded = _round_each(command, others, np.full(len(command), decimals))
        rounded[:, rest] = 1.0 - np.delete(rounded, rest, axis=1).sum(axis=1)
        short = np.round(rounded[:, rest], decimals)
        rounded[:, rest] = np.where(np.abs(short - rounded[:, rest]) < NOISE, short, rounded[:, rest])
        ways.append(rounded)
    every = np.unique(np.concatenate(ways), axis=0) if ways else command[None][:0]
    return every[np.argsort(length(every - command), kind="stable")]


def clearance(batch: QuestionBatch) -> float:
    """Return by how much margins must exceed kappa because of noise; 0 for a policy without noise."""
    return 0.0 if exact_rows(batch) else CAUTION * measure_noise(batch)


def exact_rows(batch: QuestionBatch) -> bool:
    """Return whether the policy declares (see `ExactRows`) that the result for a row does not depend on the batch."""
    return bool(getattr(batch.questions[0].policy, "exact_rows", False))


def measure_noise(batch: QuestionBatch, seed: int = 0) -> float:
    """Return the largest difference of a margin between batches; raise InvalidInput if the policy is random."""
    generator = np.random.default_rng(seed)
    rows = np.arange(CANDIDATES) % batch.num_questions
    commands = batch.commands_at(rows, generator.uniform(batch.low[rows], batch.high[rows]))
    candidates = batch.margins_at(rows, commands, "noise")
    near = np.argsort(np.abs(candidates - batch.kappa[rows]), kind="stable")[:PROBES]
    rows, commands = rows[near], commands[near]

    def margins_in(order: np.ndarray, size: int) -> np.ndarray:
        margins = np.empty(PROBES)
        for some in np.split(order, range(size, PROBES, size)):
            margins[some] = batch.margins_at(rows[some], commands[some], "noise")
        return margins

    together, again = (margins_in(np.arange(PROBES), PROBES) for _ in range(2))
    _refuse_random(together, again)
    apart = [margins_in(generator.permutation(PROBES), size) for size in BATCHES]
    return float(_differences(candidates[near], together, *apart).max(initial=0.0))


def _differences(*margins: np.ndarray) -> np.ndarray:
    """Return the largest difference of each margin between several measurements (N,), without impossible actions."""
    possible = np.max(np.abs(margins), axis=0) < -IMPOSSIBLE / 2
    return np.ptp(margins, axis=0)[possible]


def _refuse_random(one: np.ndarray, other: np.ndarray) -> None:
    difference = float(_differences(one, other).max(initial=0.0))
    sizes = np.abs(one)[np.abs(one) < -IMPOSSIBLE / 2]
    if difference > RANDOM * max(1.0, float(np.median(sizes)) if len(sizes) else 0.0):
        raise InvalidInput.expected(
            "a policy that answers the same query in the same way",
            f"margins that differ by up to {difference:.3g} when the same batch is queried twice "
            "(if dropout is on, call eval() on the module)",
        )


def refuse_probabilities(batch: QuestionBatch, scores: np.ndarray) -> None:
    """Raise InvalidInput if a policy returns probabilities; scores (Q, num_actions) are those under the commands.

    A few rows of logits may look like probabilities. Then the scores under random commands decide.
    """
    if tells_values(batch.questions[0].policy) or not _are_probabilities(scores):
        return
    rows, generator = np.arange(PROBES) % batch.num_questions, np.random.default_rng(0)
    commands = batch.commands_at(rows, generator.uniform(batch.low[rows], batch.high[rows]))
    if _are_probabilities(batch.scores_at(rows, commands, "noise")):
        got = "probabilities (rows between 0 and 1 that sum to 1); return np.log of them"
        raise InvalidInput.expected("log-probabilities or logits", got)


def _are_probabilities(scores: np.ndarray) -> bool:
    between = (scores > 0) & (scores < 1)
    return bool(between.any() and (scores >= 0).all() and np.allclose(scores.sum(axis=1), 1.0, rtol=0, atol=NORMALISED))
