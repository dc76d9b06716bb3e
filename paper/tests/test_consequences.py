"""Consequences: commands issued together have the same outcomes as alone, and the page follows from its rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies import saved_agent, small_agent

from paretofoil.agents import Agent, load_agent
from paretofoil.agents.agent import rollouts
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.attainable import consequence
from paretofoil.search import CFZoo, Exact
from paretofoil.study import enumerate_cases
from paretofoil_paper import Budgets, Plan
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.consequences import issued_answers, other_seed_answers, other_seed_table, outcomes_table
from paretofoil_paper.issued import AnswerRollouts, Issue, IssuedAnswer, issue_all
from paretofoil_paper.other_seed import ask_other_seed
from paretofoil_paper.stress import stress_rows

TINY = {"steps": 600, "warmup": 20, "polish_rounds": 1, "polish_updates": 20, "hidden": 8, "updates": 5}


def some_issues(agent: Agent, count: int) -> list[Issue]:
    """Return random commands at random steps of the agent's episodes."""
    generator = np.random.default_rng(0)
    episodes = rollouts(agent, agent.front)
    chosen = [episodes[generator.integers(len(episodes))] for _ in range(count)]
    times = [int(generator.integers(len(episode))) for episode in chosen]
    commands = generator.uniform(agent.space.low, agent.space.high, (count, agent.space.dim))
    return [Issue(*one) for one in zip(chosen, times, commands, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("name", ["deep-sea-treasure", "branch-path", "resource-gathering"])
def test_many_commands_issued_together_lead_where_each_leads_alone(name: str) -> None:
    agent = load_agent(name)
    issues = some_issues(agent, 20)
    for issue, end in zip(issues, issue_all(agent, issues), strict=True):
        alone = consequence(agent, issue.decision, issue.command)
        assert end.achieved == pytest.approx(alone.achieved)
        assert end.error == pytest.approx(alone.error)
        assert end.truncated == pytest.approx(1 - alone.finished)


def test_an_original_command_that_is_issued_again_changes_nothing() -> None:
    agent = load_agent("deep-sea-treasure")
    episodes = rollouts(agent, agent.front)
    issues = [Issue(episode, time, episode[time].command) for episode in episodes for time in (0, len(episode) - 1)]
    ends = issue_all(agent, issues)
    assert all((end.achieved == issue.episode.achieved).all() for issue, end in zip(issues, ends, strict=True))


def test_a_command_for_one_step_is_followed_by_the_other() -> None:
    """One that turns back to the original at once, after the same action, ends as the original does."""
    agent = load_agent("deep-sea-treasure")
    episode, other = rollouts(agent, agent.front[[-1, 5]])
    assert episode[0].action == other[0].action
    issues = [Issue(episode, 0, other.command), Issue(episode, 0, other.command, episode.command)]
    kept, turned = issue_all(agent, issues)
    assert kept.achieved.tolist() == other.achieved.tolist()
    assert turned.achieved.tolist() == episode.achieved.tolist() != other.achieved.tolist()


def test_the_one_step_is_taken_under_the_command_that_is_issued() -> None:
    """The least treasure is one step away, and ends the episode before anything else can be asked for."""
    agent = load_agent("deep-sea-treasure")
    least, most = rollouts(agent, agent.front[[0, -1]])
    assert len(least) == 1
    [turned] = issue_all(agent, [Issue(most, 0, least.command, most.command)])
    assert turned.achieved.tolist() == least.achieved.tolist()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A random network in place of Branch-Path's agent, and another one, hardly trained, of another seed."""
    budgets = Budgets(stress=CFZoo(60, 61), exact=Exact(max_boxes=2000))
    agents = {"branch-path": str(saved_agent(tmp_path))}
    return Plan(tmp_path / "out", agents, workers=1, budgets=budgets, training=TINY)


def found_by_exact(plan: Plan) -> list:
    return [row for row in proof_rows(plan) if row.search == "exact" and row.found]


@pytest.mark.long
def test_noise_that_is_nothing_keeps_every_foil_and_much_does_not(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = found_by_exact(plan)
    monkeypatch.setattr("paretofoil_paper.issued.NOISE", {"small": 0.0, "large": 100.0})
    measured: Sequence[IssuedAnswer] = list(AnswerRollouts(small_agent(), rows, 0).measure())
    assert [(one.front, one.step, one.foil) for one in measured] == [
        (row.case.front, row.case.step, row.case.foil) for row in rows
    ]
    assert all(one.takes_foil and one.command_noise_small == 1 for one in measured)
    assert np.mean([one.command_noise_large for one in measured]) < 0.9
    assert {one.state_noise_small for one in measured} == {None}


@pytest.mark.long
def test_what_is_asked_for_counts_what_was_collected(plan: Plan) -> None:
    rows = found_by_exact(plan)
    answered = AnswerRollouts(small_agent(), rows, 0)
    for row, one in zip(rows, answered.measure(), strict=True):
        whole = row.full_answer().command + answered.episodes[row.case.front][row.case.step].collected
        nearest = min(np.linalg.norm((whole - point) / 3.0) for point in small_agent().front)
        assert one.requested_off_front == pytest.approx(nearest)


@pytest.mark.long
def test_the_page_is_made_again_from_its_rows_without_training(plan: Plan) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    from paretofoil.study.parquet import export_parquet

    answers = [row for row in stress_rows(plan) + proof_rows(plan) if row.search in ("cf-zoo", "exact")]
    rows, other = issued_answers(plan, answers), other_seed_answers(plan, [r for r in answers if r.search == "exact"])
    assert len(other_seed_table(plan, other).rows) == 1
    for study in plan.out.glob("rows/*.sqlite"):
        export_parquet(study, study.with_suffix(".parquet"))
        study.unlink()
    (plan.out / "agents").rename(plan.out / "gone")
    recorded = replace(plan, recorded=True)
    assert issued_answers(recorded, []) == rows
    assert other_seed_answers(recorded, []) == other
    assert not (plan.out / "agents").exists()
    with pytest.raises(InvalidInput, match="choose a new file for a new study"):
        issued_answers(replace(recorded, budgets=replace(plan.budgets, stress=CFZoo(60, 64))), [])


@pytest.mark.long
def test_every_answer_is_measured_once(plan: Plan) -> None:
    answers = [row for row in stress_rows(plan) + proof_rows(plan) if row.search in ("cf-zoo", "exact")]
    rows = issued_answers(plan, answers)
    assert len(rows) == sum(row.found for row in answers) > 0
    table = outcomes_table(plan, rows)
    assert [line[2] for line in table.rows if line[0] == "All"] == [
        sum(row.search == search for row in rows) for search in ("cf-zoo", "exact")
    ]


@pytest.mark.long
def test_an_agent_that_is_asked_again_gives_the_same_answers(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil_paper.other_seed.seed_agent", lambda plan, environment, _: plan.agents[environment])
    rows = [row for row in proof_rows(plan) if row.search == "exact"]
    again = list(ask_other_seed(plan, rows))
    assert [one.distance for one in again] == [row.closest_distance for row in rows]
    assert not any(one.already_foil for one in again)
    assert [one.other_distance for one in again] == pytest.approx([row.closest_distance for row in rows])
    assert {one.transfers for one in again if one.distance is not None} == {True}
    assert {one.transfers for one in again if one.distance is None} <= {None}


@pytest.mark.long
def test_an_agent_that_takes_the_foil_anyway_is_not_asked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that always goes the first valid way, whatever it is asked for."""
    first = replace(small_agent(), policy=lambda states, commands: np.tile([3.0, 2.0, 1.0, 0.0], (len(commands), 1)))
    monkeypatch.setattr("paretofoil_paper.other_seed.seed_agent", lambda *_: "first")
    monkeypatch.setattr("paretofoil_paper.other_seed.load_agent", lambda _: first)
    searched = replace(plan, budgets=replace(plan.budgets, exact=CFZoo(20, 21)))  # such a policy is a black box
    decisions = [decision for _, decision in enumerate_cases(small_agent())]
    rows = [row for row in proof_rows(plan) if row.search == "exact"]
    again = list(ask_other_seed(searched, rows))
    assert [one.already_foil for one in again] == [
        row.case.foil == decision.valid_actions[0] for row, decision in zip(rows, decisions, strict=True)
    ]
    assert any(one.already_foil for one in again)
    assert {one.other_distance for one in again} == {None}
