"""Attainable commands: each answer is measured once, and the page follows from its rows."""

from dataclasses import replace

import numpy as np
import pytest
from studies import saved_agent, small_agent

from paretofoil.agents import Agent
from paretofoil.agents.agent import rollouts
from paretofoil.core.decision import Decision
from paretofoil.explanation.attainable import consequence
from paretofoil.search import CFZoo, Exact
from paretofoil.study import Row
from paretofoil_paper import Budgets, Plan
from paretofoil_paper.attainable import attainable_answers, attainable_table, continuation_table, unrounded_answers
from paretofoil_paper.audit import proof_rows

NEAR = 0.01


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A random network in place of Branch-Path's agent."""
    folder = tmp_path_factory.mktemp("attained")
    budgets = Budgets(stress=CFZoo(60, 61), exact=Exact(max_boxes=2000))
    return Plan(folder / "out", {"branch-path": str(saved_agent(folder))}, workers=1, budgets=budgets)


def answers(plan: Plan) -> list[Row]:
    return [row for row in proof_rows(plan) if row.search == "exact" and row.found]


def lands(agent: Agent, decision: Decision, command: np.ndarray) -> bool:
    achieved = consequence(agent, decision, command).achieved
    return bool(np.linalg.norm((achieved - agent.front) / agent.space.scale, axis=1).min() <= NEAR)


def chosen(agent: Agent, decision: Decision, command: np.ndarray) -> int:
    scores = agent.policy.log_probs(decision.state[None], command[None])[0]
    return max(decision.valid_actions, key=lambda action: scores[action])


@pytest.mark.long
def test_every_answer_is_measured_once_and_in_its_place(plan: Plan) -> None:
    asked = answers(plan)
    rows = attainable_answers(plan, asked)
    assert [(r.front, r.step, r.foil) for r in rows] == [(a.case.front, a.case.step, a.case.foil) for a in asked]
    assert [r.distance for r in rows] == pytest.approx([a.full_answer().quoted.distance for a in asked])
    assert all(r.tried >= 1 for r in rows)
    assert {r.attainable for r in rows} == {True, False}
    for row in rows:
        assert (
            row.attainable_distance is None or row.attainable_distance >= 0.9 * row.distance
        )  # what is quoted is rounded
        assert row.attainable_distance == row.distance if row.delivers else True


def test_the_authors_way_to_continue_is_tried_in_its_order(plan: Plan) -> None:
    agent = small_agent()
    episodes = rollouts(agent, agent.front)
    ways = set()
    for row, answer in zip(attainable_answers(plan, answers(plan)), answers(plan), strict=True):
        decision, command = episodes[row.front][row.step], answer.full_answer().command
        front = [point - decision.collected for point in agent.front]
        taken = any(lands(agent, decision, c) for c in front if chosen(agent, decision, c) == row.foil)
        ways.add(row.continuation)
        if taken or row.continuation == "front":
            assert taken == (row.continuation == "front")
        elif lands(agent, decision, command) or row.continuation == "answer":
            assert lands(agent, decision, command) == (row.continuation == "answer")
    assert len(ways) > 1


@pytest.mark.long
def test_the_page_counts_its_rows_and_is_made_again_from_them(plan: Plan) -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    from paretofoil.study.parquet import export_parquet

    rows, unrounded = attainable_answers(plan, answers(plan)), unrounded_answers(plan, answers(plan))
    known, continued = attainable_table(plan, rows, unrounded), continuation_table(plan, rows)
    *_, everything = known.rows
    assert everything[:2] == ("All", len(rows))
    assert [cell.successes for cell in everything[2:5]] == [
        sum(row.delivers for row in rows),
        sum(row.delivers for row in unrounded),
        sum(row.attainable for row in rows),
    ]
    *_, everything = continued.rows
    assert sum(everything[2:5]) == everything[5].successes == sum(row.continuation is not None for row in rows)
    for study in plan.out.glob("rows/*.sqlite"):
        export_parquet(study, study.with_suffix(".parquet"))
    recorded = replace(plan, recorded=True)
    assert attainable_answers(recorded, []) == rows
    assert unrounded_answers(recorded, []) == unrounded


@pytest.mark.long
def test_an_unrounded_answer_delivers_if_its_own_episode_does(plan: Plan) -> None:
    agent = small_agent()
    episodes = rollouts(agent, agent.front)
    for row, answer in zip(unrounded_answers(plan, answers(plan)), answers(plan), strict=True):
        decision, closest = episodes[row.front][row.step], answer.full_answer().closest
        assert closest is not None
        achieved = consequence(agent, decision, closest.command).achieved
        missed = np.abs(achieved - closest.command - decision.collected) / agent.space.scale
        assert row.delivers == bool((missed <= NEAR).all())
        assert row.distance == pytest.approx(closest.distance)
