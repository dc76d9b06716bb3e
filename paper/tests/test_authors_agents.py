"""What the results say about the authors' trained agents is what these agents answer."""

import os
from pathlib import Path

import numpy as np
import pytest

import paretofoil as pf
from paretofoil_paper.authors_data import THEIR_AGENTS
from paretofoil_paper.differences import ask_as_run
from paretofoil_paper.examples import EXAMPLES, Example, answers_of, find_decision

THEIRS = Path(os.environ.get("PARETOFOIL_AUTHORS", Path(__file__).parents[3] / "shared" / "authors"))
pytestmark = pytest.mark.long
absent = pytest.mark.skipif(not THEIRS.is_dir(), reason="the authors' checkpoints are GPLv3, and not shipped")


@absent
@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.checkpoint], ids=lambda e: e.title)
def test_what_is_told_of_the_authors_agents_is_what_they_answer(example: Example) -> None:
    file = f"{example.checkpoint}_achievable_within_1pct.txt"
    agent = pf.import_agent(THEIRS / f"{example.checkpoint}.pt", example.agent, front=THEIRS / file)
    found = answers_of(example, agent)
    assert {by: [float(f"{n:.4g}") for n in command] for by, command in found.items()} == {
        by: list(command) for by, command in example.authors_agent.items()
    }
    state = find_decision(example, agent).state
    shares = np.exp(agent.policy.log_probs(state[None], np.array([example.paper_command])))[0]
    assert f"{100 * shares[agent.actions.index(example.foil)]:.1f} %" in example.about_authors_agent


@absent
@pytest.mark.parametrize(("name", "environment"), [("branch-path_R", "branch-path"), ("dst_R", "deep-sea-treasure")])
def test_what_is_told_of_the_authors_agents_in_the_stress_test_is_what_they_give(name: str, environment: str) -> None:
    file = THEIRS / f"{name}_achievable_within_1pct.txt"
    agent = pf.import_agent(THEIRS / f"{name}.pt", environment, front=file)
    assert ask_as_run(agent) == THEIR_AGENTS[environment]
