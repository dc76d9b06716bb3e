"""Atlases: what is proven of every command is what its rollout does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from policies import random_pcn

import paretofoil as pf
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.episode import EXACT, greedy, run_episodes
from paretofoil.explanation.atlas import Atlas, AtlasOutcome, sampled_atlas
from paretofoil.explanation.atlas_boxes import BoxPartition
from paretofoil.show.atlas import merge_cells


@pytest.fixture(scope="module")
def line() -> Atlas:
    return pf.atlas(pf.load_agent("reward-line"))


def random_commands(agent: pf.Agent, count: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(agent.space.low, agent.space.high, (count, agent.space.dim))


def contradictions(agent: pf.Agent, atlas: Atlas, commands: np.ndarray) -> tuple[int, int]:
    """Return how many commands have a proven outcome, and how many of these end otherwise."""
    episodes = run_episodes(agent.batch_env(), greedy(agent.policy), commands, np.zeros(len(commands), dtype=np.uint64))
    proven, wrong = 0, 0
    for command, achieved, finished in zip(commands, episodes.returns, episodes.terminated, strict=True):
        outcome = atlas.outcome_at(command)
        if outcome is not None:
            proven += 1
            same = np.abs(outcome.achieved - achieved).max() <= EXACT and outcome.finished == finished
            wrong += not same
    return proven, wrong


@pytest.mark.parametrize("name", ["reward-line", "branch-path"])
def test_every_proven_outcome_is_that_of_the_rollout(name: str) -> None:
    agent = pf.load_agent(name)
    proven, wrong = contradictions(agent, pf.atlas(agent), random_commands(agent, 500))
    assert proven > 450
    assert wrong == 0


@pytest.mark.parametrize("seed", range(4))
def test_outcomes_of_untrained_policies_are_proven_too_and_loops_end_at_the_step_limit(seed: int) -> None:
    agent = pf.load_agent("reward-line")
    untrained = random_pcn(seed, agent.policy.state_size, 2, len(agent.actions))  # type: ignore[attr-defined]
    agent = replace(agent, policy=untrained, achieved=None)
    result = pf.atlas(agent, undecided=0.05, seconds=20)
    assert result.undecided <= 0.05 + 1e-6
    proven, wrong = contradictions(agent, result, random_commands(agent, 200))
    assert proven > 150
    assert wrong == 0


def test_commands_at_the_corners_of_cells_end_as_proven(line: Atlas) -> None:
    agent = pf.load_agent("reward-line")
    cells, numbers = line.cells[line.outcome_of >= 0], line.outcome_of[line.outcome_of >= 0]
    middle = cells.mean(axis=1)
    near = cells[:, 0] + 1e-7 * (middle - cells[:, 0])
    achieved = np.array([outcome.achieved for outcome in line.outcomes])[numbers]
    episodes = run_episodes(agent.batch_env(), greedy(agent.policy), near, np.zeros(len(near), dtype=np.uint64))
    assert len(near) > 500
    assert np.abs(episodes.returns - achieved).max() <= EXACT


def test_shares_add_up_and_contain_what_samples_say(line: Atlas) -> None:
    agent = pf.load_agent("reward-line")
    assert sum(outcome.share for outcome in line.outcomes) + line.undecided == pytest.approx(1.0, abs=1e-6)
    assert [outcome.share for outcome in line.outcomes] == sorted((o.share for o in line.outcomes), reverse=True)
    commands = random_commands(agent, 4000)
    episodes = run_episodes(agent.batch_env(), greedy(agent.policy), commands, np.zeros(len(commands), dtype=np.uint64))
    delivered = (episodes.returns >= commands).all(axis=1).mean()
    low, high = line.interval(line.delivers)
    assert low - 0.03 <= delivered <= high + 0.03
    low, high = line.interval(line.on_front)
    assert low > 0.98
    assert high <= 1.0


def test_a_command_outside_has_no_outcome(line: Atlas) -> None:
    assert line.outcome_at([2.0, 2.0]) is None
    assert isinstance(line.outcome_at(line.cells[0].mean(axis=0)), AtlasOutcome)


def test_a_time_limit_leaves_the_rest_undecided() -> None:
    result = pf.atlas(pf.load_agent("deep-sea-treasure"), seconds=1e-9, samples=100)
    assert result.undecided > 0.99
    assert result.interval(0.0) == (0.0, pytest.approx(1.0))


def test_with_many_objectives_commands_are_sampled_and_nothing_is_called_proven() -> None:
    agent = pf.load_agent("fruit-tree")
    result = pf.atlas(agent, samples=300)
    assert result.samples == 300
    low, high = result.interval(result.outcomes[0].share)
    assert low < result.outcomes[0].share < high
    assert "300 sampled commands; nothing is proven" in result.sentence()
    assert result.outcome_at(agent.front[0]) is None
    again = pf.atlas(agent, samples=300)
    assert [o.share for o in again.outcomes] == [o.share for o in result.outcomes]


@pytest.fixture(scope="module")
def four() -> Atlas:
    return pf.atlas(pf.load_agent("collect-two"), undecided=0.6, seconds=60)


def test_outcomes_of_four_objectives_are_proven_in_boxes(four: Atlas) -> None:
    agent = pf.load_agent("collect-two")
    assert four.undecided <= 0.6 + 1e-6
    assert four.sampled is None
    proven, wrong = contradictions(agent, four, random_commands(agent, 400))
    assert proven >= 400 * (1 - four.undecided) - 60
    assert wrong == 0
    assert four.boxes is not None
    assert sum(o.share for o in four.outcomes) + four.undecided == pytest.approx(1.0, abs=1e-6)


def test_commands_at_the_edge_of_cut_boxes_end_as_proven(four: Atlas) -> None:
    agent, cells = pf.load_agent("collect-two"), four.boxes
    assert cells is not None
    assert (cells.slopes.any(axis=(1, 2))).any()  # half-spaces cut some of them
    rng = np.random.default_rng(0)
    inner, outer = (rng.uniform(cells.low, cells.high) for _ in range(2))
    commands, numbers = [], []
    for number, (start, end) in enumerate(zip(inner, outer, strict=True)):
        if not cells.contains(start)[number]:
            continue
        share = np.linspace(0.0, 1.0, 200)[:, None]
        line = start + share * (end - start)
        inside = (line @ cells.slopes[number].T + cells.offsets[number] < 0.0).all(axis=1)
        commands.append(line[np.flatnonzero(inside)[-1]])
        numbers.append(four.outcome_of[number])
    assert len(commands) > 100
    seeds = np.zeros(len(commands), dtype=np.uint64)
    returns = run_episodes(agent.batch_env(), greedy(agent.policy), np.array(commands), seeds).returns
    achieved = np.array([outcome.achieved for outcome in four.outcomes])[numbers]
    assert np.abs(returns - achieved).max() <= EXACT


def test_volumes_of_cut_boxes_are_never_too_large(four: Atlas) -> None:
    cells = four.boxes
    assert cells is not None
    rng = np.random.default_rng(1)
    largest = np.argsort(-cells.volume)[:40]
    for low, high, volume, slopes, offsets in zip(
        *(column[largest] for column in (cells.low, cells.high, cells.volume, cells.slopes, cells.offsets)), strict=True
    ):
        points = rng.uniform(low, high, (2000, len(low)))
        share = (points @ slopes.T + offsets < 0.0).all(axis=1).mean()
        assert volume <= (share + 0.06) * (high - low).prod()


def test_boxes_of_two_objectives_say_what_polygons_say() -> None:
    agent = pf.load_agent("branch-path")
    cells, _ = BoxPartition(agent, np.inf).run(0.05, None)
    cells, delivers = cells.by_delivery()
    total = float((agent.space.high - agent.space.low).prod())
    proven = pf.atlas(agent)
    share, delivered = cells.volume.sum() / total, cells.volume[delivers].sum() / total
    assert share >= 0.95 - 1e-9
    low, high = proven.interval(proven.delivers)
    assert delivered <= high
    assert delivered + (1 - share) >= low
    for outcome in proven.outcomes[:3]:
        same = (np.abs(cells.achieved - outcome.achieved) < EXACT).all(axis=1) & (cells.finished == outcome.finished)
        low, high = proven.interval(outcome.share)
        assert cells.volume[same].sum() / total <= high
        assert cells.volume[same].sum() / total + (1 - share) >= low


def test_what_is_left_undecided_is_sampled_and_named_as_such() -> None:
    result = pf.atlas(pf.load_agent("reward-line"), undecided=0.0, seconds=0.3, samples=200)
    assert result.samples == 0
    assert result.sampled is not None
    assert result.sampled.samples == 200
    assert result.sentence().endswith("(95 % intervals of 200 sampled commands; not proven).")


def test_a_slice_is_a_map_of_the_commands_that_differ_in_two_objectives(tmp_path) -> None:
    agent = pf.load_agent("collect-two")
    result = pf.atlas(agent, vary=["A", "B"], command=[0.3, 0.3, 0.8, 1.0], undecided=0.03)
    assert result.undecided <= 0.03 + 1e-6
    assert "of the commands that ask for 0.8 C and 1 D the episode ends" in result.sentence()
    commands = random_commands(agent, 300)
    assert all(result.outcome_at(command) is None for command in commands[:5])
    commands[:, 2:] = [0.8, 1.0]
    proven, wrong = contradictions(agent, result, commands)
    assert proven > 270
    assert wrong == 0
    returns = run_episodes(agent.batch_env(), greedy(agent.policy), commands, np.zeros(300, dtype=np.uint64)).returns
    low, high = result.interval(result.delivers)
    assert low - 0.05 <= (returns >= commands).all(axis=1).mean() <= high + 0.05
    figure = result.plot(tmp_path / "slice.png")
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("A", "B")


@pytest.mark.parametrize(
    "options", [{"vary": ["A"]}, {"vary": ["A", "E"]}, {"vary": ["A", "B"]}, {"command": [1, 0, 0, 0]}]
)
def test_a_slice_needs_two_objectives_and_a_command(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"two objectives to vary among A, B, C, D|a command with the values of"):
        pf.atlas(pf.load_agent("collect-two"), **options)


def test_shares_of_boxes_are_drawn_as_bars_with_what_was_sampled(four: Atlas, tmp_path) -> None:
    region = four.low, four.high
    agent = pf.load_agent("collect-two")
    drawn = sampled_atlas(agent, random_commands(agent, 200), region)
    sampled = replace(four, sampled=drawn)
    figure = sampled.plot(tmp_path / "bars.png")
    assert "points: of sampled commands" in figure.axes[0].get_xlabel()
    assert "points" not in four.plot().axes[0].get_xlabel()


def test_where_chance_plays_or_preferences_are_given_there_is_no_atlas() -> None:
    with pytest.raises(InvalidInput, match="a deterministic environment, got breakable-bottles"):
        pf.atlas(pf.load_agent("breakable-bottles"))
    agent = pf.load_agent("reward-line")
    weighed = replace(
        agent, space=pf.CommandSpace.preferences(["left", "right"]), front=np.eye(2), achieved=None, error=None
    )
    with pytest.raises(
        InvalidInput, match="an agent whose commands are returns, got reward-line, which takes preferences"
    ):
        pf.atlas(weighed)


def test_the_sentence_gives_proven_bounds(line: Atlas) -> None:
    assert line.sentence().startswith("Under 99")
    assert "of the commands the episode ends on the front of reward-line" in line.sentence()
    assert "(proven; the outcome of 0." in line.sentence()
    assert repr(line).startswith("<Atlas 'reward-line': Under 99")


def test_the_map_draws_every_cell_and_lists_the_front(line: Atlas, tmp_path) -> None:
    figure = line.plot(tmp_path / "atlas.png")
    shapes = [shape.get_paths()[0] for shape in figure.axes[0].collections]
    sides = np.ptp(np.concatenate([shape.vertices for shape in shapes]), axis=0)
    assert sides == pytest.approx(line.high - line.low)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == len([o for o in line.outcomes if o.on_front]) + 2
    assert labels[-2:] == ["other outcomes", "undecided"]
    assert (tmp_path / "atlas.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "options", [{"samples": 0}, {"samples": -3}, {"samples": 10**20}, {"undecided": np.nan}, {"undecided": -0.1}]
)
def test_odd_numbers_of_samples_and_shares_are_errors(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=r"at least 1 sample|at most 1,000,000 samples|share from 0 to 1"):
        pf.atlas(pf.load_agent("reward-line"), **options)


def test_cells_of_a_colour_are_drawn_as_one_shape_around_the_same_commands() -> None:
    atlas = pf.atlas(pf.load_agent("branch-path"), undecided=0.05)
    cells = atlas.cells[atlas.outcome_of == 0]
    loops = merge_cells(cells)
    x, y = np.concatenate([loop[:-1] for loop in loops]).T
    after_x, after_y = np.concatenate([loop[1:] for loop in loops]).T
    assert all((loop[0] == loop[-1]).all() for loop in loops)
    size = float((atlas.high - atlas.low).prod())
    assert (x * after_y - after_x * y).sum() / 2 / size == pytest.approx(atlas.outcomes[0].share, rel=1e-9)
    assert len(x) < sum(len(np.unique(cell, axis=0)) for cell in cells)
    figure = atlas.plot()
    assert len(figure.axes[0].collections) == sum(o.on_front for o in atlas.outcomes) + 2  # others, and undecided
