"""Preferences: their plane, their projection, and what is refused."""

import numpy as np
import pytest
from policies import LinearPolicy

from paretofoil.core.command import CommandSpace, directions, project
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch

SPACE = CommandSpace.preferences(["fuel", "ore", "time"])
POLICY = LinearPolicy(np.eye(3), np.zeros(3))


def pose(command: list[float], **options: object) -> Question:
    return Question(POLICY, np.zeros(1), np.array(command), 0, (0, 1, 2), SPACE, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_no_preferences_of_the_region_are_nearer_than_the_projection(dim: int) -> None:
    rng = np.random.default_rng(dim)
    points, inside = rng.normal(size=(50, dim)), rng.dirichlet(np.ones(dim), size=4000)
    center = np.full(dim, 1.0 / dim)
    low, high = np.maximum(center - rng.random(dim) / dim, 0.0), center + rng.random(dim) / dim
    inside = inside[((inside >= low) & (inside <= high)).all(axis=1)]
    nearest = project(points, np.tile(low, (50, 1)), np.tile(high, (50, 1)))
    assert np.abs(nearest.sum(axis=1) - 1.0).max() < 1e-12
    assert ((nearest >= low) & (nearest <= high)).all()
    sizes = np.linalg.norm(points[:, None] - inside, axis=2).min(axis=1, initial=np.inf)
    assert (np.linalg.norm(points - nearest, axis=1) <= sizes + 1e-12).all()


def test_what_is_inside_is_its_own_projection() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=100)
    assert np.array_equal(project(weights, np.zeros((100, 4)), np.ones((100, 4))), weights)


@pytest.mark.parametrize("free", [[True, True, True], [True, False, True], [False, True, False], [False] * 3])
def test_directions_are_orthonormal_and_the_first_trade_free_weights(free: list[bool]) -> None:
    basis, trades = directions(np.array(free)), max(sum(free) - 1, 0)
    assert basis.T @ basis == pytest.approx(np.eye(3), abs=1e-15)
    assert np.abs(basis[:, :trades].sum(axis=0)).max(initial=0.0) < 1e-15
    assert not basis[:, :trades][~np.array(free)].any()


def test_changes_lead_back_to_the_commands_that_they_stand_for() -> None:
    rng = np.random.default_rng(0)
    batch = QuestionBatch([pose(list(rng.dirichlet(np.ones(3)))) for _ in range(5)])
    rows, weights = np.arange(40) % 5, rng.dirichlet(np.ones(3), size=40)
    changes = batch.changes_to(rows, weights)
    assert batch.commands_at(rows, changes) == pytest.approx(weights, abs=1e-14)
    assert batch.distances(changes) == pytest.approx(np.linalg.norm(weights - batch.commands[rows], axis=1), abs=1e-14)
    assert batch.holds(rows, changes).all()


def test_the_room_is_the_smallest_box_around_the_region() -> None:
    question = pose([0.2, 0.5, 0.3], low=np.array([0.0, 0.4, 0.1]), high=np.array([0.6, 0.7, 1.0]))
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=200_000)
    weights = weights[((weights >= question.low) & (weights <= question.high)).all(axis=1)]
    turned = (weights - question.command) @ question.basis
    low, high = question.room
    assert ((turned >= low - 1e-12) & (turned <= high + 1e-12)).all()
    assert np.abs(turned.min(axis=0) - low).max() < 0.02
    assert np.abs(turned.max(axis=0) - high).max() < 0.02


def test_a_change_that_leaves_the_region_stands_for_the_nearest_command_and_is_not_held() -> None:
    batch, rows = QuestionBatch([pose([0.2, 0.5, 0.3])]), np.array([0])
    corner = batch.low[0][None]
    [command] = batch.commands_at(rows, corner)
    assert command.sum() == pytest.approx(1.0, abs=1e-12)
    assert (command >= 0).all()
    assert not batch.holds(rows, corner)[0]
    assert batch.distances(batch.project(rows, corner))[0] < batch.distances(corner)[0]


@pytest.mark.parametrize("command", [[0.2, 0.5, 0.2], [0.7, 0.5, -0.2], [0.5, 0.5, 0.5]])
def test_weights_that_do_not_sum_to_1_are_refused(command: list[float]) -> None:
    with pytest.raises(InvalidInput, match="weights of at least 0 that sum to 1"):
        pose(command)


def test_a_front_that_is_no_list_of_preferences_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the front to be weights"):
        pose([0.2, 0.5, 0.3], front=np.ones((1, 3)))


def test_weights_of_float32_numbers_are_divided_by_their_sum() -> None:
    weights = np.array([1 / 3, 1 / 3, 1 / 3], dtype=np.float32).astype(np.float64)
    assert abs(weights.sum() - 1.0) > 1e-9
    assert pose(list(weights)).command.sum() == pytest.approx(1.0, abs=1e-15)


def test_changes_of_preferences_are_measured_by_l2_alone() -> None:
    with pytest.raises(InvalidInput, match="the norm l2 for changes of preferences"):
        pose([0.2, 0.5, 0.3], norm="l1")


def test_ranges_that_hold_no_preferences_are_refused() -> None:
    with pytest.raises(InvalidInput, match="ranges of weights"):
        CommandSpace([0.6, 0.6], [1, 1], shape="simplex")
    with pytest.raises(InvalidInput, match="a shape among box, simplex"):
        CommandSpace([0, 0], [1, 1], shape="ball")  # type: ignore[arg-type]
