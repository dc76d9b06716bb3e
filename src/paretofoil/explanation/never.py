"""Proofs that no command makes an agent choose an action in any of many states, or counterexamples.

The action may be a range of amounts, "release >= 30". It is valid in a state if the environment can carry out some
amount of the range there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent, rollouts
from paretofoil.core.amounts import Actor, AmountFoil, FoilPolicy, Limit, fixed_limits, query_amounts
from paretofoil.core.command import Objective, as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput, as_seed, as_whole
from paretofoil.core.json import show
from paretofoil.core.options import as_seconds, now
from paretofoil.core.policy import JointWhiteBoxPolicy, Policy, WhiteBoxValues, query
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.questions import FeatureAgent, find_action
from paretofoil.explanation.verify import clearance
from paretofoil.proof.branch_and_bound import Claim, Effort, branch_and_bound
from paretofoil.proof.networks import MarginNetwork, OddsNetwork, joint_network, question_network, require_white_box
from paretofoil.proof.slack import PROBES, allowances, float32_rounding, slack_for

_SAMPLES = 256
"""Random commands that are tried in each state before the proof."""


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A state and a command under which the policy chooses the action."""

    state: np.ndarray
    command: np.ndarray
    amounts: np.ndarray | None = None
    """The amounts of a continuous action, within what the state allows."""


@dataclass(frozen=True, eq=False, repr=False)
class Never:
    """For each state in which an action is valid: a proof that the agent never chooses it, or a counterexample."""

    agent: str
    action: str
    objectives: tuple[Objective, ...]
    preferences: bool
    """Whether commands are weights that sum to 1."""
    visited: int
    """Number of states that were examined, including those in which the action is not valid."""
    width: float
    """Width of the box around each state, as a share of the states' range in each dimension; 0 for the states alone."""
    low: np.ndarray
    high: np.ndarray
    """The corners of the search region are `low` and `high`."""
    states: np.ndarray  # (N, S): the states in which the action is valid
    proven: np.ndarray  # (N,) bool: no command makes the agent choose the action
    counterexamples: tuple[Counterexample | None, ...]
    seconds: float
    assumed: float = 0.0
    """The largest rounding error, in margins, that a proof assumes because it is measured; 0 if all are derived."""
    constraints: tuple[str, ...] = ()
    """The constraints on the numbers of a command in the search region: "a <= b"."""
    limits: tuple[Limit, ...] = ()
    """The limits of the amounts of a continuous action."""

    def __repr__(self) -> str:
        return f"<Never {self.agent!r}: {self.sentence()}>"

    @property
    def refuted(self) -> np.ndarray:
        """(N,) bool: whether there is a counterexample."""
        return np.array([example is not None for example in self.counterexamples], dtype=bool)

    @property
    def open(self) -> np.ndarray:
        """(N,) bool: whether the state is neither proven nor refuted."""
        return ~self.proven & ~self.refuted

    @property
    def holds(self) -> bool:
        """Whether it is proven in every state that no command makes the agent choose the action."""
        return bool(self.proven.all())

    def sentence(self) -> str:
        """Return the result in words."""
        return str(show(self, "sentence"))


