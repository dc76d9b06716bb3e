"""The claims: each measure against an oracle, and the page from its recorded rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from studies import saved_agent, small_agent

from paretofoil import envs
from paretofoil.agents import Agent, load_agent, save_agent
from paretofoil.agents.training import HORIZON
from paretofoil.core.answer import Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.program import Program
from paretofoil.core.question import Question
from paretofoil.search import CFZoo, Exact
from paretofoil.study import Case, Row
from paretofoil_paper import Budgets, Plan
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.claims.gradient import Gradient, _cosine, _gradient, _inside, _line_search, measure_gradients
from paretofoil_paper.claims.horizon import FACTORS, HorizonCommand, measure_horizons
from paretofoil_paper.claims.sparsity import (
    ChangedEntries,
    count_changed,
    in_paper_region,
    in_reachable_region,
    sparsity_table,
)
from paretofoil_paper.claims.undertrained import AgentResult, undertrained_table
from paretofoil_paper.measurements import mean_interval, measurements, read_measurements, write_measurements
from paretofoil_paper.pages.claims import page
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.stress import paper_rows

TINY = {"steps": 600, "warmup": 20, "polish_rounds": 1, "polish_updates": 20, "hidden": 8, "updates": 5}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A random network in place of Branch-Path's agent, and budgets that take no time."""
    budgets = Budgets(stress=CFZoo(60, 61), exact=Exact(max_boxes=2000), as_run=CFZooAsRun(200, 200))
    agents = {"branch-path": str(saved_agent(tmp_path))}
    return Plan(tmp_path / "out", agents, workers=1, budgets=budgets, training=TINY)


@dataclass(frozen=True)
class Plane:
    """Logits (0, w R + b): the foil is action 1, and its gradient is w everywhere."""

    slope: tuple[float, float]
    offset: float

    def fold(self, state: np.ndarray) -> Program:
        return Program.of_layers((np.array([(0.0, 0.0), self.slope]),), (np.array([0.0, self.offset]),))

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return self.fold(states[0]).logits(commands)


def question(slope: tuple[float, float], offset: float, command: tuple[float, float] = (1.0, 2.0)) -> Question:
    space = CommandSpace(np.zeros(2), np.array([2.0, 4.0]))
    return Question(Plane(slope, offset), np.zeros(1), np.array(command), 1, (0, 1), space)


def test_the_gradient_is_that_of_the_scaled_margin() -> None:
    assert _gradient(question((3.0, -1.0), 0.0)).tolist() == [6.0, -4.0]


def test_a_line_along_the_gradient_of_a_plane_ends_at_its_boundary() -> None:
    asked = question((3.0, -1.0), -2.0)  # the margin is -1 there, and kappa 0.05
    [found] = _line_search([asked], _gradient(asked)[None])
    assert found == pytest.approx(1.05 / np.hypot(6.0, 4.0), rel=1e-4)
    hopeless = question((3.0, -1.0), -9.0)
    assert np.isnan(_line_search([hopeless], _gradient(hopeless)[None])).all()


def test_what_leads_out_of_the_region_is_no_direction() -> None:
    at_edge = question((3.0, -1.0), -8.0, (2.0, 2.0))
    assert _inside(at_edge, _gradient(at_edge)).tolist() == [0.0, -4.0]
    assert _cosine(np.array([1.0, 0.0]), np.array([1.0, 1.0])) == pytest.approx(np.sqrt(0.5))
    assert _cosine(np.zeros(2), np.ones(2)) is None


@pytest.mark.long
def test_no_line_ends_closer_than_the_proven_optimum(plan: Plan) -> None:
    rows = [row for row in proof_rows(plan) if row.status is Status.PROVEN_CLOSEST]
    gradients = list(measure_gradients(small_agent(), rows, 0))
    assert [one.case for one in gradients] == [row.case for row in rows]
    lines = [(one.line_distance, one.optimum) for one in gradients if one.line_distance is not None]
    assert lines
    assert all(line >= 0.98 * optimum - 0.001 for line, optimum in lines)  # the gap that proofs leave


def test_an_entry_counts_if_it_moves_by_more_than_a_thousandth_of_its_range() -> None:
    original, scale = np.ones(2), np.array([2.0, 4.0])
    for change, entries in (((0.0, 0.0), 0), ((0.003, 0.003), 1), ((0.003, 0.005), 2), ((-0.003, 0.0), 1)):
        assert count_changed(original + change, original, scale) == entries


def changed(search: str, entries: list[int], size: int = 3) -> list[ChangedEntries]:
    """So many answers, each of an episode of its own."""
    return [ChangedEntries("a", front, "branch-path", search, size, n, n) for front, n in enumerate(entries)]


def test_answers_are_counted_by_how_many_entries_they_change_none_included(plan: Plan) -> None:
    [line, _] = sparsity_table(plan, "", changed("exact", [0, 0, 1, 2, 3, 3, 3, 5]), ("exact",)).rows
    assert line[2:8] == (3, 8, 2, 1, 1, 4)
    assert line[8].successes == 4


