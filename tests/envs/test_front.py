"""Fronts, computed here by a search of its own over the Gymnasium environments."""

import functools
import itertools

import gymnasium
import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import tabulate
from paretofoil.envs.catalogue import make_raw
from paretofoil.envs.front import exhaustive_front, known_front


def twin(env: gymnasium.Env) -> gymnasium.Env:
    """A shallow copy will do: these environments replace their state and never change it in place."""
    other = object.__new__(type(env))  # not copy.copy: MO-Gymnasium's environments would start anew
    other.__dict__.update(env.__dict__)
    return other


@functools.cache
def searched_front(name: str, limit: int) -> set[tuple[float, ...]]:
    """Walk all episodes forwards, merging those that are in the same state with the same return."""
    entry = envs.entry(name)
    start = make_raw(name).unwrapped
    raw, _ = start.reset(seed=0)
    zero = (0.0,) * len(entry.objectives)
    labels = {(tuple(raw), zero): start}
    returns = set()
    for _ in range(limit):
        following = {}
        for (_, total), env in labels.items():
            for action in np.flatnonzero(entry.valid_actions(env)):
                child = twin(env)
                raw, reward, terminated, _, _ = child.step(action)
                sums = tuple(round(float(a + b), 6) for a, b in zip(total, reward, strict=True))
                if terminated:
                    returns.add(sums)
                else:
                    following[(tuple(raw), sums)] = child
        labels = following
    returns |= {total for _, total in labels}
    return {p for p in returns if not any(dominates(q, p) for q in returns)}


def dominates(p: tuple[float, ...], q: tuple[float, ...]) -> bool:
    return p != q and all(a >= b for a, b in zip(p, q, strict=True))


def as_set(front: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(float(x) for x in np.round(point, 6)) for point in front}


@pytest.mark.parametrize(("name", "limit", "size"), [
    ("branch-path", 13, 3), ("collect-two", 50, 12), ("reward-line", 20, 11), ("deep-sea-treasure", 200, 10),
])  # fmt: skip
def test_the_known_front_is_what_an_independent_search_finds(name, limit, size):
    found = searched_front(name, limit)
    assert envs.entry(name).max_steps == limit
    assert len(found) == size
    assert as_set(known_front(name)) == found


def test_branch_path_has_the_papers_three_points_because_of_its_step_limit():
    assert searched_front("branch-path", 13) == {(3, 1), (2, 2), (1, 3)}
    assert searched_front("branch-path", 28) == {(4, 4)}
    assert as_set(exhaustive_front(tabulate(envs.entry("branch-path")), 60)) == {(4, 4)}


def test_collect_two_has_one_point_per_ordered_pair():
    pairs = set()
    for first, second in itertools.permutations(range(4), 2):
        point = [0.0] * 4
        point[first], point[second] = 1.0, 0.8
        pairs.add(tuple(point))
    assert searched_front("collect-two", 50) == pairs


def test_reward_line_has_one_point_per_column():
    assert searched_front("reward-line", 20) == {(round(1 - c / 10, 1), c / 10) for c in range(11)}


@pytest.mark.parametrize(("name", "depth"), [("fruit-tree", 7), ("fruit-tree-6", 6)])
def test_every_leaf_of_the_fruit_tree_is_on_the_front(name, depth):
    env = envs.make(name)
    leaves = set()
    for actions in itertools.product(range(2), repeat=depth):
        env.reset(seed=0)
        *_, (_, reward, terminated, _, _) = [env.step(action) for action in actions]
        assert terminated
        leaves.add(tuple(reward))
    assert len(leaves) == 2**depth
    assert not any(dominates(p, q) for p in leaves for q in leaves)
    assert as_set(known_front(name)) == as_set(np.array(list(leaves)))


def test_resource_gathering_can_bring_both_home_without_danger():
    """MO-Gymnasium's `pareto_front` misses this way around the enemies; undiscounted it beats all others."""
    up, down, left, right = range(4)
    way = [left, up, up, up, up, right, left, down, down, right, right, right, up, down, down, down, left, left]
    for seed in range(50):
        env = envs.make("resource-gathering")
        env.reset(seed=seed)
        steps = [env.step(action) for action in way]
        assert sum(reward for _, reward, *_ in steps).tolist() == [0, 1, 1]
        assert steps[-1][2]
    assert known_front("resource-gathering").tolist() == [[0, 1, 1]]


def test_expected_returns_of_bottles_agree_with_many_episodes():
    """The faster point of the front carries both bottles at once, and goes back for one that breaks early."""
    left, right, pickup = range(3)
    safe, fast = known_front("breakable-bottles")  # type: ignore[misc]
    assert safe.tolist() == [-18, 50, 0]
    batch = envs.make_batch("breakable-bottles")
    rows = np.arange(20_000)
    seen = batch.reset(rows)
    total = np.zeros((len(rows), 3))
    while rows.size:
        place, carrying, delivered = (seen.observations[:, a:b].argmax(axis=1) for a, b in ((0, 5), (5, 8), (8, 11)))
        broke_early = (carrying == 1) & (delivered == 0) & (place <= 2)  # going back for another one is faster
        actions = np.where((carrying == 0) | broke_early, left, right)
        actions = np.where((place == 0) & (carrying < 2 - delivered), pickup, np.where(place == 0, right, actions))
        seen = batch.step(rows, actions)  # type: ignore[assignment]
        total[rows] += seen.rewards  # type: ignore[attr-defined]
        going = ~seen.terminated  # type: ignore[attr-defined]
        rows = rows[going]
        seen = seen._replace(observations=seen.observations[going])
    error = total.std(axis=0) / np.sqrt(len(total))
    assert np.all(np.abs(total.mean(axis=0) - fast) <= 4 * error + 1e-9)


def test_discounting_moves_the_front_of_deep_sea_treasure_as_mo_gymnasium_says():
    table = tabulate(envs.entry("deep-sea-treasure"))
    theirs = make_raw("deep-sea-treasure").unwrapped.pareto_front(0.99)
    assert exhaustive_front(table, 200, gamma=0.99) == pytest.approx(np.array(theirs), abs=1e-6)


@pytest.mark.parametrize(("gym_id", "size"), [("BranchPath", 3), ("CollectTwo", 12), ("RewardLine", 11)])
def test_our_environments_state_their_front_as_mo_gymnasiums_do(gym_id, size):
    env = gymnasium.make(f"paretofoil/{gym_id}-v0").unwrapped
    assert len(env.pareto_front(gamma=1.0)) == size
    discounted = np.array(env.pareto_front(gamma=0.9))
    assert discounted.max() <= 0.9 * np.array(env.pareto_front(gamma=1.0)).max()


def test_nobody_claims_to_know_the_front_of_minecart():
    assert known_front("minecart") is None
    assert known_front("minecart-stochastic") is None


def test_a_step_limit_of_nothing_is_an_error():
    with pytest.raises(InvalidInput, match="expected a step limit of at least 1, got 0"):
        exhaustive_front(tabulate(envs.entry("reward-line")), 0)
