"""Intervals and tests: known values, and coverage on simulated clusters."""

import csv
import io
import json

import numpy as np
import pytest

from paretofoil.core.answer import Status
from paretofoil.core.errors import InvalidInput
from paretofoil.study import Case, Row
from paretofoil.study.statistics import Proportion
from paretofoil.study.table import Table, text
from paretofoil_paper.statistics import (
    EpisodeTotal,
    Interval,
    PairedTest,
    cluster_interval,
    difference_interval,
    episodes_of,
    holm,
    pair_rows,
    paired_table,
    paired_test,
    rate_interval,
)


def row(agent: str, front: int, foil: int, found: bool, search: str = "a") -> Row:
    outcome = Status.FOUND if found else Status.NOT_FOUND
    return Row(Case(agent, front, 0, foil), search, "", outcome, 0.5 if found else None, 1, "", 0.0)


def rows_of(search: str, found: list[bool]) -> list[Row]:
    """Four cases an episode, of one agent."""
    return [row("agent", number // 4, number % 4, flag, search) for number, flag in enumerate(found)]


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (0, 5, 0.0625), (8, 2, 0.109375), (10, 10, 1.0), (20, 0, 2**-19)],
)
def test_mcnemar_is_exact(first: int, second: int, p: float) -> None:
    """By hand: 8 against 2 is 2 (1 + 10 + 45) / 1024."""
    assert PairedTest(7, first, second, 3).p_value == pytest.approx(p, rel=1e-12)


def test_concordant_cases_do_not_move_the_test_but_dilute_the_difference() -> None:
    few, many = PairedTest(0, 8, 2, 0), PairedTest(1000, 8, 2, 990)
    assert few.p_value == many.p_value
    assert (few.difference, many.difference) == (pytest.approx(0.6), pytest.approx(0.003))


def test_searches_are_paired_case_by_case_whatever_their_order() -> None:
    first = rows_of("a", [True, True, False, False, True])
    second = rows_of("b", [True, False, True, False, False])[::-1]
    assert paired_test(pair_rows(first, second)) == PairedTest(both=1, first=2, second=1, neither=1)


def test_searches_with_other_cases_are_not_compared() -> None:
    with pytest.raises(InvalidInput, match="the same cases"):
        pair_rows(rows_of("a", [True] * 4), rows_of("b", [True] * 5))
    with pytest.raises(InvalidInput, match="the same cases"):
        pair_rows([], [])


def test_holm_is_that_of_his_paper() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_rows_of_one_command_are_one_episode() -> None:
    episodes = episodes_of(rows_of("a", [True, False, True, True, False]), lambda r: int(r.found))
    assert episodes == [EpisodeTotal("agent", "agent", 4, 3), EpisodeTotal("agent", "agent", 1, 0)]


@pytest.mark.long
def test_with_many_equal_episodes_the_interval_is_that_of_their_mean() -> None:
    """Known value: 400 episodes of 10 cases, half at 20 %, half at 80 %: 50 % +- 1.966 x 30 / sqrt(399)."""
    episodes = [EpisodeTotal("s", "a", 10, 2 if number % 2 else 8) for number in range(400)]
    interval = cluster_interval(episodes)
    half = 1.966 * 0.3 / np.sqrt(399)
    assert interval.low == pytest.approx(0.5 - half, abs=0.003)
    assert interval.high == pytest.approx(0.5 + half, abs=0.003)


def test_strata_do_not_change_places() -> None:
    """Environments with 100 % and others with 0 % are part of every repetition: their mean is certain."""
    rows = [row(f"{agent}", front, 0, agent < 3) for agent in range(6) for front in range(20)]
    assert rate_interval(rows) == Interval(0.5, 0.5)
    drawn = rate_interval(rows, stratum=lambda _: "one")
    assert drawn.low < 0.1
    assert drawn.high > 0.9


def test_agents_are_drawn_as_a_whole() -> None:
    """Five agents that differ and whose episodes do not: that there are many episodes is no comfort."""
    episodes = [EpisodeTotal("s", f"a{a}", 10, 2 * a) for a in range(1, 6) for _ in range(200)]
    interval = cluster_interval(episodes)
    assert interval.low < 0.3
    assert interval.high > 0.9


@pytest.mark.parametrize("clusters", [0, 1, 2, 4])
def test_fewer_than_five_clusters_have_no_interval(clusters: int) -> None:
    episodes = [EpisodeTotal("s", "a", 10, 2 * number) for number in range(5)]
    assert str(cluster_interval(episodes[:clusters])) == "–"
    assert str(cluster_interval(episodes)) != "–"


