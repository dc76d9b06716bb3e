"""What the page on the reproduction says about numbers of cases, ours and the authors'."""

import re
from pathlib import Path

import pytest

from paretofoil.agents import load_agent
from paretofoil.agents.agent import rollouts
from paretofoil.study.case import enumerate_cases
from paretofoil_paper import Plan
from paretofoil_paper.authors_data import PUBLISHED
from paretofoil_paper.paper_tables import ENVIRONMENTS, STRESS

PAGE = Path(__file__).parents[2] / "docs" / "reproduce-the-paper.md"
AGENTS = Plan(PAGE.parent).as_run


def said() -> dict[str, list[str]]:
    """By environment: our front, moments and cases, then theirs."""
    lines = re.findall(
        r"^\| ([A-Z][\w -]+?)(?:, realised returns)? \|(( [\d, to]+ \|){6})$", PAGE.read_text(), re.MULTILINE
    )
    return {name.lower().replace(" ", "-"): [cell.strip() for cell in rest.split("|")[:-1]] for name, rest, _ in lines}


def moments(lengths: list[int]) -> str:
    low, high = min(lengths), max(lengths)
    return f"{low}" if low == high else f"{low} to {high}"


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_our_front_moments_and_cases_are_those_of_the_agent(environment: str) -> None:
    agent = load_agent(AGENTS[environment])
    lengths = [len(episode.decisions) for episode in rollouts(agent, agent.front, seed=0)]
    cases = sum(1 for _ in enumerate_cases(agent))
    assert said()[environment][:3] == [f"{len(agent.front)}", moments(lengths), f"{cases:,}"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_their_front_and_cases_are_published(environment: str) -> None:
    front, _, cases = said()[environment][3:]
    assert (front, cases) == (f"{PUBLISHED[environment].fronts}", f"{STRESS[environment].cases:,}")


def test_where_fronts_are_of_one_size_and_nothing_is_chance_cases_agree_within_8_percent() -> None:
    alike = [name for name, cells in said().items() if cells[0] == cells[3] != "1"]
    assert alike == ["branch-path", "collect-two", "deep-sea-treasure", "minecart", "reward-line"]
    for name in alike:
        ours, theirs = (int(said()[name][column].replace(",", "")) for column in (2, 5))
        assert abs(ours / theirs - 1) < 0.08
