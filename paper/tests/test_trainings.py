"""Agents by training stage: the area under the ROC curve, its interval, and the tables."""

import pytest

from paretofoil_paper.claims.trainings import STAGED, TrainedAgent, ablation_table, area_interval, stages_table
from paretofoil_paper.pages.claims import _stages
from paretofoil_paper.recompute import newcombe


def agents(name: str) -> list[TrainedAgent]:
    """Eight agents that reach the front and have more feasible cases, and eight that do neither."""
    return [
        TrainedAgent(name, "ours", 30 + i, 1.0, 10, 10 - i % 2, 9.0, 90.0 - 50 * (i % 2) + i, 5.0, 50.0, 50.0, 50.0)
        for i in range(16)
    ]


def test_a_measure_that_separates_the_agents_has_an_area_of_one_and_a_constant_one_has_one_half() -> None:
    table = stages_table([agent for name in STAGED for agent in agents(name)])
    feasible, distance = table.rows[:2]
    assert feasible[1::2] == (100.0, 100.0, 100.0)
    assert distance[1::2] == (50.0, 50.0, 50.0)
    sentence, direction = _stages(table, 48)
    assert "1 in the same direction in all three: *a valid command exists*" in sentence
    assert not direction, "no measure has smaller values for well-trained agents"


@pytest.mark.parametrize("area", [0.0, 0.3, 0.5, 0.95, 1.0])
def test_the_interval_is_that_of_an_independent_computation(area: float) -> None:
    interval = area_interval(area, 7, 13)
    assert [100 * interval.low, 100 * interval.high] == pytest.approx(newcombe(area, 7, 13), abs=1e-3)
    assert interval.low <= area <= interval.high


def test_the_ablation_counts_agents_and_their_steps() -> None:
    rows = [
        TrainedAgent(name, variant, 20, 1.0, 3, 3 - (variant != "ours"), steps)
        for name in STAGED
        for variant, steps in (("ours", 7.0), ("no shorter-first", 8.0))
    ]
    assert ablation_table(rows).rows == (
        ("ours", "3 of 3", 7.0, 7.0, 7.0),
        ("no shorter-first", "0 of 3", 8.0, 8.0, 8.0),
    )
