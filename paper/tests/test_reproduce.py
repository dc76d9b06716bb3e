"""Reproductions: the paper's totals, reports that hold together, and small runs of pages."""

import base64
import re
from dataclasses import replace
from pathlib import Path

import pytest
from studies import saved_agent, small_study

from paretofoil.agents import load_agent, save_agent
from paretofoil.core.answer import Status
from paretofoil.core.errors import InvalidInput
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil.study import Case, Row, read_about, read_rows
from paretofoil.study.study import describe_search
from paretofoil.study.table import Table
from paretofoil_paper import PAGES, Budgets, Plan, Report, page
from paretofoil_paper.ablation import COMPONENTS, ablation_tables, compare
from paretofoil_paper.audit import as_run_audit, audit_tables
from paretofoil_paper.comparison import comparison_rows
from paretofoil_paper.distances import Distances
from paretofoil_paper.landscapes import _question, choose_case
from paretofoil_paper.paper_tables import AUDIT, COMPARISON, ENVIRONMENTS, RUNTIME, STRESS, total_of
from paretofoil_paper.plan import provenance
from paretofoil_paper.report import Picture
from paretofoil_paper.runtime import alone_rows, paper_seconds, runtime_tables, time_ratio
from paretofoil_paper.searches import CFZooAsRun, LocalZoo, ProjectedCW, WhiteCW
from paretofoil_paper.stress import as_run_rows, cut_by_case


def test_the_papers_rows_add_up_to_its_totals() -> None:
    stress = total_of(STRESS.values())
    assert (stress.cases, stress.found) == (3195, 2422)
    for label, found in (("white-cw", 322), ("cf-zoo", 637)):
        total = total_of(COMPARISON[environment, label] for environment in ENVIRONMENTS)
        assert (total.cases, total.found) == (797, found)
    assert sum(AUDIT.values()) == 3195


def test_a_report_is_whole_in_markdown_and_in_one_html_file(tmp_path: Path) -> None:
    pixel = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    report = Report("Title").say("Words <b>not html</b>.")
    report.add(Table("T", ("a", "b"), (("x", 1),)), Picture("p.png", "A picture", pixel))
    report.appendix.append(Table("Long table", ("a",), ((1,),)))
    report.write(tmp_path, "r")
    html = (tmp_path / "r.html").read_text()
    assert html.count("<table>") == html.count("</table>") == 1
    assert 'src="data:image/png;base64,' in html
    assert not re.findall(r'(?:src|href)="(?!data:)', html)  # nothing from elsewhere
    assert "<b>not" not in html
    assert "![A picture](figures/p.png)" in (tmp_path / "r.md").read_text()
    assert (tmp_path / "figures" / "p.png").read_bytes() == pixel
    assert {f.name for f in (tmp_path / "tables").iterdir()} == {
        *("r-t.csv", "r-t.json", "r-t.tex", "appendix-r-long-table.csv")
    }


