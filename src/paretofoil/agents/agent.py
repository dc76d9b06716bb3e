"""An agent (a policy with its environment, commands and front) and its rollouts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.core.amounts import ActionSpace, Actor, as_actor, query_amounts
from paretofoil.core.answer import DELIVERED
from paretofoil.core.command import CommandSpace, Objective, as_points, as_vector
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput, as_seed
from paretofoil.core.json import brief, show
from paretofoil.core.policy import Policy, as_policy, greedy_actions, probabilities, query
from paretofoil.envs.batch import BatchEnv, locate
from paretofoil.envs.episode import EXACT, Episodes, greedy, is_reached, run_episodes

HORIZON = Objective("horizon", "steps", natural_low=1.0)
"""The last objective of commands, for agents that are also conditioned on the remaining steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Agent:
    """A policy with its environment, commands and front. Load a shipped agent, or make one for your own policy."""

    name: str
    policy: Policy | Actor
    """An object with `log_probs(states, commands)`, or a function of states and commands that returns these. If actions
    are continuous, an object with `amounts(states, commands)`, or a function that returns amounts."""
    environment: envs.CatalogueEntry
    """The entry of the environment, or its name in the catalogue."""
    space: CommandSpace
    """The range of commands. For a PCN: the range of the commands in its relabelled training data."""
    front: np.ndarray
    """(F, d): the nondominated returns that the agent learned to reach. Each can be issued as a command."""
    achieved: np.ndarray | None = None
    """(F, d): the (mean) returns of greedy rollouts under each command of the front."""
    error: np.ndarray | None = None
    """(F, d): the standard errors of those means."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """How the agent was trained or imported: seed, configuration, steps, versions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", envs.entry(self.environment))
        object.__setattr__(self, "policy", _as_policy_of(self.environment, self.policy))
        check_commands(self.space, self.environment)
        front = as_points(self.front, "a front of points", self.space.dim)
        object.__setattr__(self, "front", front)
        for name in ("achieved", "error"):
            if getattr(self, name) is not None:
                what, size = f"{name} for each point of the front ({len(front)})", len(self.environment.objectives)
                object.__setattr__(self, name, as_points(getattr(self, name), what, size, len(front)))

    def __repr__(self) -> str:
        entry = self.environment
        sizes = f"{len(entry.objectives)} objectives, {len(self.actions)} actions, a front of {len(self.front)} points"
        return f"<Agent {self.name!r} in {entry.name}: {sizes}>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def explore(self) -> Any:
        """Return the web page about this agent as a widget for notebooks. It needs the extra `notebook`."""
        return show(self, "explore")

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions, or of the dimensions of continuous ones."""
        return self.environment.actions

    @property
    def actor(self) -> Actor | None:
        """The policy, if actions are continuous; None if they are discrete."""
        return self.policy if isinstance(self.policy, Actor) else None

    @property
    def discrete_policy(self) -> Policy:
        """The policy of an agent with discrete actions. Raise an error if actions are continuous."""
        if isinstance(self.policy, Actor):
            expected = "an agent with discrete actions (for continuous actions, use `explain` or `episode`)"
            raise InvalidInput.expected(expected, f"{self.name} with {self.policy.actions!r}")
        return self.policy

    def amounts_at(self, state: np.ndarray) -> ActionSpace | None:
        """Return the space of the continuous actions that can be carried out in an encoded state.

        Return None if some dimension has a single possible amount there.
        """
        space = self.environment.action_space
        if space is None:
            raise InvalidInput.expected("an agent with continuous actions", f"{self.name} with discrete ones")
        if self.environment.bounds is None:
            return space
        [low], [high] = self.environment.bounds(np.asarray(state)[None])
        low, high = space.clip(low), space.clip(high)
        return replace(space, low=low, high=high) if (low < high).all() else None

    @property
    def phrases(self) -> tuple[str, ...]:
        """The past participle of each action, for sentences: "gone down", "mined"."""
        return self.environment.phrases or tuple(f"chosen {action}" for action in self.actions)

    @property
    def horizon(self) -> bool:
        """Whether commands have a horizon after the objectives."""
        return self.space.dim > len(self.environment.objectives)

    @property
    def paper_space(self) -> CommandSpace:
        """The search region of the paper, which defines the scale of distances in the paper."""
        if self.environment.paper_box is None or self.horizon:
            got = f"{self.name} with a horizon" if self.horizon else f"{self.name} in {self.environment.name}"
            raise InvalidInput.expected("an agent without a horizon, in an environment with a box in the paper", got)
        low, high = map(np.array, self.environment.paper_box)
        return CommandSpace(low, high, self.space.objectives)

    def batch_env(self) -> BatchEnv:
        """Return a new batch of the agent's environment."""
        return envs.make_batch(self.environment)

    def picture_at(self, decision: Decision) -> np.ndarray:
        """Return a (height, width, 3) uint8 picture of the environment at a decision of a rollout."""
        from paretofoil.envs.pictures import picture_of

        return picture_of(self.environment, decision.snapshot)

    def reached(self) -> np.ndarray:
        """Return (F,) bool: whether greedy rollouts reach each point of the front, within three standard errors.

        With continuous actions or real-valued returns, within 1 % of the range of each objective.
        """
        if self.achieved is None:
            raise InvalidInput.expected("an agent with measured returns (achieved=...)", f"{self.name} without them")
        real = self.actor is not None or self.environment.real_returns
        tolerance = DELIVERED * self.space.scale[: self.achieved.shape[1]] if real else EXACT
        return is_reached(self.front, self.achieved, 0.0 if self.error is None else self.error, tolerance)

    def probabilities(self, state: Any, command: Any) -> np.ndarray:
        """Return the probability (num_actions,) of each action in a state under a command; 0 for invalid actions.

        The state is an observation of the environment, raw or encoded for the policy. A value-based policy chooses
        the best action with probability 1.
        """
        flat, valid, _ = self._locate(state)
        remaining = as_vector(command, "the remaining command", self.space.dim)
        [scores] = query(self.discrete_policy, flat[None], remaining[None])
        return probabilities(self.discrete_policy, scores, np.flatnonzero(valid).tolist())

    def act(self, state: Any, command: Any) -> int | np.ndarray:
        """Return the greedy action in a state under a command: the most probable valid action, or the amounts."""
        decision = self.decision_at(state, command)
        return decision.action if decision.amounts is None else decision.amounts

    def decision_at(self, state: Any, command: Any, collected: Any = None) -> Decision:
        """Return the decision in a state under a remaining command.

        The state is an observation of the environment, raw or encoded for the policy. In shipped environments, valid
        actions are known from the state. In other environments, all actions count as valid.

        Args:
            state: the observation.
            command: the return that remains to be collected.
            collected: the return collected so far; zero if not given.
        """
        remaining = as_vector(command, "the remaining command", self.space.dim)
        flat, valid, snapshot = self._locate(state)
        before = np.zeros(remaining.size)
        if collected is not None:
            before = as_vector(collected, "the collected return", remaining.size)
        if self.actor is not None:
            [amounts] = self.actor.actions.clip(query_amounts(self.actor, flat[None], remaining[None]))
            if self.environment.bounds is not None:
                [amounts] = np.clip(amounts, *self.environment.bounds(flat[None]))
            return Decision(flat, remaining, (), -1, before, snapshot=snapshot, amounts=amounts)
        [action] = greedy_actions(query(self.discrete_policy, flat[None], remaining[None]), valid[None]).tolist()
        return Decision(flat, remaining, tuple(np.flatnonzero(valid).tolist()), action, before, snapshot=snapshot)

    def _locate(self, state: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return the encoded state, the mask of its valid actions, and a snapshot of the environment or None."""
        flat = self._flatten(state)
        snapshot = locate(self.environment, flat)
        if snapshot is None:
            return flat, np.ones(len(self.actions), dtype=bool), None
        return flat, self.batch_env().restore(snapshot, np.zeros(1, dtype=np.int64)).masks[0], snapshot

    def _flatten(self, state: Any) -> np.ndarray:
        size = self.environment.observation_size
        try:
            is_flat = np.size(state) == size or np.iscomplexobj(state)  # some encoders ignore imaginary parts
            with np.errstate(over="ignore"):
                flat = state if is_flat else self.environment.encode(state)
            return as_vector(flat, "the state", size).astype(np.float32)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"a state of {size} finite numbers, or a raw observation of {self.environment.name}"
            raise InvalidInput.expected(what, brief(state)) from error


def _as_policy_of(environment: envs.CatalogueEntry, policy: Any) -> Policy | Actor:
    """Return a policy, or an actor if the environment has continuous actions."""
    space = environment.action_space
    if space is None:
        return as_policy(policy)
    actor = as_actor(policy, None if hasattr(policy, "amounts") else space)
    if actor is None or tuple(actor.actions.names) != tuple(space.names):
        got = policy if actor is None else actor.actions
        raise InvalidInput.expected(f"a policy with the continuous actions {space!r} of {environment.name}", repr(got))
    return actor


def check_commands(space: CommandSpace, environment: envs.CatalogueEntry) -> None:
    """Raise an error if the commands do not fit the objectives of the environment, with or without a horizon."""
    count = len(environment.objectives)
    if space.dim != count and (space.dim != count + 1 or space.simplex):
        horizon = "" if space.simplex else ", with a horizon or without"
        what = f"commands for the {count} objectives of {environment.name}{horizon}"
        raise InvalidInput.expected(what, f"{space.dim}: {', '.join(space.names)}")


def require_agent(subject: Any) -> None:
    """Raise an error unless the subject is an agent, which has an environment."""
    if not isinstance(subject, Agent):
        expected = "an agent, which has an environment (pf.load_agent, or pf.Agent around your policy)"
        raise InvalidInput.expected(expected, brief(subject))


def rollout(agent: Agent, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """Return the episode of the greedy policy under a command; `episode[6]` is its seventh decision."""
    return rollouts(agent, [command], seed=seed)[0]


def decision_in(agent: Agent, command: Sequence[float] | np.ndarray, step: int, *, seed: int = 0) -> Decision:
    """Return the decision at one step of the episode under a command."""
    episode = rollout(agent, command, seed=seed)
    if not 0 <= step < len(episode):
        raise InvalidInput.expected(f"a step from 0 to {len(episode) - 1} of this episode", step)
    return episode[step]


def rollouts(agent: Agent, commands: Sequence[Any] | np.ndarray, *, seed: int = 0) -> list[Episode]:
    """Return one greedy episode per command. They run in one batch, which changes no episode."""
    require_agent(agent)
    if not len(commands):
        return []
    rows = np.stack([as_command(agent, command) for command in commands])
    seeds = np.full(len(rows), as_seed(seed), dtype=np.uint64)
    episodes = run_greedy(agent, rows, seeds, keep_snapshots=True)
    return [_episode(agent, episodes, row) for row in range(len(episodes))]


def rollout_from(agent: Agent, decision: Decision, command: Sequence[float] | np.ndarray, *, seed: int = 0) -> Episode:
    """Return the rest of the episode if a command is issued at a decision of a rollout.

    Its steps, collected rewards and return are counted from the start of the whole episode.
    """
    if decision.snapshot is None:
        raise InvalidInput.expected(
            "a decision of a rollout, which stores the state of its environment", "a decision without this state"
        )
    row, seeds = as_command(agent, command)[None], np.full(1, as_seed(seed), dtype=np.uint64)
    episodes = run_greedy(agent, row, seeds, snapshot=decision.snapshot, keep_snapshots=True)
    return _episode(agent, episodes, 0, decision)


def as_command(agent: Agent, command: Any) -> np.ndarray:
    """Return the command as an array, or raise an error if it is not a command of this agent."""
    return agent.space.checked(as_vector(command, "the command", agent.space.dim), "the command")


def run_greedy(agent: Agent, commands: np.ndarray, seeds: np.ndarray | None = None, **options: Any) -> Episodes:
    """Return greedy episodes under commands (N, d), with seeds (N,) or 0. The options are those of `run_episodes`."""
    seeds = np.zeros(len(commands), dtype=np.uint64) if seeds is None else seeds
    subtract = not agent.space.simplex
    return run_episodes(agent.batch_env(), greedy(agent.policy), commands, seeds, subtract=subtract, **options)


def _episode(agent: Agent, episodes: Episodes, row: int, since: Decision | None = None) -> Episode:
    """Return one of the episodes; `since` is the decision at which they began, or None for the start."""
    length, first = int(episodes.lengths[row]), 0 if since is None else since.step
    before = np.zeros(episodes.commands.shape[2]) if since is None else since.collected
    commands, rewards = episodes.commands[row], episodes.rewards[row]
    # The collected return is the decrease of the command; preferences do not decrease.
    collected = np.cumsum(rewards, axis=0) - rewards if agent.space.simplex else commands[0] - commands
    discrete = agent.actor is None
    decisions = tuple(
        Decision(
            state=episodes.observations[row, t],
            command=commands[t],
            valid_actions=tuple(np.flatnonzero(episodes.masks[row, t]).tolist()) if discrete else (),
            action=int(episodes.actions[row, t]) if discrete else -1,
            amounts=None if discrete else episodes.actions[row, t],
            collected=before + collected[t],
            step=first + t,
            snapshot=episodes.snapshots[row][t] if episodes.snapshots else None,
        )
        for t in range(length)
    )
    achieved = before[: rewards.shape[1]] + episodes.returns[row]
    end = episodes.snapshots[row][length] if episodes.snapshots else None
    return Episode(commands[0], decisions, achieved, bool(episodes.terminated[row]), end)
