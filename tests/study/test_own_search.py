"""A search that the user registers: a dataclass and one call of `register_search`."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from answers import changed
from policies import random_pcn, random_question
from studies import rows_without_timings, saved_agent
from typer.testing import CliRunner

from paretofoil.cli import app
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Stop
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.explanation.ask import ask
from paretofoil.search import registry
from paretofoil.search.budget import Budget
from paretofoil.study import CaseRule, make_study, read_about, resume_study, run_study

NAME = "one-by-one"


@dataclass(frozen=True)
class OneByOne(Search):
    """Changes one objective at a time, in equal steps towards either edge of the region."""

    steps: int = 30
    seed: int = 0

    @property
    def name(self) -> str:
        return NAME

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        budget = Budget(batch, limits)
        for share in np.linspace(0.0, 1.0, self.steps + 1)[1:]:
            for edge in (share * batch.low, share * batch.high):  # (questions, d)
                changes = edge[:, None, :] * np.eye(edge.shape[1])  # (questions, d, d)
                who = np.arange(batch.num_questions).repeat(edge.shape[1])
                budget.ask(who, changes.reshape(len(who), -1), "steps")
        return budget.findings()


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a copy of the registry, so that no other test meets it."""
    monkeypatch.setattr(registry, "_methods", dict(registry._methods))
    registry.register_search(NAME, OneByOne, "changes one objective at a time")


def questions() -> list[Question]:
    policy = random_pcn(3, objectives=3)
    return [random_question(policy, seed) for seed in range(8)]


def test_the_command_line_lists_it() -> None:
    runner = CliRunner(env={"COLUMNS": "200"})
    assert NAME in runner.invoke(app, ["explain", "--help"]).output
    asked = ["explain", "branch-path", "--command", "3,1", "--at", "1", "--foil", "down", "--search", NAME]
    assert f"by {NAME}" in runner.invoke(app, asked).output


def test_its_name_is_taken() -> None:
    with pytest.raises(InvalidInput, match="a name that is not registered"):
        registry.register_search(NAME, OneByOne, "again")


def test_its_foils_truly_win_inside_the_region() -> None:
    answers = ask(questions(), OneByOne())
    assert any(found.found for found in answers)
    for question, found in zip(questions(), answers, strict=True):
        if not found.found:
            continue
        scores = question.policy.log_probs(question.state[None], found.command[None])[0]
        rivals = np.delete(scores, question.foil)
        assert scores[question.foil] - rivals.max() >= question.kappa - 1e-9
        assert ((found.command >= question.low) & (found.command <= question.high)).all()
        assert np.count_nonzero(found.change) == 1
        assert found.quoted.distance == pytest.approx(np.linalg.norm(found.change / question.space.scale))


def test_its_answer_is_the_same_alone_and_in_a_batch() -> None:
    for question, together in zip(questions(), ask(questions(), OneByOne()), strict=True):
        [alone] = ask([question], OneByOne())
        assert changed(alone, seconds=0.0).to_json() == changed(together, seconds=0.0).to_json()


def test_it_respects_a_limit_of_queries() -> None:
    batch = QuestionBatch(questions())
    findings = OneByOne().run(batch, Limits(queries=20))
    assert {sum(batch.queries(row).values()) for row in range(batch.num_questions)} == {20}
    assert {finding.stop for finding in findings} == {Stop.OUT_OF_QUERIES}


def test_a_study_with_it_has_the_same_rows_on_one_worker_and_on_two(tmp_path: Path) -> None:
    study = make_study([saved_agent(tmp_path)], [NAME], CaseRule(steps=4))
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    run_study(study, one, workers=1)
    run_study(study, two, workers=2, chunk=5)
    assert rows_without_timings(one) == rows_without_timings(two)
    assert {row[1] for row in rows_without_timings(one)} == {NAME}


def test_a_study_with_it_is_resumed_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    run_study(make_study([saved_agent(tmp_path)], {"mine": OneByOne(steps=7)}, CaseRule(steps=4)), path, workers=1)
    assert read_about(path)["configuration"]["searches"]["mine"] == {"class": "OneByOne", "steps": 7, "seed": 0}
    whole = rows_without_timings(path)
    connection = sqlite3.connect(path)
    with connection:
        deleted = connection.execute("DELETE FROM answer WHERE step = 1").rowcount
    connection.close()
    assert resume_study(path, workers=1).asked == deleted > 0
    assert rows_without_timings(path) == whole
