"""Comparisons: what is proven of two agents is what their rollouts do."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from policies import with_output_bias

import paretofoil as pf
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.atlas import Atlas, ends_of, overlay
from paretofoil.explanation.atlas_boxes import Cells
from paretofoil.explanation.compare import Comparison, differ
from paretofoil.show.compare import DIFFERENT, SAME


@pytest.fixture(scope="module")
def line() -> pf.Agent:
    return pf.load_agent("reward-line")


@pytest.fixture(scope="module")
def biased(line: pf.Agent) -> pf.Agent:
    """The same agent with a preference for one action, which changes a part of its outcomes."""
    bias = line.policy.arrays()["output_bias"]  # type: ignore[attr-defined]
    return replace(line, name="biased", policy=with_output_bias(line.policy, 0, float(bias[0]) + 4.0))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def result(line: pf.Agent, biased: pf.Agent) -> Comparison:
    return pf.compare(line, biased)


def rollouts_differ(first: pf.Agent, second: pf.Agent, commands: np.ndarray) -> np.ndarray:
    return differ(ends_of(first, commands), ends_of(second, commands))


def test_rollouts_inside_every_cell_differ_or_agree_as_proven(
    line: pf.Agent, biased: pf.Agent, result: Comparison
) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(result.cells.shape[1]), len(result.cells))
    inside = np.einsum("nk,nkd->nd", weights, result.cells)
    near_corner = result.cells[:, 0] + 1e-7 * (inside - result.cells[:, 0])
    assert 100 < result.cell_differs.sum() < len(result.cells) - 100
    for commands in (inside, near_corner):
        assert (rollouts_differ(line, biased, commands) == result.cell_differs).all()


def test_the_share_holds_what_samples_say(line: pf.Agent, biased: pf.Agent, result: Comparison) -> None:
    low, high = result.differ
    assert 0.05 < low < high < 0.95
    assert high - low <= 0.0201
    commands = np.random.default_rng(1).uniform(line.space.low, line.space.high, (4000, 2))
    assert low - 0.03 < rollouts_differ(line, biased, commands).mean() < high + 0.03


def test_an_agent_does_not_differ_from_itself(line: pf.Agent) -> None:
    same = pf.compare(line, line, undecided=0.05)
    assert same.differ[0] == 0.0
    assert same.differ[1] <= 0.0501
    assert same.example is None
    assert "No command was found under which they differ." in same.sentence()


def test_the_front_is_what_the_environment_allows_and_both_are_asked_for_it(result: Comparison) -> None:
    assert len(result.front) == 11
    assert result.reached[0] == 11
    assert result.reached[1] == 9
    assert result.achieved[0] == pytest.approx(result.front)


def test_the_nearest_example_differs_and_lies_between_the_start_and_cells_that_differ(
    line: pf.Agent, biased: pf.Agent, result: Comparison
) -> None:
    commands = np.random.default_rng(2).uniform(line.space.low, line.space.high, (300, 2))
    start = commands[~rollouts_differ(line, biased, commands)][0]
    example = pf.compare(line, biased, command=start, undecided=0.05).example
    assert example is not None
    assert (example.start == start).all()
    assert example.distance == pytest.approx(float(line.space.distance(example.command, start)))
    assert rollouts_differ(line, biased, example.command[None]).all()
    assert ends_of(biased, example.command[None])[0, :2] == pytest.approx(example.achieved[1])
    known = commands[rollouts_differ(line, biased, commands)]
    assert 0.0 < example.distance <= 1.02 * line.space.distance(known, start).min()
    at_front = result.example
    assert at_front is not None
    assert at_front.distance == 0.0
    assert (result.front == at_front.command).all(axis=1).any()


def test_overlaps_of_cells_are_clipped_to_both() -> None:
    def squares(*rows: tuple[float, float, float, float]) -> Atlas:
        corners = [[(x, y), (x2, y), (x2, y2), *[(x, y2)] * 9] for x, y, x2, y2 in rows]
        numbers = np.arange(len(rows))
        nothing = (), 0.0, 0.0, 0
        return Atlas("", (), np.zeros(2), np.ones(2), *nothing, np.array(corners), numbers, None, 0.0)  # type: ignore[arg-type]

    halves, quarters = squares((0, 0, 0.5, 1), (0.5, 0, 1, 1)), squares((0, 0, 1, 0.25), (0, 0.25, 1, 1))
    cells, shares, first, second = overlay(halves, quarters)
    found = {(int(i), int(j)): float(share) for i, j, share in zip(first, second, shares, strict=True)}
    assert found == pytest.approx({(0, 0): 0.125, (1, 0): 0.125, (0, 1): 0.375, (1, 1): 0.375})
    assert cells[(first == 1) & (second == 0)][0].min(axis=0) == pytest.approx([0.5, 0.0])


def test_only_the_common_commands_are_compared(line: pf.Agent, biased: pf.Agent) -> None:
    space = pf.CommandSpace([0.5, -1.0], [2.0, 0.5], line.space.objectives)
    result = pf.compare(line, replace(biased, space=space), undecided=0.05)
    assert result.atlases[0].low.tolist() == [0.5, 0.0]
    assert result.atlases[1].high.tolist() == [1.0, 0.5]


def test_agents_that_have_nothing_in_common_are_refused(line: pf.Agent) -> None:
    with pytest.raises(InvalidInput, match="same environment, got reward-line in reward-line and branch-path in"):
        pf.compare(line, pf.load_agent("branch-path"))
    with pytest.raises(InvalidInput, match="a deterministic environment, got breakable-bottles"):
        pf.compare(pf.load_agent("breakable-bottles"), pf.load_agent("breakable-bottles-realised"))
    elsewhere = replace(line, space=pf.CommandSpace([0, 2], [1, 3], line.space.objectives))
    with pytest.raises(InvalidInput, match="commands in common, got no common range of B"):
        pf.compare(line, elsewhere)
    renamed = replace(line, space=pf.CommandSpace([0, 0], [1, 1], ["left", "right"]))
    with pytest.raises(InvalidInput, match=r"same objectives, got A, B \(reward-line\) and left, right"):
        pf.compare(line, renamed)
    with pytest.raises(InvalidInput, match="at least 1 sample, got 0"):
        pf.compare(line, line, samples=0)
    with pytest.raises(InvalidInput, match="the command to have 2 numbers"):
        pf.compare(line, line, command=[1.0])


@pytest.mark.parametrize(("bias", "least", "most"), [(0.5, 0.0, 0.7), (1e4, 0.3, 1.0)])
def test_with_four_objectives_the_share_is_proven_and_sampled(bias: float, least: float, most: float, tmp_path) -> None:
    agent = pf.load_agent("collect-two")
    other = replace(agent, name="other", policy=with_output_bias(agent.policy, 0, bias), achieved=None)
    result = pf.compare(agent, other, undecided=0.5, samples=200)
    assert result.sampled is not None
    low, high, count = result.sampled
    assert (result.samples, count) == (0, 200)
    assert least <= result.differ[0] <= high
    assert low <= result.differ[1] <= most
    assert "of the commands (proven), and under" in result.sentence()
    assert "(95 % interval of 200 sampled commands; not proven)." in result.sentence()
    assert result.plot(tmp_path / "bars.png").axes[0].get_xlabel() == "share of the commands (%)"


def test_overlaps_of_cut_boxes_have_at_most_their_volume() -> None:
    def cells(low: float, slope: float) -> Cells:
        box = np.full((1, 3), low), np.ones((1, 3))
        cut = np.array([[[slope, 0.0, 0.0]]]), np.array([[-0.75]])  # the part with slope x < 0.75
        return Cells(*box, np.ones(1), np.zeros((1, 3)), np.ones(1, dtype=bool), *cut)

    whole, cut = cells(0.0, 0.0), cells(0.5, 1.0)
    for first, second in ((whole, cut), (cut, whole)):
        mine, theirs, volume = first.overlaps(second, np.inf)
        assert (mine.tolist(), theirs.tolist()) == ([0], [0])
        assert volume == pytest.approx([0.25 * 0.5 * 0.5])
    assert cut.overlaps(cut, np.inf)[2].sum() <= 0.0625  # each cut counts


def test_a_black_box_makes_the_comparison_a_sample(line: pf.Agent) -> None:
    opaque = replace(line, name="opaque", policy=line.policy.log_probs)
    result = pf.compare(line, opaque, samples=100)
    assert result.samples == 100
    assert result.differ[0] == 0.0


def test_the_picture_shows_every_cell(result: Comparison, tmp_path) -> None:
    figure = result.plot(tmp_path / "comparison.png")
    shapes = {to_hex(shape.get_facecolor()[0]): shape.get_paths()[0] for shape in figure.axes[0].collections}
    centres = result.cells.mean(axis=1)
    shown = {colour: shape.contains_points(centres) for colour, shape in shapes.items()}
    assert shown.keys() == {DIFFERENT, SAME}
    assert (shown[DIFFERENT] == result.cell_differs).mean() > 0.99  # apart from cells that are thin as a line
    assert (shown[SAME] != result.cell_differs).mean() > 0.99
    assert (tmp_path / "comparison.png").stat().st_size > 10_000


def test_equal_returns_differ_if_only_one_task_ended() -> None:
    ended, limit = np.array([[1.0, 2.0, True]]), np.array([[1.0, 2.0, False]])
    assert differ(ended, limit).tolist() == [True]
    assert differ(ended, ended + 1e-9).tolist() == [False]


@pytest.mark.parametrize("seconds", [1e-9, 1e-3])
def test_without_time_for_a_proof_nothing_is_claimed(seconds: float) -> None:
    first, second = (pf.load_agent(name) for name in ("deep-sea-treasure", "deep-sea-treasure-early"))
    result = pf.compare(first, second, seconds=seconds)
    assert result.differ[0] < 0.2
    assert result.differ[1] > 0.8
    assert "end differently" in str(result)
