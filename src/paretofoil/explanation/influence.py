"""Measure how much the command matters in a state: the share of commands that choose each action."""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, overload

import numpy as np

from paretofoil.agents.agent import Agent, rollout
from paretofoil.core.amounts import ActionSpace, Actor, as_actor
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput, as_seed, as_whole
from paretofoil.core.influence import (
    CONFIDENCE,
    AmountInfluence,
    Influence,
    InfluenceProfile,
    Nearest,
    Scores,
    Share,
    SingleObjective,
    Switch,
)
from paretofoil.core.options import Box, Limits, Options, Stop, as_seconds, now
from paretofoil.core.policy import WhiteBoxPolicy, as_policy, greedy_action, is_white_box, tells_values
from paretofoil.core.question import CHUNK, Question, QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.explanation.amount_influence import influence_on_amounts
from paretofoil.explanation.ask import action_names, ask
from paretofoil.explanation.explain import steps_of
from paretofoil.explanation.questions import Subject, action_words, make_decision, make_region, restrict
from paretofoil.explanation.verify import clearance
from paretofoil.proof.shares import Leaves, ShareEffort, prove_shares
from paretofoil.search.boundary import Boundary
from paretofoil.search.exact import Exact

MAX_SAMPLES = 100_000_000
"""More do not fit into memory on most machines."""
MAX_CORNERED = 10
"""The fan has probes towards corners for at most this many objectives: there are 2 to the power of their number."""
_SEARCH = Boundary(max_queries=400)
_BOXES, _PER_BOX = 512, 16
"""If no command is known that changes the action, this many undecided boxes are sampled, with this many random
commands in each."""
_CLOSEST = 100
"""Number of random commands that are candidates for the nearest command that changes the action."""
_STEPS_PER_PROCESS = 4
"""A process for fewer steps takes longer to start than it saves."""
_ROUNDING = 1.02
"""The rounded nearest command may be farther than the nearest one by at most this factor."""
_VALUES = 512
"""Number of evenly spaced values of each single objective."""
_REFINEMENTS, _PARTS = 5, 64
"""The interval between the last value that keeps the action and the first that changes it is divided this many times,
each time into this many parts."""
_LINE_UNDECIDED = 1e-3
"""The proof about a single objective stops when this share of its range is undecided."""
_DRAWS = 200
"""Maximum number of attempts to draw enough random commands within the search region."""
_FAN_STEPS = 50
"""Number of probes along each direction of the fan: at 0.02, 0.04 ... 1 times the range."""
_FAN_DECIMALS = 5
"""Probes that agree in this many decimals count once."""
_SMOOTHING = 1e-8
"""Added to each probability, so that logarithms are finite."""


@dataclass(frozen=True)
class InfluenceEffort:
    """Limits of the computation at one step."""

    seconds: float = 1.0
    """Time limit of the proof."""
    undecided: float = 0.01
    """The proof stops when at most this share of the search region is undecided."""
    samples: int = 10_000
    """Number of random commands."""
    seed: int = 0
    """Seed of the random commands."""

    def __post_init__(self) -> None:
        as_seconds(self.seconds)
        samples = as_whole(self.samples, "samples to be a whole number")
        if not 1 <= samples <= MAX_SAMPLES:
            raise InvalidInput.expected(f"1 to {MAX_SAMPLES:,} samples", samples)
        if not 0 <= self.undecided < 1:
            raise InvalidInput.expected("undecided of at least 0 and below 1", self.undecided)
        as_seed(self.seed)


@overload
def influence(subject: Actor, decision: Decision | None = ..., **options: Any) -> AmountInfluence: ...


@overload
def influence(subject: Subject, decision: Decision | None = ..., **options: Any) -> Influence: ...