@pytest.mark.long
def test_an_entry_counts_by_the_range_of_the_box_in_which_it_was_sought(plan: Plan, tmp_path: Path) -> None:
    """An agent that was trained on a box a thousand times as wide as the paper's."""
    wide = replace(small_agent(name="wide"), space=CommandSpace(np.zeros(2), np.full(2, 3000.0)))
    asked = replace(plan, agents={"branch-path": str(save_agent(wide, tmp_path / "wide"))})
    papers = in_paper_region(asked)
    assert {one.search for one in papers} == {"cf-zoo:as-run", "exact"}
    assert {one.closest for one in papers} == {1, 2}
    assert {one.closest for one in in_reachable_region(asked, paper_rows(asked))} == {0}


def test_a_decision_that_another_horizon_changes_is_counted(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that goes up to the exit, four steps away, unless it has ten steps or more: then it goes right first."""
    entry = envs.entry("reward-line")
    up, right = entry.actions.index("up"), entry.actions.index("right")

    def policy(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(commands), 4))
        scores[np.arange(len(commands)), np.where(commands[:, -1] < 10, up, right)] = 1.0
        return scores

    space = CommandSpace(np.zeros(3), np.array([1.0, 1.0, 20.0]), (*entry.objectives, HORIZON))
    timed = Agent("timed", policy, entry, space, np.array([[0.5, 0.5, 4.0]]))
    monkeypatch.setattr("paretofoil_paper.claims.horizon.train_with_horizon", lambda *_: timed)
    pairs = list(measure_horizons(replace(plan, agents={"reward-line": "reward-line"})))
    with_horizon = {pair.factor: pair for pair in pairs if pair.factor is not None}
    assert {factor: pair.changed for factor, pair in with_horizon.items() if pair.changed} == {4.0: 2}  # at 16 and 12
    assert {pair.decisions for pair in with_horizon.values()} == {4}
    assert [factor for factor, pair in with_horizon.items() if not pair.delivers] == [4.0]
    assert list(with_horizon) == list(FACTORS)
    without = [pair for pair in pairs if pair.factor is None]
    assert len(without) == 11
    assert all(pair.delivers for pair in without)  # the shipped agent reaches every point of its front


def test_the_mean_interval_knows_that_cases_of_one_episode_go_together() -> None:
    pairs = [HorizonCommand("a", front, 1.0, 1, 0, float(front % 2)) for front in range(8) for _ in range(50)]
    interval = mean_interval(pairs, lambda pair: pair.distance)
    assert interval.low < 0.3
    assert interval.high > 0.7


def test_measurements_are_read_as_they_were_written(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    slopes = [Gradient("a", 1, 2, 3, 0.5, None, 0.25, None, 1.0), Gradient("a", 1, 2, 4, 0.5, 0.1, 0.25, 2.0, 1.0)]
    path = tmp_path / "rows" / "s.parquet"
    write_measurements(path, Gradient, slopes, {"seed": 1})
    assert read_measurements(path, Gradient, {"seed": 1}) == slopes
    with pytest.raises(InvalidInput, match=r"seed = 1.*got seed = 2"):
        read_measurements(path, Gradient, {"seed": 2})
    with pytest.raises(InvalidInput, match="the columns agent, front, factor"):
        read_measurements(path, HorizonCommand, {"seed": 1})
    with pytest.raises(InvalidInput, match="no such file"):
        read_measurements(tmp_path / "none.parquet", Gradient, {})
    path.write_bytes(b"no")
    with pytest.raises(InvalidInput, match="to be a Parquet file"):
        read_measurements(path, Gradient, {"seed": 1})


def test_a_plan_that_asks_nothing_measures_nothing(plan: Plan) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    slopes = [Gradient("a", 1, 2, 3, 0.5, None, 0.25, None, 1.0)]
    assert measurements(plan, "some", Gradient, lambda: slopes, {}) == slopes
    never: Callable[[], list[Gradient]] = lambda: pytest.fail("measured again")  # noqa: E731
    assert measurements(replace(plan, recorded=True), "some", Gradient, never, {}) == slopes
    with pytest.raises(InvalidInput, match="choose a new file for a new study"):
        measurements(replace(plan, recorded=True, seed=5), "some", Gradient, never, {})


def test_agents_are_told_apart_only_by_intervals_that_do_not_meet() -> None:
    def asked(found: Callable[[int], bool]) -> AgentResult:
        rows = [
            Row(Case("a", front, time, 1), search, "", Status.FOUND, 0.5 if found(front) else None, 1, "", 0.0)
            for front in range(8)
            for time in range(5)
            for search in ("cf-zoo",)
        ]
        return AgentResult(load_agent("branch-path"), rows, [])

    always, never, half = asked(lambda _: True), asked(lambda _: False), asked(lambda front: front % 2 == 0)
    for other, apart in ((never, "yes"), (always, "no"), (half, "yes")):
        lines = undertrained_table({"minecart": (always, other)}).rows
        assert [line[-1] for line in lines if line[1] == "success rate of CF-ZOO"] == [apart]
        assert [line[-1] for line in lines if line[1] == "episode ends on the front (issued)"] == [None]


@pytest.mark.long
def test_the_page_is_made_again_from_its_rows(plan: Plan) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    from paretofoil.study.parquet import export_parquet

    report = page(plan)
    assert report.tables[0].title == "Number of entries of the command that change, in the paper's search region"
    assert "Consistent and inconsistent horizons" in [table.title for table in report.appendix]
    for study in plan.out.glob("rows/*.sqlite"):
        export_parquet(study, study.with_suffix(".parquet"))
        study.unlink()
    recorded = replace(plan, recorded=True)
    assert page(recorded).to_markdown() == report.to_markdown()