SMALL = Budgets(
    comparison={
        "white-cw": ProjectedCW(iterations=20),  # stands in for ART, which has tests of its own
        "cf-zoo": CFZoo(60, 61),
        "boundary": Boundary(max_queries=200),
        "exact": Exact(max_boxes=2000),
        "white-cw:as-run": ProjectedCW(iterations=10),
        "white-cw:as-run-0": ProjectedCW(iterations=10),
        "cf-zoo:as-run": CFZooAsRun(200, 200),
    },
    stress=CFZoo(60, 61),
    thorough=CFZoo(70, 71),
    as_run_thorough=CFZooAsRun(90, 60, 4),
    as_run_larger=(70,),
    exact=Exact(max_boxes=2000),
    as_run=CFZooAsRun(200, 200),
    runtime=(10_000,),
    timed=1,
    ablation={"cf-zoo:as-run": CFZooAsRun(200, 200), "boundary": Boundary(max_queries=400), "local-zoo": LocalZoo(400)},
    ablation_queries=(60, 200),
    ablation_cases=4,
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A random network and small budgets, without ART; its studies are shared by the tests of this module."""
    folder = tmp_path_factory.mktemp("small")
    return Plan(folder / "out", {"branch-path": str(saved_agent(folder))}, workers=1, budgets=SMALL)


@pytest.mark.long
@pytest.mark.parametrize("name", ["comparison", "stress", "audit"])
def test_each_page_runs_and_runs_again_from_its_rows(small: Plan, name: str) -> None:
    report = page(name)(small)
    assert all((report.tables, report.pictures, report.findings, report.appendix))
    before = {path.name: len(read_rows(path)) for path in small.out.glob("rows/*.sqlite")}
    assert before
    again = page(name)(small)
    assert {path.name: len(read_rows(path)) for path in small.out.glob("rows/*.sqlite")} == before
    assert again.to_markdown() == report.to_markdown()


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(7, marks=pytest.mark.long)])
def test_distances_are_measured_at_the_decisions_of_the_plans_own_seed(tmp_path: Path, seed: int) -> None:
    """Where chance plays another seed has other episodes, with other cases."""
    plan = Plan(tmp_path, {"breakable-bottles": "breakable-bottles"}, seed=seed, workers=1, budgets=SMALL)
    rows = [row for row in as_run_rows(plan) if row.found and row.search == "cf-zoo:as-run"]
    assert set(cut_by_case(plan, rows)) == {row.case for row in rows} != set()


def test_the_audit_counts_every_case_once(small: Plan) -> None:
    tables = audit_tables(small, as_run_audit(small))
    cases = len(read_rows(small.out / "rows" / "stress.sqlite"))
    for table in tables[:2]:
        assert sum(row[1] for row in table.rows) == cases
    first, *others = tables[2].rows
    assert {line[1] for line in others} == {first[1]}
    assert all(line[3].successes == first[3].successes + line[2] for line in others)


@pytest.mark.long
def test_the_ablation_holds_every_search_to_the_same_queries(small: Plan) -> None:
    ablation_tables(small)
    rows = [row for row in read_rows(small.out / "rows" / "ablation.sqlite") if row.search != "exact"]
    assert {row.search.split(" at ")[1] for row in rows} == {"60", "200"}
    assert {row.search.split(" at ")[0] for row in rows} == {*SMALL.ablation, *COMPONENTS}
    outer = {"original", "verify", "round", "confirm", "noise"}
    for row in rows:
        spent = sum(n for phase, n in row.full_answer().search.queries.items() if phase not in outer)
        assert spent <= int(row.search.split(" at ")[1])


@pytest.mark.long
def test_kappa_0_is_a_curve_over_all_queries_with_optima_of_its_own(small: Plan) -> None:
    tables, _ = ablation_tables(small)
    rows = read_rows(small.out / "rows" / "ablation-kappa-0.sqlite")
    assert {row.search for row in rows} == {"exact", "cf-zoo:as-run at 60", "cf-zoo:as-run at 200"}
    greedy = Distances.of(rows)
    shares, ratios = tables[3:5]
    assert shares.rows[-1] == ("kappa 0", *(greedy.recovered(f"cf-zoo:as-run at {n}") for n in (60, 200)))
    assert ratios.rows[-1] == ("kappa 0", *(greedy.ratio(f"cf-zoo:as-run at {n}") for n in (60, 200)))
    assert [line[0] for line in shares.rows] == ["cf-zoo:as-run", *COMPONENTS, "kappa 0"]


@pytest.mark.long
def test_times_are_those_of_the_comparisons_questions(tmp_path: Path) -> None:
    """In its box, and where chance plays of the agents that learned from realised returns."""
    small = Plan(tmp_path, {name: name for name in ("breakable-bottles",)}, workers=1, budgets=SMALL)
    runtime_tables(small, alone_rows(small))
    compared = {row.case: row.full_answer() for row in read_rows(tmp_path / "rows" / "comparison.sqlite")}
    for study in ("runtime", "runtime-budget"):
        rows = read_rows(tmp_path / "rows" / f"{study}.sqlite")
        assert {row.case.agent for row in rows} == {"breakable-bottles-realised"}
        for answer, same in ((row.full_answer(), compared[row.case]) for row in rows):
            assert (answer.question.low.tolist(), answer.question.high.tolist()) == (
                same.question.low.tolist(),
                same.question.high.tolist(),
            )


def test_times_are_compared_case_by_case() -> None:
    """The interval of a median of 32 ratios lies between the tenth smallest and the tenth largest."""
    cases = [Case("a", number, 0, 1) for number in range(32)]
    slow = [Row(case, "slow", "", Status.FOUND, 0.1, 1, "", (1.0 + case.front) * case.front) for case in cases]
    fast = [Row(case, "fast", "", Status.FOUND, 0.1, 1, "", 1.0 + case.front) for case in reversed(cases)]
    assert time_ratio(slow + fast, "slow", "fast") == (15.5, 9.0, 22.0)


def test_what_a_choice_is_worth_is_counted_case_by_case() -> None:
    def row(number: int, search: str, distance: float | None, outcome: Status = Status.FOUND) -> Row:
        kind = Status.NOT_FOUND if distance is None else outcome
        return Row(Case("a", number, 0, 1), search, "", kind, distance, 1, "", 0.0)

    proven = [row(number, "exact", 0.1, Status.PROVEN_CLOSEST) for number in range(3)] + [row(3, "exact", None)]
    whole = [row(number, "whole", d) for number, d in enumerate((0.1, 0.2, None, None))]
    form = [row(number, "form", d) for number, d in enumerate((0.3, None, 0.1, None))]
    distances = Distances.of(proven + whole + form)
    assert len(distances.feasible) == 3  # the fourth case is found by nobody
    assert (distances.recovered("whole").successes, distances.recovered("whole").cases) == (2, 3)
    assert distances.ratio("whole") == pytest.approx(1.5)
    line = compare("form", distances, "form", distances.found["whole"])
    assert line[2:] == (1, 1, pytest.approx(3.0))


@pytest.mark.long
def test_an_experiment_asks_with_the_budgets_and_the_seed_of_its_plan(small: Plan, tmp_path: Path) -> None:
    small = replace(small, out=tmp_path)
    seeded = replace(small, seed=7)
    audit_tables(seeded, as_run_audit(seeded))
    wanted = {("stress", "cf-zoo"): SMALL.stress, ("audit-thorough", "cf-zoo:thorough"): SMALL.thorough}
    wanted |= {("audit-as-run-thorough", "cf-zoo:as-run-thorough"): SMALL.as_run_thorough}
    wanted |= {("audit-all", "exact"): SMALL.exact, ("audit-all", "boundary"): Boundary()}
    for (study, label), search in wanted.items():
        stored = read_about(small.out / "rows" / f"{study}.sqlite")["configuration"]["searches"][label]
        assert stored == describe_search(replace(search, seed=7))  # type: ignore[type-var]


def test_the_budgets_are_the_papers_unless_others_are_given() -> None:
    budgets = Plan(Path(".")).budgets
    assert [(s.directions, s.max_queries) for s in (budgets.stress, budgets.thorough)] == [(9_001,) * 2, (100_000,) * 2]  # type: ignore[attr-defined]
    assert budgets.comparison["cf-zoo"] == CFZoo(21_000, 21_000)
    assert budgets.comparison["cf-zoo:as-run"] == CFZooAsRun(21_000, 21_000)
    assert budgets.comparison["white-cw:as-run"] == WhiteCW.preset("as-run")
    labels = ["white-cw", "cf-zoo", "white-cw-padded", "projected-cw", "boundary", "exact"]
    assert list(budgets.comparison) == [*labels, "white-cw:as-run", "white-cw:as-run-0", "cf-zoo:as-run"]
    assert budgets.runtime == (10_000, 20_000, 30_000, 50_000, 75_000, 100_000)
    with pytest.raises(InvalidInput, match="budgets among 10000"):
        Budgets(runtime=(1,))


@pytest.mark.long
def test_a_proof_is_never_contradicted_by_the_grid(small: Plan) -> None:
    gridded = replace(small, full_grid=True)
    [cross] = [t for t in audit_tables(gridded, as_run_audit(gridded)) if t.title.startswith("The grid")]
    assert cross.rows[0][1] > 0  # no valid command on the grid, proven infeasible
    assert cross.rows[1][1] == 0  # a valid command on the grid, proven infeasible


def test_an_agent_of_another_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="an agent of reward-line"):
        Plan(tmp_path, {"reward-line": "branch-path"}).load("reward-line")


def test_the_papers_mean_runtime_is_weighted_by_its_cases() -> None:
    two = Plan(Path("."), {name: name for name in ("branch-path", "breakable-bottles")})
    assert paper_seconds(two, "all", "white-cw:as-run-0") == pytest.approx((35 * 9.44 + 8 * 8.55) / 43)
    everything = Plan(Path("."))
    for label, papers in (("white-cw:as-run-0", "white-cw"), ("cf-zoo:as-run", "cf-zoo")):
        assert paper_seconds(everything, "all", label) == RUNTIME["all", papers]
        weighed = sum(COMPARISON[name, papers].cases * RUNTIME[name, papers] for name in ENVIRONMENTS) / 797
        assert weighed == pytest.approx(RUNTIME["all", papers], abs=0.005)
    assert paper_seconds(everything, "all", "white-cw") is None  # with ART's settings, which are not the paper's


def test_a_panel_shows_the_median_of_the_wanted_kind() -> None:
    def row(number: int, search: str, distance: float | None) -> Row:
        outcome = Status.NOT_FOUND if distance is None else Status.FOUND
        return Row(Case("a", number, 0, 1), search, "", outcome, distance, 1, "", 0.0)

    zoo = [row(number, "cf-zoo:as-run", distance) for number, distance in enumerate((0.5, 0.1, 0.3, None, 0.4))]
    white = [row(number, "white-cw:as-run-0", 1.0 if number == 4 else None) for number in range(5)]
    other = [row(number, search, 0.2) for number in range(5) for search in ("cf-zoo", "white-cw")]  # not as run
    rows = zoo + white + other
    assert choose_case(rows, False, lambda row: {0, 1}) == Case("a", 2, 0, 1)  # of 0.1, 0.3 and 0.5
    assert choose_case(rows, True, lambda row: {0, 1}) == Case("a", 4, 0, 1)
    only_first = choose_case(rows, False, lambda row: {0} if row.case.front == 0 else {0, 1, 2})
    assert only_first == Case("a", 0, 0, 1)  # the answers of the others lie in no slice
    together = choose_case(rows, False, lambda row: {0} if row.search == "cf-zoo:as-run" else {row.case.front, 4})
    assert together == Case("a", 0, 0, 1)  # both answers of the others are in a slice each, but not in one
    assert choose_case(rows, False, lambda row: {0, 1, 2}) == Case("a", 2, 0, 1)  # none lies in a slice
    assert choose_case([row(0, "cf-zoo:as-run", None), *other], False, lambda row: {0}) is None


def test_a_panel_is_drawn_in_the_box_in_which_its_answers_were_sought(small: Plan) -> None:
    answers = {row.case: row.full_answer() for row in comparison_rows(small)}
    for case, answer in answers.items():
        question, _ = _question(small, "branch-path", case)
        assert question.command == pytest.approx(answer.question.command)
        assert (question.low.tolist(), question.high.tolist()) == (
            answer.question.low.tolist(),
            answer.question.high.tolist(),
        )


def test_every_page_can_be_loaded() -> None:
    for name in PAGES:
        assert callable(page(name))


def test_a_study_without_agents_or_searches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least one search"):
        replace(small_study(tmp_path), searches={})
    with pytest.raises(InvalidInput, match="at least one agent"):
        replace(small_study(tmp_path), agents=())


def test_a_plan_takes_shipped_agents_though_local_ones_have_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, here = Plan(tmp_path).as_run, tmp_path / "agents"
    monkeypatch.setenv("PARETOFOIL_AGENTS", str(here))
    hidden = ("branch-path", "breakable-bottles", "breakable-bottles-realised")
    for name in hidden:
        save_agent(replace(load_agent(name), provenance={"mine": True}), here / name)
    assert load_agent("branch-path").provenance == {"mine": True}
    plan = Plan(tmp_path)
    assert "mine" not in plan.load("branch-path").provenance
    for source in plan.all_agents:
        assert "mine" not in load_agent(source).provenance
    assert {e: load_agent(a).name for e, a in plan.as_run.items()} == before
    assert " --agent" not in provenance("stress", plan, 1.0)
    own = Plan(tmp_path, {"breakable-bottles": str(here / "breakable-bottles")})
    assert own.as_run == own.agents
    assert f" --agent breakable-bottles={here}" in provenance("stress", own, 1.0)