def test_a_stratum_that_alone_is_uncertain_decides_whether_there_is_an_interval() -> None:
    sure = [EpisodeTotal("sure", "a", 10, 10) for _ in range(50)]
    unsure = [EpisodeTotal("unsure", "b", 10, 2 * number) for number in range(3)]
    assert str(cluster_interval(sure + unsure)) == "–"


def test_the_interval_is_the_same_in_every_run_and_needs_no_global_seed() -> None:
    episodes = [EpisodeTotal("s", "a", 10, total) for total in range(10)]
    assert cluster_interval(episodes) == cluster_interval(episodes)
    assert cluster_interval(episodes) != cluster_interval(episodes, seed=1)


def simulated(rng: np.random.Generator, agents: int, spread: float) -> list[EpisodeTotal]:
    """Ten episodes of 20 cases for each agent; log-odds vary by that much between agents, and between episodes."""
    odds = rng.normal(1, spread * (agents > 1), agents)[:, None] + rng.normal(0, spread, (agents, 10))
    totals = rng.binomial(20, 1 / (1 + np.exp(-odds)))
    return [EpisodeTotal("s", f"a{a}", 20, int(total)) for a, line in enumerate(totals) for total in line]


@pytest.mark.long
@pytest.mark.parametrize("agents", [1, 5])
def test_on_clustered_data_it_covers_the_truth_where_wilsons_does_not(agents: int) -> None:
    rng, spread, runs = np.random.default_rng(0), 1.0, 200
    odds = np.random.default_rng(1).normal(1, spread * np.sqrt(1 + (agents > 1)), 1_000_000)
    truth = np.mean(1 / (1 + np.exp(-odds)))
    ours = wilsons = 0
    for _ in range(runs):
        episodes = simulated(rng, agents, spread)
        interval = cluster_interval(episodes, resamples=1000)
        low, high = Proportion(sum(e.total for e in episodes), sum(e.cases for e in episodes)).interval  # type: ignore[misc]
        ours += interval.low <= truth <= interval.high  # type: ignore[assignment]
        wilsons += low <= truth <= high  # type: ignore[assignment]
    assert 0.92 <= ours / runs <= 0.995
    assert wilsons / runs < 0.8


def test_a_difference_is_bootstrapped_case_by_case() -> None:
    """Both searches vary wildly over episodes, but their difference is one case of four in each: it is certain."""
    first = rows_of("a", ([True] * 4 + [True] + [False] * 3) * 10)
    second = rows_of("b", ([True] * 3 + [False] + [False] * 4) * 10)
    assert difference_interval(pair_rows(first, second)) == Interval(0.25, 0.25)
    assert rate_interval(first).high - rate_interval(first).low > 0.2


def test_the_table_of_paired_tests_has_the_discordant_counts() -> None:
    rows = rows_of("a", [True] * 30 + [False] * 10) + rows_of("b", [True] * 20 + [False] * 20)
    table = paired_table([*rows, *rows_of("c", [False] * 40)], "a")
    named = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    assert [line["against"] for line in named] == ["b", "c"]
    assert [(line["both find"], line["a alone"], line["other alone"], line["neither"]) for line in named] == [
        (20, 10, 0, 10),
        (0, 30, 0, 10),
    ]
    assert named[0]["McNemar p"] == pytest.approx(2**-9)
    assert named[0]["p (Holm)"] == pytest.approx(2**-9)
    assert named[1]["p (Holm)"] == "< 1e-6"
    assert named[0]["difference (points)"] == pytest.approx(25)
    with pytest.raises(InvalidInput, match="a search among a, b"):
        paired_table(rows, "d")


def test_an_interval_is_a_cell_of_every_format() -> None:
    table = Table(
        "T", ("x", "ci"), (("a", Interval(0.25, 0.5)), ("b", Interval(float("nan"), float("nan"))), ("c", None))
    )
    assert "| a | [25.0,50.0] |" in table.to_markdown()
    assert "| b | – |" in table.to_markdown()
    assert list(csv.reader(io.StringIO(table.to_csv()))) == [
        ["x", "ci low", "ci high"],
        ["a", "0.25", "0.5"],
        ["b", "", ""],
        ["c", "", ""],
    ]
    assert [line["ci"] for line in json.loads(table.to_json())["rows"]] == [{"low": 0.25, "high": 0.5}, None, None]


def test_a_small_number_is_not_printed_as_nothing() -> None:
    assert text(1e-9) == "1e-09"
    assert text(0.0) == "0.000"
    assert text(0.0006) == "0.001"
