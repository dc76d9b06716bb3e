"""The worked examples have the paper's states, whether or not our agents reach them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paretofoil.agents import load_agent
from paretofoil.search import CFZoo, Exact
from paretofoil_paper import Budgets, Plan
from paretofoil_paper.examples import EXAMPLES, Example, examples_table, find_decision, reaches_state

SMALL = Budgets(comparison={"cf-zoo": CFZoo(60, 61), "exact": Exact(max_boxes=2000)})
SEA, BRANCH = (next(e for e in EXAMPLES if e.agent == name) for name in ("deep-sea-treasure", "branch-path"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.agent)
def test_each_example_is_posed_in_the_papers_state_at_its_moment_under_its_command(example: Example) -> None:
    agent = load_agent(example.agent)
    decision = find_decision(example, agent)
    assert np.array_equal(decision.state, agent.environment.encode(np.array(example.observation)))
    assert decision.command.tolist() == list(example.remaining)
    assert np.allclose(decision.collected + decision.command, example.command)
    assert (decision.step, decision.snapshot["elapsed"]) == (example.step, example.step)
    names = [agent.actions[action] for action in decision.valid_actions]
    assert {example.chosen, example.foil} <= set(names)


def test_an_agent_comes_by_only_if_it_is_there_at_that_moment() -> None:
    agent = load_agent("branch-path")
    assert reaches_state(BRANCH, agent)
    assert not reaches_state(replace(BRANCH, step=3), agent)
    assert not reaches_state(replace(BRANCH, step=99), agent)
    assert not reaches_state(replace(BRANCH, remaining=(2.0, 1.0)), agent)


@pytest.mark.long
def test_the_table_says_where_each_figure_comes_from(tmp_path: Path) -> None:
    table = examples_table(Plan(tmp_path, {"deep-sea-treasure": "deep-sea-treasure"}, budgets=SMALL))
    found = {row[2]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    searches = ["CF-ZOO as run", "exact", "exact, sparse"]
    theirs = [f"authors' agent, our search: {search}" for search in searches]
    assert list(found) == ["paper", "authors' files: White-CW", *theirs, "CF-ZOO", "exact", "exact, sparse"]
    assert found["paper"]["in the paper's units"] == pytest.approx(0.0136, abs=5e-5)  # as the authors' own file has it
    assert [found[by]["distance"] for by in ("paper", *theirs)] == [None] * 4


@pytest.mark.long
def test_an_agent_that_already_takes_the_foil_is_asked_for_the_papers_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned = replace(BRANCH, chosen=BRANCH.foil, foil=BRANCH.chosen, authors_agent={})
    monkeypatch.setattr("paretofoil_paper.examples.EXAMPLES", (turned,))
    table = examples_table(Plan(tmp_path, {"branch-path": "branch-path"}, budgets=SMALL))
    foils = {row[2]: row[1] for row in table.rows}
    assert foils["paper"] == turned.foil
    assert foils["exact"] == turned.chosen
