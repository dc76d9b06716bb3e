"""The many-seed study: trained once, resumed, and made again from its rows."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paretofoil.agents.store import read_agent
from paretofoil.core.answer import Status
from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import CHECKPOINT
from paretofoil.pcn.train import Trainer
from paretofoil.search import CFZoo, Exact
from paretofoil.study import Case, Row
from paretofoil_paper import PAGES, SEPARATE, Budgets, Plan
from paretofoil_paper.differences import feasible_cases
from paretofoil_paper.pages.agents import page
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.seed_agents import seed_agent
from paretofoil_paper.seeds import LONG, all_seed_rows, as_run_rows, searches_of, seed_rows, seed_tables

TINY = {"steps": 600, "warmup": 20, "polish_rounds": 1, "polish_updates": 20, "hidden": 8, "updates": 5}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Two small agents of one environment, with small budgets."""
    budgets = Budgets(stress=CFZoo(30, 31), as_run=CFZooAsRun(61, 60, 4), exact=Exact(max_boxes=500))
    agents = {"reward-line": "reward-line"}
    return Plan(tmp_path, agents, workers=1, budgets=budgets, agent_seeds=(10, 11), training=TINY)


def test_an_agent_that_is_there_is_not_trained_again(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = seed_agent(plan, "reward-line", 10)
    assert read_agent(folder).name == "reward-line-10"
    assert read_agent(folder).provenance["seed"] == 10
    assert not (folder / CHECKPOINT).exists()
    monkeypatch.setattr(Trainer, "run", lambda *_, **__: pytest.fail("trained again"))
    assert seed_agent(plan, "reward-line", 10) == folder


def test_a_training_that_was_killed_goes_on_from_its_checkpoint(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after its first iteration, it ends with the same weights as one that was left alone."""
    whole = read_agent(seed_agent(replace(plan, out=plan.out / "other"), "reward-line", 10))
    explore = Trainer.explore
    iterations: list[int] = []

    def killed(trainer: Trainer) -> object:
        if iterations:
            trainer.save(plan.out / "agents" / "reward-line-10" / CHECKPOINT)
            raise SystemExit
        iterations.append(1)
        return explore(trainer)

    monkeypatch.setattr(Trainer, "explore", killed)
    with pytest.raises(SystemExit):
        seed_agent(plan, "reward-line", 10)
    monkeypatch.undo()
    monkeypatch.setattr("paretofoil_paper.seed_agents.make_trainer", lambda *_: pytest.fail("began anew"))
    gone_on = read_agent(seed_agent(plan, "reward-line", 10))
    for name, array in gone_on.policy.arrays().items():  # type: ignore[attr-defined]
        assert (array == whole.policy.arrays()[name]).all(), name  # type: ignore[attr-defined]


def test_an_agent_of_other_settings_is_not_taken_for_this_one(plan: Plan) -> None:
    seed_agent(plan, "reward-line", 10)
    with pytest.raises(InvalidInput, match="trained with hidden = 9, got hidden = 8"):
        seed_agent(replace(plan, training={**TINY, "hidden": 9}), "reward-line", 10)
    shutil.move(plan.out / "agents" / "reward-line-10", plan.out / "agents" / "reward-line-11")
    with pytest.raises(InvalidInput, match="trained with seed = 11, got seed = 10"):
        seed_agent(plan, "reward-line", 11)


@pytest.mark.long
def test_the_report_is_made_again_from_its_rows_without_any_agent(plan: Plan) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    from paretofoil.study.parquet import export_parquet

    report = page(plan)
    kept = list((plan.out / "rows" / "seeds").glob("*.sqlite"))
    assert {path.stem for path in kept} == {"reward-line", "reward-line-as-run"}
    for path in kept:
        export_parquet(path, path.with_suffix(".parquet"), answers=False)
        path.unlink()
    shutil.rmtree(plan.out / "agents")
    recorded = replace(plan, recorded=True)
    assert page(recorded).to_markdown() == report.to_markdown()
    assert not (plan.out / "agents").exists()
    with pytest.raises(InvalidInput, match="rows of the agents reward-line-10, reward-line-12"):
        seed_rows(replace(recorded, agent_seeds=(10, 12)), "reward-line")
    with pytest.raises(InvalidInput, match="choose a new file for a new study"):
        seed_rows(replace(recorded, budgets=Budgets(stress=CFZoo(30, 34))), "reward-line")
    with pytest.raises(InvalidInput, match="choose a new file for a new study"):
        as_run_rows(replace(recorded, budgets=Budgets(as_run=CFZooAsRun(64, 60, 4))), "reward-line")


@pytest.mark.long
def test_each_table_counts_the_cases_of_all_agents(plan: Plan) -> None:
    rows = seed_rows(plan, "reward-line")
    zoo = [row for row in rows if row.search == "cf-zoo"]
    tables = {table.title.split(",")[0].split(":")[0]: table for table in seed_tables(plan, all_seed_rows(plan))}
    assert len({row.case.agent for row in zoo}) == 2
    run = [row for row in as_run_rows(plan, "reward-line") if row.search == "cf-zoo:as-run"]
    assert {row.case for row in run} == {row.case for row in zoo}
    found = sum(row.found for row in run)
    line = tables["Stress test of CF-ZOO as run"].rows[0]
    assert (line[1:3], line[4].successes) == ((2, len(run)), found)
    assert tables["The effect of seeding"].rows[0][1] == len(zoo)
    possible = len(feasible_cases(rows))
    assert {line[2] for line in tables["Recovery of feasible cases"].rows} == {possible}


@pytest.mark.long
def test_where_chance_plays_the_papers_row_is_of_realised_returns_and_expected_ones_stand_beneath(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = replace(plan, agents={name: name for name in ("reward-line", "breakable-bottles")})
    folder = seed_agent(asked, "breakable-bottles-realised", 10)
    assert read_agent(folder).environment.name == "breakable-bottles"
    assert read_agent(folder).provenance["config"]["returns"] == "realised"
    assert read_agent(seed_agent(asked, "breakable-bottles", 10)).provenance["config"]["returns"] == "expected"
    kinds = ("reward-line", "breakable-bottles-realised", "breakable-bottles")
    rows = {kind: [made_up(f"{kind}-10", foil) for foil in range(i + 1)] for i, kind in enumerate(kinds)}
    reached = [made_up("reward-line-10", 0, search) for search in searches_of(plan)]
    monkeypatch.setattr("paretofoil_paper.seeds.as_run_rows", lambda _, kind: rows[kind])
    monkeypatch.setattr("paretofoil_paper.seeds.seed_rows", lambda *_: reached)
    ten = replace(asked, agent_seeds=(10,))
    together, _, by_seed, *_ = seed_tables(ten, all_seed_rows(ten))
    names = ["Reward-Line", "B-Bottles", "B-Bottles, expected returns"]
    assert [line[0] for line in by_seed.rows] == names
    assert [(line[0], line[2], line[-2]) for line in together.rows] == [
        *(("Reward-Line", 1, 201), ("B-Bottles", 2, 8), ("Total", 3, 209), ("B-Bottles, expected returns", 3, None)),
    ]


def made_up(agent: str, foil: int, search: str = "cf-zoo:as-run") -> Row:
    return Row(Case(agent, 0, 0, foil), search, "", Status.FOUND, 0.5, 1, "", 0.0)


def test_possible_is_what_the_exact_search_holds_a_command_for() -> None:
    kinds = {0: Status.PROVEN_CLOSEST, 1: Status.FOUND, 2: Status.PROVEN_INFEASIBLE, 3: Status.NOT_FOUND}
    rows = [Row(Case("a-10", 0, 0, foil), "exact", "", kind, None, 1, "", 0.0) for foil, kind in kinds.items()]
    other = Row(Case("a-10", 0, 0, 3), "cf-zoo", "", Status.FOUND, 0.5, 1, "", 0.0)
    assert {case.foil for case in feasible_cases([*rows, other])} == {0, 1}


def test_no_seed_of_the_study_is_one_that_anything_was_tuned_on() -> None:
    seeds = Plan(Path(".")).agent_seeds
    assert len(seeds) >= 5
    assert not set(seeds) & set(range(4))


def test_local_search_has_the_queries_of_cf_zoo_and_the_long_one_more(plan: Plan) -> None:
    searches = searches_of(Plan(plan.out))
    assert searches[LONG].max_queries == 4 * searches["local-zoo"].max_queries  # type: ignore[attr-defined]
    assert searches["local-zoo"].max_queries == searches["cf-zoo"].max_queries  # type: ignore[attr-defined]


def test_what_takes_hours_is_not_part_of_all() -> None:
    assert "agents" in SEPARATE
    assert set(SEPARATE) < set(PAGES)