def never(
    subject: Agent | Policy | Actor,
    action: str | int | AmountFoil,
    *,
    states: Sequence[Decision] | np.ndarray | None = None,
    width: float = 0.0,
    commands: tuple[Any, Any] | None = None,
    seconds: float = 10.0,
    max_boxes: int = 100_000,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Never:
    """Prove that no command makes the agent choose the action in these states, or find counterexamples.

    Args:
        subject: An agent with a white-box policy, or a policy with free features of the state.
        action: Name or number of the action; for continuous actions, limits of amounts: "release >= 30",
            `pf.between("release", 30, None)`.
        states: Decisions, or states (N, S); by default those of the greedy episodes of the agent's front. They must be
            given for a policy.
        width: Width of the box around each state that the proof covers, as a share of the range of the given states in
            each dimension.
        commands: The lowest and the highest command or features; by default the whole command space.
        seconds: Time limit per state. A state without a result by then is reported as undecided.
        max_boxes: Maximum number of boxes of commands per state. A state that needs more is reported as undecided.
        seed: Seed of the random commands that are tried first.
        progress: Called with the number of finished states and the number of all states.
    """
    agent = subject if isinstance(subject, Agent) else FeatureAgent(subject)
    start, limits = now(), () if agent.actor is None else fixed_limits(action, agent.actor.actions)  # type: ignore[arg-type]
    number = find_action(action, agent.actions) if agent.actor is None else 0  # type: ignore[arg-type]
    seconds, seed = as_seconds(seconds), as_seed(seed)  # checked before anything is rolled out
    if as_whole(max_boxes, "max_boxes to be a whole number") < 1:
        raise InvalidInput.expected("max_boxes of at least 1", max_boxes)
    low, high = _search_region(agent, commands)
    decisions = _decisions(agent, states)
    prover = _Prover(agent, number, limits, low, high, seed)
    valid = [(decision, question) for decision in decisions if (question := prover.question(decision)) is not None]
    policy: Any = agent.policy if not limits else FoilPolicy.of(agent.actor, limits)  # type: ignore[arg-type]
    enumerated = valid and all(question.points() is not None for _, question in valid)
    if not isinstance(policy, WhiteBoxValues) and not enumerated:
        require_white_box(policy, " or fold_values(state); for a table of values, use `explain` at each state")
    if width > 0 and not isinstance(policy, JointWhiteBoxPolicy):
        got = f"a {type(agent.policy).__name__}; width=0 proves the claim for the states without a box around them"
        raise InvalidInput.expected("a policy with unfold() for a width above 0", got)
    if not 0 <= width < np.inf:
        raise InvalidInput.expected("a finite width of at least 0", width)
    ranges = np.ptp(np.stack([decision.state for decision in decisions]).astype(np.float64), axis=0)
    prover.widen(width * ranges / 2)
    results = []
    for done, (decision, question) in enumerate(valid):
        progress(done, len(valid))
        results.append(prover.settle(decision, question, seconds, max_boxes))
    progress(len(valid), len(valid))
    return Never(
        agent=agent.name,
        action=policy.names[0] if limits else agent.actions[number],
        objectives=agent.space.command_objectives,
        preferences=agent.space.simplex,
        visited=len(decisions),
        width=width,
        low=low,
        high=high,
        states=np.array([d.state for d, _ in valid], dtype=np.float32).reshape(len(valid), len(ranges)),
        proven=np.array([proven for proven, _ in results], dtype=bool),
        counterexamples=tuple(example for _, example in results),
        seconds=now() - start,
        assumed=prover.assumed,
        constraints=agent.space.constraint_texts,
        limits=limits,
    )


def all_actions(agent: Agent) -> tuple[str, ...]:
    """Return every action of an agent; for continuous actions, the lower and upper quarter and half of each range."""
    if agent.actor is None:
        return agent.actions
    space = agent.actor.actions
    sides = zip(space.names, space.low.tolist(), space.high.tolist(), strict=True)
    return tuple(
        f"{name} {sign} {low + share * (high - low):.10g}"
        for name, low, high in sides
        for sign, share in (("<=", 0.25), ("<=", 0.5), (">=", 0.5), (">=", 0.75))
    )


def _search_region(agent: Agent | FeatureAgent, commands: tuple[Any, Any] | None) -> tuple[np.ndarray, np.ndarray]:
    if commands is None:
        return agent.space.low, agent.space.high
    low, high = (as_vector(side, "a corner of the search region", agent.space.dim) for side in commands)
    if (low > high).any():
        raise InvalidInput.expected("commands as (lowest, highest)", f"({low}, {high})")
    return low, high


def _decisions(agent: Agent | FeatureAgent, states: Sequence[Decision] | np.ndarray | None) -> list[Decision]:
    """Return one decision for each different state."""
    if states is None:
        if not isinstance(agent, Agent):
            raise InvalidInput.expected("states=..., for a policy without an environment", "none")
        decisions = [decision for episode in rollouts(agent, agent.front) for decision in episode]
    else:
        low, high = agent.space.low, agent.space.high
        command = agent.front[0] if len(agent.front) else agent.space.project(low[None], low, high)[0]
        if isinstance(agent, FeatureAgent):
            command = command[: agent.features.num_commands] if agent.features.num_commands else None
        decisions = [s if isinstance(s, Decision) else agent.decision_at(s, command) for s in states]
    if not decisions:
        raise InvalidInput.expected("at least one state", "none")
    return list({decision.state.tobytes(): decision for decision in decisions}.values())


@dataclass(frozen=True, eq=False)
class _Setting:
    """What is claimed about one decision, and functions that convert points of its search region."""

    network: MarginNetwork | OddsNetwork
    low: np.ndarray
    high: np.ndarray
    """The corners of the region that the proof covers are `low` and `high`."""
    claims: Callable[[float], list[tuple[float, Claim]]]
    """Takes the slack that covers measured deviations; returns pairs of an assumed rounding error and a claim."""
    inside: Callable[[np.ndarray], np.ndarray]
    """Returns the nearest points of the search region, because the region of the proof is a little larger."""
    unpack: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    """Returns the states and commands of points of the search region."""


class _Prover:
    """Settles one state after the other: first with random commands, then with a proof."""

    def __init__(
        self,
        agent: Agent | FeatureAgent,
        action: int,
        limits: tuple[Limit, ...],
        low: np.ndarray,
        high: np.ndarray,
        seed: int,
    ) -> None:
        self.agent, self.action, self.limits = agent, action, limits
        self.low, self.high = low, high  # of the commands
        self.space = replace(agent.space, low=low, high=high)
        self.generator = generator = np.random.default_rng(seed)
        shares = generator.random((_SAMPLES, low.size))
        shares[: _SAMPLES // 4] = np.round(shares[: _SAMPLES // 4])  # corners
        self.tries = self.space.project(np.concatenate([agent.front, low + shares * (high - low)]), low, high)
        self.assumed = 0.0

    def widen(self, around: np.ndarray) -> None:
        """Set half the width (S,) of the box around each state."""
        self.around = around
        self.places = self.generator.uniform(-1.0, 1.0, size=(len(self.tries), around.size)) * around
        self.places[::2] = 0.0

    def settle(
        self, decision: Decision, question: Question, seconds: float, max_boxes: int
    ) -> tuple[bool, Counterexample | None]:
        """Return whether the claim is proven in a state, and a counterexample if one was found; never both."""
        points = question.points()
        if points is not None:
            example = self._chosen(question, np.repeat(decision.state[None], len(points), axis=0), points)
            return example is None, example
        example = self._chosen(question, decision.state + self.places, question.project(self.tries))
        if example is not None:
            return False, example
        setting = (self._box_of_states if self.around.any() else self._single_state)(decision, question)

        def improve(points: np.ndarray) -> float:
            nonlocal example
            example = example or self._chosen(question, *setting.unpack(setting.inside(points)))
            return np.inf if example is None else 1.0  # any finite distance ends a search with an infinite gap

        for assumed, claim in setting.claims(self._slack(question, setting)):
            proof = branch_and_bound(claim, Effort(np.inf, max_boxes, now() + seconds), improve)
            if example is not None:
                break
            if proof.closed:
                self.assumed = max(self.assumed, assumed)
                return True, None
        return False, example

    def _chosen(self, question: Question, states: np.ndarray, commands: np.ndarray) -> Counterexample | None:
        """Return the first pair of states (N, S) and commands (N, d) at which the policy chooses the action."""
        states = states.astype(np.float32)
        scores = self._scores(question, states, commands)
        hits = np.flatnonzero(scores.argmax(axis=1) == question.valid_actions.index(question.foil))
        if not len(hits):
            return None
        state, command = states[hits[0]], commands[hits[0]]
        amounts = None
        if self.agent.actor is not None:
            [amounts] = query_amounts(self.agent.actor, state[None], command[None])
            amounts = np.clip(amounts, *self._possible(state))
        return Counterexample(state, command, amounts)

    def _scores(self, question: Question, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the scores of the valid actions: (N, A)."""
        return query(question.policy, states.astype(np.float32), commands)[:, list(question.valid_actions)]

    def _possible(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest amounts (dimensions,) that are carried out in a state."""
        assert self.agent.actor is not None
        space = self.agent.actor.actions
        bounds = self.agent.environment.bounds if isinstance(self.agent, Agent) else None
        if bounds is None:
            return space.low, space.high
        [low], [high] = bounds(state[None])
        return space.clip(low), space.clip(high)

    def _slack(self, question: Question, setting: _Setting) -> float:
        """Return how much the margins of the deployed policy may differ from those of the proof."""
        own, low = question.valid_actions.index(question.foil), setting.low
        shares = np.random.default_rng(0).random((PROBES, low.size))
        points = setting.inside(low + shares * (setting.high - low))
        scores = self._scores(question, *setting.unpack(points))
        margins = scores[:, own] - np.delete(scores, own, axis=1).max(axis=1, initial=-np.inf)
        off = np.abs(margins - setting.network.margins(points).min(axis=1, initial=np.inf))
        return slack_for(float(off.max()), clearance(QuestionBatch([question])))

    def question(self, decision: Decision) -> Question | None:
        """Return the question which command makes the action win in this state by any margin.

        Return None if the action is not valid there.
        """
        policy: Any = self.agent.policy
        valid = decision.valid_actions
        if self.agent.actor is not None:
            low, high = self._possible(decision.state)
            needed = []
            for limit in self.limits:
                least, most = float(low[limit.dimension]), float(high[limit.dimension])
                if limit.amount > most if limit.lower else limit.amount < least:
                    return None
                if limit.amount > least if limit.lower else limit.amount < most:  # else every possible amount keeps it
                    needed.append(limit)
            policy, valid = FoilPolicy.of(self.agent.actor, tuple(needed)), tuple(range(1 + len(needed)))
        elif self.action not in valid:
            return None
        middle = self.space.project((self.low + self.high)[None] / 2, self.low, self.high)[0]
        middle = middle if isinstance(self.agent, Agent) else decision.command  # the state sets the features
        return Question(policy, decision.state, middle, self.action, valid, self.space, kappa=0.0)

    def _single_state(self, decision: Decision, question: Question) -> _Setting:
        """Return the claim that no command makes the action win in this state."""
        batch = QuestionBatch([question])

        def inside(points: np.ndarray) -> np.ndarray:
            return batch.project(np.zeros(len(points), dtype=int), points)

        def unpack(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            commands = batch.commands_at(np.zeros(len(points), dtype=int), points)
            return np.broadcast_to(decision.state, (len(points), decision.state.size)), commands

        network = question_network(question, "")

        def claims(measured: float) -> list[tuple[float, Claim]]:
            allowed = allowances(question, network, measured, clearance(batch))
            return [(each.assumed, each.claim(question, 0.0)) for each in allowed]

        return _Setting(network, *question.room, claims, inside, unpack)

    def _box_of_states(self, decision: Decision, question: Question) -> _Setting:
        """Return the claim that no command makes the action win in any state of the box."""
        policy, size = self.agent.policy, decision.state.size
        assert isinstance(policy, JointWhiteBoxPolicy)
        least = np.concatenate([decision.state - self.around, self.low])
        most = np.concatenate([decision.state + self.around, self.high])
        rounding = float32_rounding(least[:size], most[:size])  # states are float32 numbers
        low, high = least.copy(), most.copy()
        low[:size], high[:size] = low[:size] - rounding, high[:size] + rounding
        network = joint_network(policy.unfold(), self.action, question.rivals, low, high)

        def inside(points: np.ndarray) -> np.ndarray:
            commands = self.space.project(points[:, size:], self.low, self.high)
            return np.concatenate([np.clip(points[:, :size], least[:size], most[:size]), commands], axis=1)

        def unpack(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return points[:, :size], points[:, size:]

        def claims(measured: float) -> list[tuple[float, Claim]]:
            return [(measured, Claim(network, low, high, -measured, "l2"))]

        return _Setting(network, low, high, claims, inside, unpack)
