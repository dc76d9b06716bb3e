"""A checker for environments of the catalogue and of users."""

from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv, GymnasiumBatch, clone, make_batch
from paretofoil.envs.catalogue import CatalogueEntry, entry, make

TOLERANCE = 1e-6
"""The largest difference that float32 arithmetic may cause."""
AT_REST = 1e-3
"""The largest change of an observation by an invalid action: braking stops a Minecart that is too slow to move."""
DEVIATIONS = 5.0
"""The largest difference of two sample means, in standard errors."""
EPISODES, EPISODE_STEPS = 200, 60
"""The number of episodes of a sample mean, and the largest number of their steps."""


class EnvironmentCheckError(AssertionError):
    """An environment that does not behave as its catalogue entry says."""


def check_environment(name: str | CatalogueEntry, steps: int = 1000, seed: int = 0) -> None:
    """Raise an `EnvironmentCheckError` if the environment does not fulfil the contract of the catalogue.

    The contract: flat float32 observations; vector rewards inside `reward_space`; masks that agree with the effect of a
    step; the same episode for the same seed; errors for invalid actions and after the end of an episode; and a batch
    that agrees with the single environment at each step, or on average if it is stochastic.
    """
    item = entry(name)
    if steps < 1:
        raise InvalidInput.expected("at least one step", steps)
    env = make(item)
    rng = np.random.default_rng(seed)
    actions = _check_episodes(item, env, steps, rng)
    _check_repeats(item, env, actions, seed)
    _check_errors(item, env)
    _check_invalid_actions(item, min(steps, 300), rng)
    single, batch = GymnasiumBatch(item, item.max_steps), make_batch(item)
    if item.stochastic:
        _check_batch_means(item, single, batch, rng)
    else:
        _check_batch_steps(item, single, batch, steps, rng)


def _require(condition: Any, item: CatalogueEntry, sentence: str) -> None:
    if not condition:
        raise EnvironmentCheckError(f"{item.name}: {sentence}")