def influence(  # type: ignore[misc]  # the signatures above leave out the options
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
    actions: Sequence[str] | ActionSpace | None = None,
) -> Influence | AmountInfluence:
    """Return how much the command matters in one state: the share of commands that choose each valid action.

    The chosen action is the valid action with the largest score, in a tie the first one; kappa is not used.

    For all policies, shares are sampled, with exact confidence intervals. For white-box policies, they also have proven
    bounds if the command space is a box. A command counts as proven for an action only if the action wins by more than
    rounding errors, so that ties stay undecided. For preferences, the only possible proof is that no command changes
    the action.

    For continuous actions, return the smallest and the largest amount of each dimension over all commands.

    All other arguments are those of `explain`.

    Args:
        seconds: Time limit of the proof.
        undecided: The proof stops when at most this share of the search region is undecided.
        samples: Number of random commands.
        seed: Seed of the random commands.
        box: "reachable" for the commands that can still be fulfilled, "paper" for the whole box of the paper.
    """
    effort = InfluenceEffort(seconds, undecided, samples, seed)
    agent = subject if isinstance(subject, Agent) else None
    actor = agent.actor if agent else as_actor(subject, actions if isinstance(actions, ActionSpace) else None)
    if actor is not None:
        decision = make_decision(subject, decision, state, command, collected)
        return _influence_on_amounts(actor, agent, decision, effort, box, space)
    assert not isinstance(actions, ActionSpace)
    subject = agent or as_policy(subject)
    decision = make_decision(subject, decision, state, command, collected, valid_actions)
    return next(influences(subject, [decision], effort, box, space, actions))


