"""What the results say about the authors' trained agents is what these agents answer."""

import os
from pathlib import Path

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.question import QuestionBatch
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper import Plan
from paretofoil_paper.examples import EXAMPLES, Example, answers_of, find_decision
from paretofoil_paper.others import other_rows
from paretofoil_paper.protocols import PAPER_STRESS
from paretofoil_paper.searches import CFZooAsRun

THEIRS = Path(os.environ.get("PARETOFOIL_AUTHORS", Path(__file__).parents[3] / "shared" / "authors"))
RESULTS = Path(__file__).parents[1] / "results"
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
def test_rows_of_an_agent_of_the_authors_are_what_it_gives() -> None:
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    rows = [r for r in other_rows(Plan(RESULTS, recorded=True)).stress if r.case.agent == "authors-branch-path"]
    front = THEIRS / "branch-path_R_achievable_within_1pct.txt"
    agent = pf.import_agent(THEIRS / "branch-path_R.pt", "branch-path", front=front)
    questions = [make_case_question(agent, *case, box="paper") for case in enumerate_cases(agent, PAPER_STRESS)]
    found = [finding.scaled_change is not None for finding in CFZooAsRun.preset("stress").run(QuestionBatch(questions))]
    assert [row.found for row in rows if row.search == "cf-zoo:as-run"] == found
    assert len(found) == 44