def _choose(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def _check_observation(item: CatalogueEntry, observation: Any, mask: Any, final: bool = False) -> None:
    shape = (item.observation_size,)
    _require(isinstance(observation, np.ndarray), item, f"expected an array as observation, got {type(observation)}")
    right = observation.shape == shape and observation.dtype == np.float32
    got = f"{observation.shape} {observation.dtype}"
    _require(right, item, f"expected observations of shape {shape} and dtype float32, got {got}")
    _require(np.isfinite(observation).all(), item, f"expected finite observations, got {observation}")
    _require(np.shape(mask) == (len(item.actions),), item, f"expected one mask flag per action, got {np.shape(mask)}")
    _require(final or np.any(mask), item, f"expected a valid action in a running episode, got the mask {mask}")


def _check_episodes(item: CatalogueEntry, env: Any, steps: int, rng: np.random.Generator) -> list[int]:
    """Check random episodes, and return the actions of the first."""
    low, high = env.reward_space.low - TOLERANCE, env.reward_space.high + TOLERANCE
    shape = (len(item.objectives),)
    _require(low.shape == shape, item, f"expected a reward_space of shape {shape}, got {low.shape}")
    first: list[int] = []
    episodes = length = 0
    observation, info = env.reset(seed=0)
    for _ in range(steps):
        _check_observation(item, observation, info["action_mask"])
        action = _choose(info["action_mask"], rng)
        if episodes == 0:
            first.append(action)
        observation, reward, terminated, truncated, info = env.step(action)
        length += 1
        inside = (reward >= low).all() and (reward <= high).all()
        _require(inside, item, f"expected rewards inside {env.reward_space}, got {reward}")
        _require(not (terminated and truncated), item, "expected terminated or truncated, got both in one step")
        ended = length < item.max_steps or terminated or truncated
        _require(ended, item, f"expected at most {item.max_steps} steps per episode, got {length} without an end")
        if terminated or truncated:
            _check_observation(item, observation, info["action_mask"], final=True)
            observation, info = env.reset(seed=episodes)
            episodes, length = episodes + 1, 0
    return first


def _check_repeats(item: CatalogueEntry, env: Any, actions: list[int], seed: int) -> None:
    """Check that the same seed and actions give the same episode, in this environment and in a new one."""
    first, *others = [_replay(env, actions, seed), _replay(env, actions, seed), _replay(make(item), actions, seed)]
    for other in others:
        same = len(other) == len(first) and all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
        _require(same, item, "expected the same seed and actions to give the same episode, got two different episodes")


def _replay(env: Any, actions: list[int], seed: int) -> list[Any]:
    """Return everything that an episode with these actions returns."""
    observation, info = env.reset(seed=seed)
    values: list[Any] = [observation, info["action_mask"]]
    for action in actions:
        if not info["action_mask"][action]:
            break  # a random outcome differs from the episode of these actions
        observation, reward, terminated, truncated, info = env.step(action)
        values += [observation, info["action_mask"], reward, terminated, truncated]
        if terminated or truncated:
            break
    return values


def _check_errors(item: CatalogueEntry, env: Any) -> None:
    """Check that an invalid action is an error."""
    _, info = env.reset(seed=0)
    for wrong in (-1, len(item.actions), *np.flatnonzero(~info["action_mask"])):
        try:
            env.step(wrong)
        except InvalidInput:
            continue
        _require(False, item, f"expected an error for action {wrong}, which is invalid at the start, got a step")


def _check_invalid_actions(item: CatalogueEntry, steps: int, rng: np.random.Generator) -> None:
    """Check that an invalid action of the unwrapped environment does not change the state, or does what `idle` does.

    It may end the episode: in Resource-Gathering, a move against the border at home counts as coming home.
    """
    env = make(item)
    observation, info = env.reset(seed=0)
    over = _try_invalid_actions(item, env, observation, info["action_mask"])
    for _ in range(steps):
        if over:
            _, info = env.reset(seed=0)
        observation, _, terminated, truncated, info = env.step(_choose(info["action_mask"], rng))
        over = terminated or truncated or _try_invalid_actions(item, env, observation, info["action_mask"])


def _try_invalid_actions(item: CatalogueEntry, env: Any, observation: np.ndarray, mask: np.ndarray) -> bool:
    """Try the invalid actions of a state on the unwrapped environment; return whether one ended the episode."""
    expected = observation if item.idle is None else item.encode(clone(env).unwrapped.step(item.idle)[0])
    for action in np.flatnonzero(~mask):
        trial = env if item.idle is None else clone(env)  # an environment that moves on by itself is not changed
        try:
            raw, _, terminated, _, _ = trial.unwrapped.step(int(action))
        except (ValueError, IndexError, KeyError, AssertionError):
            continue  # an error is allowed
        unchanged = np.allclose(item.encode(raw), expected, rtol=0, atol=AT_REST)
        _require(unchanged, item, f"expected the invalid action {item.actions[action]} to change nothing, but it did")
        if terminated and item.idle is None:
            return True
    return False


def _check_batch_steps(
    item: CatalogueEntry, single: BatchEnv, batch: BatchEnv, steps: int, rng: np.random.Generator
) -> None:
    """Check that both give the same observations, masks, rewards and ends for the same actions."""
    rows = np.array([0])
    ended, masks = True, np.zeros((1, batch.num_actions), dtype=bool)
    for _ in range(steps):
        if ended:
            seeds = rng.integers(2**31, size=1)
            results: list[Any] = [single.reset(seeds), batch.reset(seeds)]
            ended = False
        else:
            actions = np.array([_choose(masks[0], rng)])
            results = [single.step(rows, actions), batch.step(rows, actions)]
            ended = bool(results[0].terminated[0] or results[0].truncated[0])
        masks = results[0].masks
        for name in results[0]._fields:
            expected, got = (getattr(result, name)[0] for result in results)
            _require(
                np.allclose(expected, got, atol=TOLERANCE), item, f"expected {name} {expected}, got {got} in a batch"
            )


def _check_batch_means(item: CatalogueEntry, single: BatchEnv, batch: BatchEnv, rng: np.random.Generator) -> None:
    """Check that random episodes have the same mean return and length, up to sampling error."""
    seeds = np.arange(EPISODES)
    alone = np.concatenate([_random_episodes(single, seeds[[i]], rng) for i in range(EPISODES)])
    together = _random_episodes(batch, seeds, rng)
    spread = np.sqrt((alone.var(axis=0) + together.var(axis=0)) / EPISODES)
    apart = np.abs(alone.mean(axis=0) - together.mean(axis=0))
    close = (apart <= DEVIATIONS * spread + 5.0 / EPISODES * np.abs(alone).max(axis=0)).all()
    means = f"{alone.mean(axis=0)}, got {together.mean(axis=0)}"
    _require(close, item, f"expected the batch to have the mean returns and length of the environment, {means}")


def _random_episodes(batch: BatchEnv, seeds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the returns and lengths (rows, d + 1) of random episodes."""
    masks = batch.reset(seeds).masks
    total = np.zeros((len(seeds), batch.num_objectives + 1))
    rows = np.arange(len(seeds))
    for _ in range(min(batch.max_steps, EPISODE_STEPS)):
        step = batch.step(rows, np.array([_choose(mask, rng) for mask in masks]))
        total[rows] += np.hstack([step.rewards, np.ones((len(rows), 1))])
        running = ~(step.terminated | step.truncated)
        rows, masks = rows[running], step.masks[running]
        if not rows.size:
            break
    return total
