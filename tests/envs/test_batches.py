"""Many copies stepped together: tabulated, and one by one."""

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv, GymnasiumBatch, TabularBatch, tabulate

FINITE = [name for name in envs.names() if envs.entry(name).finite]
KINDS = ["tabular", "gymnasium"]


def make(kind: str, name: str, max_steps: int | None = None) -> BatchEnv:
    entry = envs.entry(name)
    batch = TabularBatch if kind == "tabular" else GymnasiumBatch
    return batch(entry, max_steps or entry.max_steps)


def random_steps(batch: BatchEnv, seeds: np.ndarray, steps: int, seed: int = 0) -> np.ndarray:
    """The rewards (steps, rows, d) of random actions that depend on the row's seed alone."""
    masks = batch.reset(seeds).masks
    generators = [np.random.default_rng([seed, int(s)]) for s in seeds]
    rewards = np.zeros((steps, len(seeds), batch.num_objectives))
    rows = np.arange(len(seeds))
    for t in range(steps):
        actions = np.array(
            [generators[row].choice(np.flatnonzero(mask)) for row, mask in zip(rows, masks, strict=True)]
        )
        step = batch.step(rows, actions.astype(int))
        rewards[t, rows] = step.rewards
        going = ~(step.terminated | step.truncated)
        rows, masks = rows[going], step.masks[going]
        if not rows.size:
            break
    return rewards


@pytest.mark.parametrize("name", FINITE)
def test_a_table_has_no_state_twice_and_keeps_probabilities(name):
    table = tabulate(envs.entry(name))
    seen = np.column_stack([table.observations, table.final])
    assert len(np.unique(seen, axis=0)) == len(table.states)
    assert set(np.unique(table.rare)) <= {0.0, 0.1}
    assert table.masks[~table.final].any(axis=1).all()


def test_tables_have_the_sizes_that_counting_gives():
    sizes = {name: len(tabulate(envs.entry(name)).states) for name in ("reward-line", "fruit-tree", "fruit-tree-6")}
    assert sizes == {"reward-line": 55, "fruit-tree": 255, "fruit-tree-6": 127}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["resource-gathering", "breakable-bottles"])
def test_a_rows_episode_depends_on_its_seed_and_not_on_its_neighbours(kind, name):
    batch = make(kind, name)
    together = random_steps(batch, np.arange(20), 40)
    reversed_order = random_steps(batch, np.arange(20)[::-1], 40)
    alone = random_steps(batch, np.array([7]), 40)
    assert np.array_equal(together[:, ::-1], reversed_order)
    assert np.array_equal(together[:, 7:8], alone)


def test_one_enemy_in_ten_kills():
    batch = make("tabular", "resource-gathering")
    rows = np.arange(20_000)
    batch.reset(rows)
    for _ in range(2):
        batch.step(rows, np.zeros(len(rows), dtype=int))
    deaths = batch.step(rows, np.zeros(len(rows), dtype=int)).terminated
    assert deaths.mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["branch-path", "deep-sea-treasure", "breakable-bottles"])
def test_a_snapshot_brings_a_row_back_with_its_elapsed_steps(kind, name):
    batch = make(kind, name, max_steps=9)
    batch.reset(np.arange(3))
    forth = {"branch-path": [0, 0, 2], "deep-sea-treasure": [3, 3, 1], "breakable-bottles": [0, 0, 0]}[name]
    for action in forth:
        last = batch.step(np.array([1]), np.array([action]))
    snapshot = batch.snapshot(1)
    batch.step(np.array([1]), np.array([np.flatnonzero(last.masks[0])[0]]))  # does not disturb the snapshot
    for _ in range(2):
        seen = batch.restore(snapshot, np.array([5, 6]))
        assert np.array_equal(seen.observations, np.repeat(last.observations, 2, axis=0))
        assert np.array_equal(seen.masks, np.repeat(last.masks, 2, axis=0))
        ends = []
        masks = seen.masks
        for _ in range(6):  # to and fro, until the limit of nine steps
            step = batch.step(np.arange(2), masks.argmax(axis=1))
            masks = step.masks
            ends.append(step.truncated.tolist())
        assert ends == [[False, False]] * 5 + [[True, True]]


@pytest.mark.parametrize("kind", KINDS)
def test_bad_steps_are_errors_that_say_what_was_expected(kind):
    batch = make(kind, "branch-path", max_steps=2)
    with pytest.raises(InvalidInput, match=r"expected a call of reset\(\) before step\(\), got step\(\[0\], \.\.\.\)"):
        batch.step(np.array([0]), np.array([0]))
    batch.reset(np.arange(2))
    one = np.array([0])
    for rows, actions, words in [
        (one, np.array([0, 1]), "expected one action per row, got"),
        (one, np.array([4]), "expected actions from 0 to 3, got 4"),
        (one, np.array([2]), r"expected one of the valid actions \[0, 1\] in row 0, got 2"),
        (one, np.array([0.5]), "expected integers as actions, got"),
        (np.array([2]), one, "expected rows from 0 to 1"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            batch.step(rows, actions)
    batch.step(one, one)
    batch.step(one, one)
    with pytest.raises(InvalidInput, match="expected rows with a running episode, got row 0, which has ended"):
        batch.step(one, one)
    with pytest.raises(InvalidInput, match="expected one seed per row"):
        batch.reset(np.array([0.5]))


def test_a_step_limit_of_nothing_is_an_error():
    with pytest.raises(InvalidInput, match="expected a step limit of at least 1, got 0"):
        envs.make_batch("branch-path", max_steps=0)


def test_an_environment_without_named_state_cannot_be_tabulated():
    with pytest.raises(InvalidInput, match=r"expected an environment with finitely many states .*, got minecart"):
        tabulate(envs.entry("minecart"))


def test_the_stochastic_minecart_one_by_one_restores_with_another_seed():
    batch = GymnasiumBatch(envs.entry("minecart-stochastic"), 50)
    batch.reset(np.array([3]))
    row = np.array([0])
    for action in [3, 5, 5, 5]:
        batch.step(row, np.array([action]))
    snapshot = batch.snapshot(0)
    env = snapshot.env.unwrapped
    env.cart.pos, env.cart.speed = env.mines[0].pos.copy(), 0.0  # at a mine: the next step is a matter of chance
    batch.restore(snapshot, np.array([1, 1, 2]))
    mined = batch.step(np.arange(3), np.zeros(3, dtype=int)).observations[:, 5:]
    assert np.array_equal(mined[0], mined[1])
    assert not np.array_equal(mined[0], mined[2])


def test_an_environment_with_fonts_of_pygame_is_copied():
    batch = GymnasiumBatch(envs.describe("fruit-tree-v0", max_steps=10), 10)
    batch.reset(np.zeros(1, dtype=np.int64))
    first = batch.snapshot(0)
    expected = batch.step(np.array([0]), np.array([1])).observations
    batch.restore(first, np.zeros(1, dtype=np.int64))
    np.testing.assert_array_equal(batch.step(np.array([0]), np.array([1])).observations, expected)
