"""Does my wish matter here? In how much of the command region each action is chosen: proven, or estimated."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import beta

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import rollout
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.core.influence import (
    CONFIDENCE,
    Influence,
    InfluenceProfile,
    Nearest,
    Scores,
    Share,
    SingleObjective,
    Switch,
)
from paretofoil.core.limit import Limits, Stop, as_seconds, now
from paretofoil.core.policy import WhiteBoxPolicy, as_policy, is_white_box, tells_values
from paretofoil.core.question import CHUNK, Question, QuestionBatch
from paretofoil.core.whole_number import as_seed, as_whole
from paretofoil.explanation.ask import ask
from paretofoil.explanation.explain import Subject, decision_of, moments_of
from paretofoil.explanation.noise import clearance
from paretofoil.explanation.pose import Box, paper_box, pose, restrict, space_of
from paretofoil.proof.shares import Leaves, ShareEffort, prove_shares
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact import Exact

_STEPS_TO_NEAREST = Boundary(max_queries=400)
_LOOKED_INTO, _DRAWN = 512, 16
"""Boxes in which a change is looked for where none is known, and commands that are tried in each."""

MOST_SAMPLES = 100_000_000
"""More do not fit into most memories."""
_ROUNDED = 1.02
"""How many times as far as the nearest command one with few digits may be."""


@dataclass(frozen=True)
class InfluenceEffort:
    """What an influence may take."""

    seconds: float = 1.0
    """For the proof about one moment; what it has not decided by then stays open."""
    undecided: float = 0.01
    """The proof stops when nothing is proven in no more than this share of the region."""
    samples: int = 10_000
    """Random commands that the policy is asked about."""
    seed: int = 0
    """Of these."""

    def __post_init__(self) -> None:
        as_seconds(self.seconds)
        samples = as_whole(self.samples, "samples to be a whole number")
        if not (0 <= self.undecided < 1 and 1 <= samples <= MOST_SAMPLES):
            what = f"undecided from 0 to 1 and 1 to {MOST_SAMPLES:,} samples"
            raise InvalidInput.expected(what, self)
        as_seed(self.seed)


def influence(
    subject: Subject,
    decision: Decision | None = None,
    *,
    state: Any = None,
    command: Any = None,
    collected: Any = None,
    valid_actions: Sequence[int] | None = None,
    seconds: float = InfluenceEffort.seconds,
    undecided: float = InfluenceEffort.undecided,
    samples: int = InfluenceEffort.samples,
    seed: int = InfluenceEffort.seed,
    box: Box = "reachable",
    space: CommandSpace | None = None,
    actions: Sequence[str] | None = None,
) -> Influence:
    """How much the command decides at one moment: for each valid action the share of commands that choose it.

    An action is chosen where its score is the largest among the valid ones, the first of equals, as the agent acts;
    kappa plays no part. Shares are proven intervals for white-box policies whose commands are a box: a
    part of the region counts for an action only if the action wins there by more than float32 can change, so that
    ties stay undecided. Beside them, and alone for a black box or preferences, stands what samples say, with its
    exact confidence interval. That no command changes the action is proven for preferences, too.

    Args:
        subject: an agent, or any policy with `log_probs(states, commands)`, or such a function.
        decision: a decision of a rollout, or of `Agent.decision_at`; or give `state` and `command` instead.
        seconds: the proof stops after so long.
        undecided: the proof stops when so small a share of the region is left.
        samples: so many random commands are asked of the policy.
        seed: of the random commands.
        box: shares of what can still be fulfilled of the space, or of the whole of the "paper"'s box.
        space: the box of commands; an agent brings its own.
        actions: the names of the actions; an agent brings its own.
    """
    effort = InfluenceEffort(seconds, undecided, samples, seed)  # refuses what is none, before anything is asked
    agent = subject if isinstance(subject, Agent) else None
    policy = agent.policy if agent else as_policy(subject)
    the_space = space_of(agent or policy, space)
    decision = decision_of(subject, decision, state, command, collected, valid_actions)
    first = decision.valid_actions[0] if decision.valid_actions else 0
    question = pose(policy, decision, first, the_space, kappa=0.0, box=paper_box(agent, box))
    found = _Asking(question, effort).answer(agent.actions if agent else actions)
    return replace(found, agent=agent.name if agent else "", step=decision.step)


def influence_episode(
    agent: Agent,
    episode: Episode | Sequence[float] | np.ndarray,
    *,
    times: Sequence[int] | None = None,
    seconds: float = InfluenceEffort.seconds,
    undecided: float = InfluenceEffort.undecided,
    samples: int = InfluenceEffort.samples,
    seed: int = InfluenceEffort.seed,
    box: Box = "reachable",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> InfluenceProfile:
    """How much the command decides at each moment of an episode.

    Args:
        agent: whose episode it is.
        episode: a rollout, or the command of one.
        times: the moments to ask about; all if not given.
        seconds: the proof of a moment stops after so long.
        undecided: the proof of a moment stops when so small a share of the region is left.
        samples: so many random commands are asked of the policy at each moment.
        box: as in `influence`.
        seed: of the sampled commands, and of the rollout.
        progress: called with the number of moments that are done, and of all.
    """
    InfluenceEffort(seconds, undecided, samples, seed)  # refuses what is none, before anything is rolled out
    if not isinstance(episode, Episode):
        episode = rollout(agent, episode, seed=seed)
    decisions = moments_of(episode, times)
    found: list[Influence] = []
    for decision in decisions:
        progress(len(found), len(decisions))
        found.append(
            influence(agent, decision, seconds=seconds, undecided=undecided, samples=samples, seed=seed, box=box)
        )
    progress(len(found), len(decisions))
    objectives = agent.space.asked_for
    return InfluenceProfile(agent.name, objectives, agent.actions, episode.command, episode.achieved, tuple(found))


@dataclass(frozen=True, eq=False)
class _Bounds:
    """What is proven of the shares of the valid actions, and how."""

    lower: np.ndarray  # (A,)
    upper: np.ndarray  # (A,)
    inert: bool = False
    proven: bool = True
    stop: Stop = Stop.COMPLETE
    boxes: int = 0
    slack: float = 0.0
    deviation: float = 0.0
    leaves: Leaves | None = None


class _Asking:
    """Collects what is to be known about one question's region."""

    def __init__(self, question: Question, effort: InfluenceEffort) -> None:
        self.question, self.effort = question, effort
        self.valid = np.array(question.valid_actions)
        self.batch = QuestionBatch([question])
        self.batch.keep_clear(clearance(self.batch))  # first: what else is asked of a random policy means nothing
        self.chosen = int(actions_at(self.batch, question.command[None], "original")[0])

    def answer(self, names: Sequence[str] | None) -> Influence:
        began, question = now(), self.question
        drawn = random_commands(question, self.effort.samples, np.random.default_rng(self.effort.seed))
        picked = actions_at(self.batch, drawn, "sample")
        lines = alone(self.batch, self.chosen, self.effort.seconds / 4)
        known = [drawn[picked != self.chosen], self._steps(), turned(question, lines)]
        nearest = self._nearest(np.concatenate(known))
        bounds = self._prove(known=nearest is not None)
        if nearest is None and bounds.leaves is not None:
            nearest = self._nearest(self._inside(bounds.leaves))
        counts = [int((picked == action).sum()) for action in self.valid]
        rows = zip(self.valid.tolist(), bounds.lower.tolist(), bounds.upper.tolist(), counts, strict=True)
        return Influence(
            agent="",
            step=0,
            objectives=question.space.asked_for,
            actions=self._named(names),
            chosen=self.chosen,
            command=question.command,
            low=question.low,
            high=question.high,
            shares=tuple(Share(*row, *likely_share(row[-1], len(drawn))) for row in rows),
            samples=len(drawn),
            inert=bounds.inert,
            proven=bounds.proven,
            alone=lines,
            nearest=nearest,
            scores=influence_scores(self.batch),
            stop=bounds.stop,
            boxes=bounds.boxes,
            slack=bounds.slack,
            deviation=bounds.deviation,
            seconds=now() - began,
            preferences=question.space.simplex,
        )

    def _named(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """The names of all actions, made of their numbers if none are given."""
        asked = self.batch.scores_at(np.zeros(1, dtype=int), self.question.command[None], "original")
        made = tuple(f"action {i}" for i in range(asked.shape[1])) if names is None else tuple(names)
        if len(made) != asked.shape[1]:
            raise InvalidInput.expected(f"{asked.shape[1]} action names", list(made))
        return made

    def _foils(self) -> list[Question]:
        return [replace(self.question, foil=int(a), kappa=0.0) for a in self.valid if a != self.chosen]

    def _steps(self) -> np.ndarray:
        """(N, d): what a search from the command finds for each foil."""
        answers = ask(self._foils(), replace(_STEPS_TO_NEAREST, seed=self.effort.seed))
        found = [answer.command for answer in answers if answer.command is not None]
        return np.array(found).reshape(len(found), self.question.space.dim)

    def _inside(self, leaves: Leaves) -> np.ndarray:
        """(N, d): random commands in boxes in which others may be chosen, those with most room for them first."""
        others = leaves.most[:, self.valid != self.chosen].sum(axis=1)
        order = np.argsort(-others, kind="stable")[:_LOOKED_INTO]
        found = leaves[np.repeat(order[others[order] > 0], _DRAWN)]
        drawn = np.random.default_rng(self.effort.seed).random(found.low.shape)
        shares = found.low + drawn * (found.high - found.low)
        commands: np.ndarray = self.question.low + shares * (self.question.high - self.question.low)
        return commands

    def _nearest(self, commands: np.ndarray) -> Nearest | None:
        """The nearest of commands (N, d) under which the policy, asked again, chooses another action."""
        actions = actions_at(self.batch, commands, "verify")
        commands, actions = commands[actions != self.chosen], actions[actions != self.chosen]
        if not len(commands):
            return None
        distances = self.question.space.distance(commands, self.question.command)
        best = int(distances.argmin())
        return self._in_few_digits(Nearest(commands[best], int(actions[best]), float(distances[best])))

    def _in_few_digits(self, found: Nearest) -> Nearest:
        """The same with numbers that can be told, as far as the policy, asked again, makes the same of them."""
        space, decimals = self.question.space, 1 - np.floor(np.log10(self.question.space.scale)).astype(int)
        if space.simplex:
            return found
        tried = [
            [round(*n) for n in zip(found.command.tolist(), (decimals + k).tolist(), strict=True)] for k in range(6)
        ]
        commands = np.clip(np.array(tried), self.question.low, self.question.high)
        same = np.flatnonzero(actions_at(self.batch, commands, "verify") == found.action)
        distances = space.distance(commands, self.question.command)
        near = [i for i in same if distances[i] <= _ROUNDED * found.distance]
        return Nearest(commands[near[0]], found.action, float(distances[near[0]])) if near else found

    def _prove(self, known: bool) -> _Bounds:
        """What can be proven; `known` says that some command is known to change the action."""
        policy, count = self.question.policy, len(self.valid)
        if count == 1:
            return _Bounds(np.ones(1), np.ones(1), inert=True, stop=Stop.PROVEN)
        if self.question.space.simplex and is_white_box(policy) and not known:
            return self._prove_inert()
        if self.question.space.simplex or not isinstance(policy, WhiteBoxPolicy):
            return _Bounds(np.zeros(count), np.ones(count), proven=False)
        deadline = now() + self.effort.seconds
        found = prove_shares(self.batch, ShareEffort(self.effort.undecided, deadline=deadline, inert=not known))
        if found.inert and known:  # the policy refutes its own inside: nothing is proven
            return _Bounds(np.zeros(count), np.ones(count), proven=False)
        how = (found.stop, found.boxes, found.slack, found.deviation, found.leaves)
        return _Bounds(found.lower, found.upper, found.inert, True, *how)

    def _prove_inert(self) -> _Bounds:
        """Of preferences: a foil that is proven to be chosen nowhere has the share 0, and all others are open."""
        foils = self._foils()
        batch = QuestionBatch(foils)
        batch.keep_clear(self.batch.clearance)
        findings = Exact(seed=self.effort.seed).run(batch, Limits(self.effort.seconds / len(foils)))
        certificates = [finding.certificate for finding in findings]
        never = [certificate is not None and certificate.status == "infeasible" for certificate in certificates]
        upper = np.ones(len(self.valid))
        upper[self.valid != self.chosen] = ~np.array(never)
        inert = all(never)
        return _Bounds(
            np.where(inert, upper, 0.0),
            upper,
            inert,
            any(never),
            Stop.PROVEN if inert else findings[never.index(False)].stop,
            sum(certificate.boxes for certificate in certificates if certificate),
            max((certificate.slack for certificate in certificates if certificate), default=0.0),
            max((certificate.deviation for certificate in certificates if certificate), default=0.0),
        )


_VALUES = 512
"""Of an objective's range that are tried, evenly spaced."""
_HALVINGS = 30
"""Between the last value that was tried that keeps the action and the first that changes it."""
_UNDECIDED = 1e-3


def alone(batch: QuestionBatch, chosen: int, seconds: float) -> tuple[SingleObjective, ...]:
    """For each objective that has a range in the region of the batch's first question."""
    question = batch.questions[0]
    free = np.flatnonzero(question.high > question.low)
    return tuple(_one(batch, chosen, int(i), seconds / max(len(free), 1)) for i in free)


def turned(question: Question, lines: Sequence[SingleObjective]) -> np.ndarray:
    """(N, d): the commands at which one objective alone was found to change the action."""
    turns = [(line.objective, turn.value) for line in lines for turn in (line.down, line.up) if turn is not None]
    commands = [with_value(question, i, np.array([value])) for i, value in turns]
    return np.concatenate([np.zeros((0, question.space.dim)), *commands])


def _one(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> SingleObjective:
    question = batch.questions[0]
    low, high, here = question.low[i], question.high[i], question.command[i]
    values = low + (np.arange(_VALUES) + 0.5) / _VALUES * (high - low)
    changed = actions_at(batch, with_value(question, i, values), "alone") != chosen
    below, above = np.append(low, values[values < here]), np.append(values[values > here], high)
    down, up = _turn(batch, chosen, i, below[::-1]), _turn(batch, chosen, i, above)
    lower, upper = _proven(batch, chosen, i, seconds)
    return SingleObjective(i, lower, upper, float(changed.mean()), down, up)


def with_value(question: Question, i: int, values: np.ndarray) -> np.ndarray:
    """(N, d): the command with other values (N,) of one objective."""
    commands = np.repeat(question.command[None], len(values), axis=0)
    if question.space.simplex:
        others = np.delete(np.arange(question.space.dim), i)
        rest = question.command[others].sum()
        shares = question.command[others] / rest if rest > 0 else np.full(len(others), 1.0 / len(others))
        commands[:, others] = (1.0 - values[:, None]) * shares
    commands[:, i] = values
    return question.space.project(commands, question.low, question.high)


def _turn(batch: QuestionBatch, chosen: int, i: int, values: np.ndarray) -> Switch | None:
    """The first change on the way along values (N,), which lead away from the command's."""
    question = batch.questions[0]
    actions = actions_at(batch, with_value(question, i, values), "alone")
    hits = np.flatnonzero(actions != chosen)
    if not len(hits):
        return None
    first = int(hits[0])
    same, other, action = values[first - 1] if first else question.command[i], values[first], int(actions[first])
    for _ in range(_HALVINGS):
        middle = (same + other) / 2
        [tried] = actions_at(batch, with_value(question, i, np.array([middle])), "alone")
        if tried == chosen:
            same = middle
        else:
            other, action = middle, int(tried)
    return _in_few_digits(batch, chosen, i, Switch(float(other), action), float(values[-1]))


def _in_few_digits(batch: QuestionBatch, chosen: int, i: int, turn: Switch, end: float) -> Switch:
    """A value a little farther, with as few digits as the policy, asked again, allows; at most as far as the end."""
    question = batch.questions[0]
    away = turn.value - question.command[i]
    first = -math.floor(math.log10(abs(away)))
    rounded = [
        (math.ceil if away > 0 else math.floor)(turn.value * 10**k) / 10**k for k in range(first + 1, first + 12)
    ]
    tried = np.array([value for value in rounded if min(turn.value, end) <= value <= max(turn.value, end)])
    actions = actions_at(batch, with_value(question, i, tried), "alone")
    found = np.flatnonzero(actions != chosen)
    return Switch(float(tried[found[0]]), int(actions[found[0]])) if len(found) else turn


def _proven(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> tuple[float, float]:
    """In at least, and at most, which share of the objective's range another action is chosen."""
    question = batch.questions[0]
    if question.space.simplex or not isinstance(question.policy, WhiteBoxPolicy):
        return 0.0, 1.0
    line = QuestionBatch([restrict(question, [k for k in range(question.space.dim) if k != i], {})])
    line.keep_clear(batch.clearance)
    found = prove_shares(line, ShareEffort(_UNDECIDED, deadline=now() + seconds))
    own = question.valid_actions.index(chosen)
    return max(0.0, 1.0 - float(found.upper[own])), min(1.0, 1.0 - float(found.lower[own]))


_ROUNDS = 200
"""How often preferences are drawn until enough of them lie within the region's ranges."""


def actions_at(batch: QuestionBatch, commands: np.ndarray, phase: str) -> np.ndarray:
    """(N,): what is chosen under commands (N, d) at the first question's state: the first of equals, as it acts."""
    valid = np.array(batch.questions[0].valid_actions)
    parts = [commands[start : start + CHUNK] for start in range(0, len(commands), CHUNK)]
    best = [batch.scores_at(np.zeros(len(p), dtype=int), p, phase)[:, valid].argmax(axis=1) for p in parts]
    return valid[np.concatenate(best)] if best else np.zeros(0, dtype=int)


def random_commands(question: Question, count: int, generator: np.random.Generator) -> np.ndarray:
    """(N, d): evenly distributed over the region; of narrow ranges of preferences perhaps fewer than asked for."""
    low, high = question.low, question.high
    if not question.space.simplex:
        return low + generator.random((count, low.size)) * (high - low)
    free = 1.0 - low.sum()
    drawn = np.zeros((0, low.size))
    for _ in range(_ROUNDS):
        weights = low + free * generator.dirichlet(np.ones(low.size), size=count)
        drawn = np.concatenate([drawn, weights[(weights <= high).all(axis=1)]])[:count]
        if len(drawn) == count or free <= 0:
            break
    if not len(drawn):
        raise InvalidInput.expected("ranges of preferences that are not too narrow to be sampled", f"{low} to {high}")
    return drawn


def likely_share(hits: int, total: int) -> tuple[float, float]:
    """The exact confidence interval of a share of which so many of all samples were hits (Clopper and Pearson 1934)."""
    tail = (1.0 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, total - hits + 1))
    high = 1.0 if hits == total else float(beta.ppf(1.0 - tail, hits + 1, total - hits))
    return low, high


_STEPS = 50
"""Probes along each direction: at 0.02, 0.04 ... 1 times the range."""
MOST_CORNERED = 10
"""Objectives whose corners are probed: there are two to the power of this many."""
_DECIMALS = 5
"""Probes that agree in so many are one."""
_ADDED = 1e-8
"""To each probability before they are divided by their sum, so that logarithms are finite."""


def fan(question: Question) -> np.ndarray:
    """(N, d): the probes: along each axis, to each corner of signs, and along the command; clipped, each once.

    Of many objectives the corners are left out: there are too many.
    Preferences have the region's point nearest to each probe.
    """
    command, low, high = question.command, question.low, question.high
    axes = np.eye(command.size)
    signs = itertools.product((-1.0, 1.0), repeat=command.size) if command.size <= MOST_CORNERED else ()
    corners = np.array(list(signs)).reshape(-1, command.size)
    directions = np.concatenate([axes, -axes, corners, command[None]])
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = directions[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    steps = np.arange(1, _STEPS + 1) / _STEPS
    probes = (steps[:, None, None] * directions * (high - low)).reshape(-1, command.size)
    inside = np.unique(np.round(question.space.project(probes, low, high), _DECIMALS), axis=0)
    return question.space.project(inside, low, high)  # which rounding may have left


def influence_scores(batch: QuestionBatch) -> Scores:
    """Of the batch's first question, whose region is the box of the fan."""
    question, probes = batch.questions[0], fan(batch.questions[0])
    commands = np.concatenate([question.command[None], probes])
    scores = batch.scores_at(np.zeros(len(commands), dtype=int), commands, "scores")
    scores = scores[:, list(question.valid_actions)].astype(np.float64)
    best = scores.argmax(axis=1)
    if tells_values(question.policy):  # what is worth most is chosen for sure
        chances = np.eye(scores.shape[1])[best]
    else:
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
    own, mean = (p / p.sum() for p in (chances[0] + _ADDED, chances[1:].mean(axis=0) + _ADDED))
    middle = (own + mean) / 2
    return Scores(
        kl=_divergence(own, mean),
        tv=float(np.abs(own - mean).sum() / 2),
        js=(_divergence(own, middle) + _divergence(mean, middle)) / 2,
        flip=float((best[1:] != best[0]).mean()),
        probes=len(probes),
    )


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    return max(0.0, float((p * np.log(p / q)).sum()))
