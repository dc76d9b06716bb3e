"""A checker for environments of the catalogue and of users."""

from functools import cache
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv, GymnasiumBatch, clone, make_batch
from paretofoil.envs.catalogue import CatalogueEntry, entry, is_catalogued, make, random_action
from paretofoil.envs.episode import Episodes, run_episodes

TOLERANCE = 1e-6
"""The largest difference that float32 arithmetic may cause."""
AT_REST = 1e-3
"""The largest change of an observation by an invalid action. Braking may stop a cart that hardly moves."""
DEVIATIONS = 5.0
"""The largest difference of two sample means, in standard errors."""
TRIALS = 200
"""The number of steps at which all invalid actions are tried, each on a copy of the environment."""
EPISODES, EPISODE_STEPS = 200, 60
"""The number of episodes of a sample mean, and the largest number of their steps."""
_REPLAYS = 8
"""The number of random episodes that are repeated."""


class EnvironmentCheckError(AssertionError):
    """An environment that does not behave as its catalogue entry says."""


def check_environment(name: str | CatalogueEntry, steps: int = 1000, seed: int = 0) -> None:
    """Raise an `EnvironmentCheckError` if the environment does not fulfil the contract of the catalogue.

    The contract: observations are flat float32 vectors. Rewards are vectors inside `reward_space`. Equal seeds give
    equal episodes. An action that the mask forbids has no effect in the unwrapped environment. The wrapped environment
    raises an error for it, and for a step after the end of an episode. A batch agrees with the single environment at
    each step, or on average if it is stochastic.
    """
    item = entry(name)
    if steps < 1:
        raise InvalidInput.expected("at least one step", steps)
    _check_steps(item, make(item), steps, np.random.default_rng(seed))
    _check_errors(item, make(item))
    limit = min(item.max_steps, EPISODE_STEPS)
    seeds = np.arange(-(-steps // limit))
    single, batch = GymnasiumBatch(item, limit), make_batch(item, limit)
    first = _random_episodes(single, seeds[:3], seed)
    for repeated in (single, GymnasiumBatch(item, limit)):
        difference = _difference(first, _random_episodes(repeated, seeds[:3], seed), 0.0)
        _require(not difference, item, f"expected the same seed and actions to give the same episode: {difference}")
    if item.stochastic:
        _check_means(item, single, batch, seed)
    else:
        alone, together = (_random_episodes(copies, seeds, seed) for copies in (single, batch))
        difference = _difference(alone, together, TOLERANCE)
        _require(not difference, item, f"expected a batch to step as the environment does: {difference}")


@cache
def replay_difference(item: CatalogueEntry) -> str:
    """Return how episodes with equal actions differ, or an empty text for a deterministic environment.

    Random actions are repeated with the same seeds, with other seeds, and from a copied state. They are also repeated
    in the environment itself if it has a table, because its observations may depend on more than the states of the
    table.
    """
    limit = min(item.max_steps, EPISODE_STEPS)
    batch, seeds = make_batch(item, limit), np.arange(_REPLAYS)
    first = _random_episodes(batch, seeds, 0, keep_snapshots=True)
    others = [(seeds, "the same seeds"), (seeds + _REPLAYS, "other seeds")]
    for other_seeds, words in others:
        if difference := _difference(first, _random_episodes(batch, other_seeds, 0), 0.0):
            return f"episodes with the same actions and {words} differ: {difference}"
    assert first.snapshots is not None
    middle = first.snapshots[0][int(first.lengths[0]) // 2]
    one, other = (_random_episodes(batch, np.array([seed]), 1, snapshot=middle) for seed in (0, 1))
    if difference := _difference(one, other, 0.0):
        return f"episodes from a copied state with the same actions differ: {difference}"
    if not item.finite:
        return ""
    try:
        make(item)
    except InvalidInput:
        if is_catalogued(item):  # without its package, a shipped table stands for the environment
            return ""
        raise
    single = GymnasiumBatch(item, limit)
    for other_seeds, _ in others:
        if difference := _difference(first, _random_episodes(single, other_seeds, 0), TOLERANCE):
            return f"an episode of the environment differs from the table of its states: {difference}"
    return ""


def _require(condition: Any, item: CatalogueEntry, sentence: str) -> None:
    if not condition:
        raise EnvironmentCheckError(f"{item.name}: {sentence}")


def _check_steps(item: CatalogueEntry, env: Any, steps: int, rng: np.random.Generator) -> None:
    """Check the masks, rewards and ends of random episodes; `env` itself checks its observations."""
    low, high = env.reward_space.low - TOLERANCE, env.reward_space.high + TOLERANCE
    shape = (len(item.objectives),)
    _require(low.shape == shape, item, f"expected a reward_space of shape {shape}, got {low.shape}")
    observation, info = env.reset(seed=0)
    length = 0
    for step in range(steps):
        _require(info["action_mask"].any(), item, "expected a valid action in a running episode, got none")
        if step < TRIALS:
            _check_invalid_actions(item, env, observation, info["action_mask"])
        action = random_action(item.action_space, info["action_mask"], rng)
        observation, reward, terminated, truncated, info = env.step(action)
        length += 1
        inside = (reward >= low).all() and (reward <= high).all()
        _require(inside, item, f"expected rewards inside {env.reward_space}, got {reward}")
        _require(not (terminated and truncated), item, "expected terminated or truncated, got both in one step")
        is_within = length < item.max_steps or terminated or truncated
        _require(is_within, item, f"expected at most {item.max_steps} steps per episode, got {length} without an end")
        if terminated or truncated:
            observation, info = env.reset(seed=step)
            length = 0


def _check_invalid_actions(item: CatalogueEntry, env: Any, observation: np.ndarray, mask: np.ndarray) -> None:
    """Check that an invalid action of the unwrapped environment does not change the state, or acts like `idle`.

    It may end the episode: in Resource-Gathering, a move against the border at home counts as coming home.
    """
    if mask.all():
        return
    expected = observation if item.idle is None else item.encode(clone(env).unwrapped.step(item.idle)[0])
    for action in np.flatnonzero(~mask).tolist():
        try:
            raw = clone(env).unwrapped.step(action)[0]
        except (ValueError, IndexError, KeyError, AssertionError):
            continue  # an error is allowed
        unchanged = np.allclose(item.encode(raw), expected, rtol=0, atol=AT_REST)
        _require(unchanged, item, f"expected the invalid action {item.actions[action]} to change nothing, but it did")


def _check_errors(item: CatalogueEntry, env: Any) -> None:
    """Check that an invalid action is an error."""
    _, info = env.reset(seed=0)
    space = item.action_space
    some: Any = (-1, len(item.actions), *np.flatnonzero(~info["action_mask"]))
    for wrong in some if space is None else (space.low - 1.0, space.high + 1.0, np.full(space.dim, np.nan), 0):
        try:
            env.step(wrong)
        except InvalidInput:
            continue
        _require(False, item, f"expected an error for action {wrong}, which is invalid at the start, got a step")


def _random_episodes(batch: BatchEnv, seeds: np.ndarray, seed: int, **options: Any) -> Episodes:
    """Return one episode of random valid actions for each seed of the environment."""
    rng = np.random.default_rng(seed)

    def act(step: int, rows: np.ndarray, states: np.ndarray, commands: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return np.array([random_action(batch.action_space, mask, rng) for mask in masks])

    return run_episodes(batch, act, np.zeros((len(seeds), batch.num_objectives)), seeds, **options)


def _difference(expected: Episodes, got: Episodes, tolerance: float) -> str:
    """Return the first difference of two sets of episodes in words, or an empty text."""
    for name in ("lengths", "observations", "masks", "actions", "rewards", "terminated"):
        ours, theirs = np.asarray(getattr(expected, name)), np.asarray(getattr(got, name))
        if ours.shape != theirs.shape:
            return f"expected {name} of shape {ours.shape}, got {theirs.shape}"
        different = np.argwhere(~np.isclose(ours, theirs, atol=tolerance, rtol=10 * tolerance))
        if len(different):
            place = tuple(different[0].tolist())
            return f"expected {name}{list(place)} to be {ours[place]}, got {theirs[place]}"
    return ""


def _check_means(item: CatalogueEntry, single: BatchEnv, batch: BatchEnv, seed: int) -> None:
    """Check that random episodes have the same mean return and length, up to sampling error."""
    alone, together = (
        np.column_stack([episodes.returns, episodes.lengths])
        for episodes in (
            _random_episodes(copies, np.arange(EPISODES), seed + i) for i, copies in enumerate([single, batch])
        )
    )
    spread = np.sqrt((alone.var(axis=0) + together.var(axis=0)) / EPISODES)
    apart = np.abs(alone.mean(axis=0) - together.mean(axis=0))
    close = (apart <= DEVIATIONS * spread + 5.0 / EPISODES * np.abs(alone).max(axis=0)).all()
    means = f"{alone.mean(axis=0)}, got {together.mean(axis=0)}"
    _require(close, item, f"expected the batch to have the mean returns and length of the environment, {means}")