def influences(
    subject: Subject,
    decisions: Sequence[Decision],
    effort: InfluenceEffort,
    box: Box,
    space: CommandSpace | None = None,
    actions: Sequence[str] | None = None,
    *,
    workers: int | None = 1,
) -> Iterator[Influence]:
    """Yield the influence of the command at each decision, in order; see `influence_episode` for `workers`."""
    name, words = subject.name if isinstance(subject, Agent) else "", action_words(subject, actions)[0]
    tasks = (
        (
            make_region(subject, decision, Options(kappa=0.0, box=box), space),
            effort,
            {"agent": name, "step": decision.step, "collected": decision.collected, "actions": words},
        )
        for decision in decisions
    )
    processes = min(workers or os.cpu_count() or 1, len(decisions) // _STEPS_PER_PROCESS)
    if processes <= 1:
        yield from itertools.starmap(_measure, tasks)
        return
    from joblib import Parallel, delayed  # not needed for one process

    # Idle processes end soon, even if this one was killed.
    parallel = Parallel(processes, "loky", return_as="generator", batch_size=1, idle_worker_timeout=10)
    yield from parallel(delayed(_measure)(*task) for task in tasks)


def _measure(question: Question, effort: InfluenceEffort, names: dict[str, Any]) -> Influence:
    with one_thread():
        return _Computation(question, effort).run(**names)


def _influence_on_amounts(
    actor: Actor, agent: Agent | None, decision: Decision, effort: InfluenceEffort, box: Box, space: CommandSpace | None
) -> AmountInfluence:
    region = make_region(agent or actor, decision, Options(kappa=0.0, box=box), space)
    possible = agent.amounts_at(decision.state) if agent else actor.actions
    if possible is None:
        raise InvalidInput.expected("a state with several possible actions", f"only {decision.amounts}")
    return influence_on_amounts(actor, possible, decision, region, effort.samples, effort.seconds, effort.seed)


def influence_episode(
    agent: Agent,
    episode: Episode | Sequence[float] | np.ndarray,
    *,
    steps: Sequence[int] | None = None,
    seconds: float = InfluenceEffort.seconds,
    undecided: float = InfluenceEffort.undecided,
    samples: int = InfluenceEffort.samples,
    seed: int = InfluenceEffort.seed,
    box: Box = "reachable",
    workers: int | None = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> InfluenceProfile:
    """Return how much the command matters at each step of an episode.

    All other arguments are those of `influence`, for each step.

    Args:
        episode: A rollout, or the command of one.
        steps: Steps of the episode; all if omitted.
        seed: Seed of the random commands and of the rollout.
        workers: Maximum number of processes that share the steps; None for one per core. The result does not depend
            on it, unless a proof reaches its time limit.
        progress: Called with the number of steps that are done and the number of all steps.
    """
    effort = InfluenceEffort(seconds, undecided, samples, seed)  # checked before anything is rolled out
    if workers is not None and as_whole(workers, "workers to be a whole number") < 1:
        raise InvalidInput.expected("at least 1 worker", workers)
    if not isinstance(agent, Agent):
        raise InvalidInput.expected("an agent with an environment (for a policy, use influence)", type(agent).__name__)
    if agent.actor is not None:
        expected = "an agent with discrete actions; use pf.influence at each step for continuous ones"
        raise InvalidInput.expected(expected, f"{agent.name} with {agent.actor.actions!r}")
    if not isinstance(episode, Episode):
        episode = rollout(agent, episode, seed=seed)
    decisions, found = steps_of(episode, steps), []
    progress(0, len(decisions))
    for one in influences(agent, decisions, effort, box, workers=workers):
        found.append(one)
        progress(len(found), len(decisions))
    return profile_of(agent, episode, found)


def profile_of(agent: Agent, episode: Episode, found: Sequence[Influence]) -> InfluenceProfile:
    """Return the influence at some steps of an episode as a profile."""
    values = agent.name, agent.space.command_objectives, agent.actions, episode.command, episode.achieved
    return InfluenceProfile(*values, tuple(found))


@dataclass(frozen=True, eq=False)
class _Bounds:
    """The proven bounds of the shares of the valid actions, and the assumptions of the proof."""

    lower: np.ndarray  # (A,)
    upper: np.ndarray  # (A,)
    inert: bool = False
    proven: bool = True
    stop: Stop = Stop.COMPLETE
    boxes: int = 0
    slack: float = 0.0
    deviation: float = 0.0
    assumed: float = 0.0
    leaves: Leaves | None = None

    def record(self) -> dict[str, Any]:
        """Return the values that are stored with an influence."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("lower", "upper", "leaves")}


class _Computation:
    """Computes the influence of the command in the search region of one question."""

    def __init__(self, question: Question, effort: InfluenceEffort) -> None:
        self.question, self.effort = question, effort
        self.valid = np.array(question.valid_actions)
        self.batch = QuestionBatch([question])
        self.batch.keep_clear(clearance(self.batch))  # first, because other results need it if the policy is noisy
        [self.scores] = self.batch.scores_at(np.zeros(1, dtype=int), question.command[None], "original")
        self.chosen = greedy_action(self.scores, question.valid_actions)

    def run(self, *, agent: str, step: int, collected: np.ndarray, actions: Sequence[str] | None) -> Influence:
        began, question = now(), self.question
        drawn = random_commands(question, self.effort.samples, np.random.default_rng(self.effort.seed))
        sampled = actions_at(self.batch, drawn, "sample")
        lines = single_objectives(self.batch, self.chosen, self.effort.seconds / 4)
        changing = drawn[sampled != self.chosen]
        closest = np.argsort(question.space.distance(changing, question.command), kind="stable")[:_CLOSEST]
        nearest = self._nearest([*changing[closest], *self._counterfactuals(), *switching_commands(question, lines)])
        bounds = self._prove(known=nearest is not None)
        if nearest is None and bounds.leaves is not None:
            nearest = self._nearest([*self._undecided_commands(bounds.leaves)])
        counts = [int((sampled == action).sum()) for action in self.valid]
        rows = zip(self.valid.tolist(), bounds.lower.tolist(), bounds.upper.tolist(), counts, strict=True)
        return Influence(
            agent=agent,
            step=step,
            collected=collected if collected.any() else None,
            objectives=question.space.command_objectives,
            actions=action_names(actions, len(self.scores)),
            chosen=self.chosen,
            command=question.command,
            low=question.low,
            high=question.high,
            shares=tuple(Share(*row, *likely_share(row[-1], len(drawn))) for row in rows),
            samples=len(drawn),
            alone=lines,
            nearest=nearest,
            scores=influence_scores(self.batch),
            **bounds.record(),
            seconds=now() - began,
            preferences=question.space.simplex,
            constraints=question.space.constraint_texts,
        )

    def _foils(self) -> list[Question]:
        """Return the questions about each other valid action."""
        return [replace(self.question, foil=int(a), kappa=0.0) for a in self.valid if a != self.chosen]

    def _counterfactuals(self) -> list[np.ndarray]:
        """Return the commands that a search finds for each foil."""
        answers = ask(self._foils(), replace(_SEARCH, seed=self.effort.seed))
        return [answer.command for answer in answers if answer.command is not None]

    def _undecided_commands(self, leaves: Leaves) -> np.ndarray:
        """Return random commands in the boxes with the largest undecided share of other actions: (N, d)."""
        others = leaves.most[:, self.valid != self.chosen].sum(axis=1)
        order = np.argsort(-others, kind="stable")[:_BOXES]
        boxes = leaves[np.repeat(order[others[order] > 0], _PER_BOX)]
        drawn = np.random.default_rng(self.effort.seed).random(boxes.low.shape)
        shares = boxes.low + drawn * (boxes.high - boxes.low)
        commands: np.ndarray = self.question.low + shares * (self.question.high - self.question.low)
        return commands

    def _nearest(self, some: Sequence[np.ndarray]) -> Nearest | None:
        """Return the nearest of some commands under which the policy chooses another action."""
        commands = np.array(some).reshape(len(some), self.question.space.dim)
        actions = actions_at(self.batch, commands, "verify")
        commands, actions = commands[actions != self.chosen], actions[actions != self.chosen]
        if not len(commands):
            return None
        distances = self.question.space.distance(commands, self.question.command)
        best = int(distances.argmin())
        return self._rounded(Nearest(commands[best], int(actions[best]), float(distances[best])))

    def _rounded(self, nearest: Nearest) -> Nearest:
        """Return the nearest command, rounded to as few digits as still change the action."""
        space, decimals = self.question.space, 1 - np.floor(np.log10(self.question.space.scale)).astype(int)
        if not space.is_box:
            return nearest
        numbers = nearest.command.tolist()
        rounded = [[round(*n) for n in zip(numbers, (decimals + k).tolist(), strict=True)] for k in range(6)]
        commands = np.clip(np.array(rounded), self.question.low, self.question.high)
        same = np.flatnonzero(actions_at(self.batch, commands, "verify") == nearest.action)
        distances = space.distance(commands, self.question.command)
        near = [i for i in same if distances[i] <= _ROUNDING * nearest.distance]
        return Nearest(commands[near[0]], nearest.action, float(distances[near[0]])) if near else nearest

    def _prove(self, known: bool) -> _Bounds:
        """Return the proven bounds; `known` is True if a command that changes the action was found."""
        policy, count = self.question.policy, len(self.valid)
        if count == 1:
            return _Bounds(np.ones(1), np.ones(1), inert=True, stop=Stop.PROVEN)
        points = self.question.points()
        if points is not None:
            actions = actions_at(self.batch, points, "enumerate")
            shares = np.array([(actions == action).mean() for action in self.valid])
            return _Bounds(shares, shares, inert=bool(shares.max() == 1.0), stop=Stop.PROVEN, boxes=len(points))
        if not self.question.space.is_box and is_white_box(policy) and not known:
            return self._prove_inert()
        if not self.question.space.is_box or not isinstance(policy, WhiteBoxPolicy):
            return _Bounds(np.zeros(count), np.ones(count), proven=False)
        deadline = now() + self.effort.seconds
        proof = prove_shares(self.batch, ShareEffort(self.effort.undecided, deadline=deadline, inert=not known))
        if proof.inert and known:  # the deployed policy refutes the proof
            return _Bounds(np.zeros(count), np.ones(count), proven=False)
        same = {f.name: getattr(proof, f.name) for f in fields(_Bounds) if hasattr(proof, f.name)}
        return _Bounds(**same, assumed=proof.slack if proof.rounding == "measured" else 0.0)

    def _prove_inert(self) -> _Bounds:
        """Return the bounds for preferences: an action that is proven infeasible has the upper bound 0."""
        foils = self._foils()
        batch = QuestionBatch(foils)
        batch.keep_clear(self.batch.clearance)
        findings = Exact(seed=self.effort.seed).run(batch, Limits(self.effort.seconds / len(foils)))
        infeasible = [f.certificate is not None and f.certificate.status == "infeasible" for f in findings]
        upper = np.ones(len(self.valid))
        upper[self.valid != self.chosen] = ~np.array(infeasible)
        inert, certificates = all(infeasible), [f.certificate for f in findings if f.certificate is not None]
        largest: dict[str, Any] = {
            name: max((getattr(certificate, name) for certificate in certificates), default=0.0)
            for name in ("slack", "deviation", "assumed")
        }
        return _Bounds(
            lower=np.where(inert, upper, 0.0),
            upper=upper,
            inert=inert,
            proven=any(infeasible),
            stop=Stop.PROVEN if inert else findings[infeasible.index(False)].stop,
            boxes=sum(certificate.boxes for certificate in certificates),
            **largest,
        )


def single_objectives(batch: QuestionBatch, chosen: int, seconds: float) -> tuple[SingleObjective, ...]:
    """Return the effect of each objective that can vary in the search region of the batch's first question."""
    question = batch.questions[0]
    free = np.flatnonzero(question.high > question.low)
    return tuple(_single_objective(batch, chosen, int(i), seconds / max(len(free), 1)) for i in free)


def switching_commands(question: Question, lines: Sequence[SingleObjective]) -> np.ndarray:
    """Return the commands at which one objective alone changes the action: (N, d)."""
    switches = [(line.objective, s.value) for line in lines for s in (line.down, line.up) if s is not None]
    commands = [with_value(question, i, np.array([value])) for i, value in switches]
    return np.concatenate([np.zeros((0, question.space.dim)), *commands])


def _single_objective(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> SingleObjective:
    question = batch.questions[0]
    low, high, here = question.low[i], question.high[i], question.command[i]
    values = low + (np.arange(_VALUES) + 0.5) / _VALUES * (high - low)
    changed = actions_at(batch, with_value(question, i, values), "alone") != chosen
    below, above = np.append(low, values[values < here]), np.append(values[values > here], high)
    down, up = (_switch(batch, chosen, i, side) for side in (below[::-1], above))
    lower, upper = _proven_share(batch, chosen, i, seconds)
    return SingleObjective(i, lower, upper, float(changed.mean()), down, up)


def with_number(question: Question, i: int, values: np.ndarray) -> np.ndarray:
    """Return the command with other values (N,) of one objective and all others unchanged: (N, d)."""
    commands = np.repeat(question.command[None], len(values), axis=0)
    commands[:, i] = values
    return commands


def with_value(question: Question, i: int, values: np.ndarray) -> np.ndarray:
    """Return the command with other values (N,) of one objective: (N, d). For preferences, the other weights adapt."""
    commands = with_number(question, i, values)
    if question.space.simplex:
        others = np.delete(np.arange(question.space.dim), i)
        rest = question.command[others].sum()
        shares = question.command[others] / rest if rest > 0 else np.full(len(others), 1.0 / len(others))
        commands[:, others] = (1.0 - values[:, None]) * shares
    return question.project(commands)


def _switch(batch: QuestionBatch, chosen: int, i: int, values: np.ndarray) -> Switch | None:
    """Return the first switch along values (N,), which are sorted by their distance from the command's value."""
    question, end = batch.questions[0], float(values[-1])
    same, action = question.command[i], chosen
    other: float | None = None
    for _ in range(1 + _REFINEMENTS):
        actions = actions_at(batch, with_value(question, i, values), "alone")
        hits = np.flatnonzero(actions != chosen)
        if len(hits):
            first = int(hits[0])
            same, other, action = values[first - 1] if first else same, float(values[first]), int(actions[first])
        elif other is None:
            return None
        values = same + (other - same) * np.arange(1, _PARTS + 1) / _PARTS
    assert other is not None
    if not question.space.is_box and not question.space.simplex:
        other = with_value(question, i, np.array([other]))[0, i]  # the policy was queried there
        if question.space.whole[i]:
            return Switch(float(other), action)
    return _rounded_switch(batch, chosen, i, Switch(float(other), action), end)


def _rounded_switch(batch: QuestionBatch, chosen: int, i: int, switch: Switch, end: float) -> Switch:
    """Return the switch with as few digits as possible, rounded away from the command, but not beyond `end`."""
    question, value = batch.questions[0], switch.value
    away = value - question.command[i]
    first = -math.floor(math.log10(abs(away)))
    rounded = [(math.ceil if away > 0 else math.floor)(value * 10**k) / 10**k for k in range(first + 1, first + 12)]
    values = np.array([number for number in rounded if min(value, end) <= number <= max(value, end)])
    values = values[question.space.allows(with_number(question, i, values))]
    actions = actions_at(batch, with_value(question, i, values), "alone")
    other = np.flatnonzero(actions != chosen)
    return Switch(float(values[other[0]]), int(actions[other[0]])) if len(other) else switch


def _proven_share(batch: QuestionBatch, chosen: int, i: int, seconds: float) -> tuple[float, float]:
    """Return proven bounds of the share of an objective's range in which another action is chosen."""
    question = batch.questions[0]
    if not question.space.is_box or not isinstance(question.policy, WhiteBoxPolicy):
        return 0.0, 1.0
    line = QuestionBatch([restrict(question, [k for k in range(question.space.dim) if k != i], {})])
    line.keep_clear(batch.clearance)
    proof = prove_shares(line, ShareEffort(_LINE_UNDECIDED, deadline=now() + seconds))
    own = question.valid_actions.index(chosen)
    return max(0.0, 1.0 - float(proof.upper[own])), min(1.0, 1.0 - float(proof.lower[own]))


def actions_at(batch: QuestionBatch, commands: np.ndarray, phase: str) -> np.ndarray:
    """Return the action chosen under each command (N, d) in the state of the first question: (N,)."""
    valid = np.array(batch.questions[0].valid_actions)
    parts = [commands[start : start + CHUNK] for start in range(0, len(commands), CHUNK)]
    best = [batch.scores_at(np.zeros(len(p), dtype=int), p, phase)[:, valid].argmax(axis=1) for p in parts]
    return valid[np.concatenate(best)] if best else np.zeros(0, dtype=int)


def random_commands(question: Question, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return uniform random commands of the search region: (N, d); fewer for narrow ranges or constraints."""
    low, high, space = question.low, question.high, question.space
    if space.is_box:
        return low + generator.random((count, low.size)) * (high - low)
    free = 1.0 - low.sum()
    drawn = np.zeros((0, low.size))
    for _ in range(_DRAWS):
        if space.simplex:
            commands = low + free * generator.dirichlet(np.ones(low.size), size=count)
            inside = (commands <= high).all(axis=1)
        else:
            each = np.where(space.whole, np.floor(high) - np.ceil(low) + 1.0, high - low)
            commands = np.where(space.whole, np.ceil(low), low) + generator.random((count, low.size)) * each
            commands = np.where(space.whole, np.floor(commands), commands)
            inside = space.allows(commands)
        drawn = np.concatenate([drawn, commands[inside]])[:count]
        if len(drawn) == count or (space.simplex and free <= 0):
            break
    if not len(drawn):
        raise InvalidInput.expected("a search region that is wide enough to be sampled", f"{low} to {high}")
    return drawn


def likely_share(hits: int, total: int) -> tuple[float, float]:
    """Return the exact confidence interval of a share with this many hits (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv  # the quantiles of scipy.stats.beta, which takes half a second to import

    tail = (1.0 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, total - hits + 1, tail))
    high = 1.0 if hits == total else float(betaincinv(hits + 1, total - hits, 1.0 - tail))
    return low, high


def fan(question: Question) -> np.ndarray:
    """Return the probes of the authors' scores: (N, d).

    They lie along each axis, towards each corner (unless there are more than `MAX_CORNERED` objectives) and along the
    command. They are projected to the search region.
    """
    command, low, high = question.command, question.low, question.high
    axes = np.eye(command.size)
    signs = itertools.product((-1.0, 1.0), repeat=command.size) if command.size <= MAX_CORNERED else ()
    corners = np.array(list(signs)).reshape(-1, command.size)
    directions = np.concatenate([axes, -axes, corners, command[None]])
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = directions[lengths[:, 0] > 0] / lengths[lengths[:, 0] > 0]
    steps = np.arange(1, _FAN_STEPS + 1) / _FAN_STEPS
    probes = (steps[:, None, None] * directions * (high - low)).reshape(-1, command.size)
    inside = np.unique(np.round(question.project(probes), _FAN_DECIMALS), axis=0)
    return question.project(inside)  # rounding may have moved probes out of the region


def influence_scores(batch: QuestionBatch) -> Scores:
    """Return the four scores of the paper's authors, which are heuristics, for the batch's first question.

    The policy's probabilities under the command are compared with their mean over the fan of probes. A score of 0 does
    not mean that no command matters.
    """
    question, probes = batch.questions[0], fan(batch.questions[0])
    commands = np.concatenate([question.command[None], probes])
    scores = batch.scores_at(np.zeros(len(commands), dtype=int), commands, "scores")
    scores = scores[:, list(question.valid_actions)].astype(np.float64)
    best = scores.argmax(axis=1)
    if tells_values(question.policy):  # the action with the largest value is chosen
        chances = np.eye(scores.shape[1])[best]
    else:
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
    own, mean = (p / p.sum() for p in (chances[0] + _SMOOTHING, chances[1:].mean(axis=0) + _SMOOTHING))
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
