"""Studies ask for outcomes of episodes, are resumed, and are exported like any other study."""

from pathlib import Path

import pytest

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.answer import Status
from paretofoil.study import CaseRule, Study, StudyProgress, make_study, read_rows, resume_study, run_study
from paretofoil.study.parquet import export_parquet, read_parquet

OUTCOMES = ("A >= 3", "A >= 100", "takes left")
RULE = CaseRule(commands=2, steps=2, outcomes=OUTCOMES)


def study_of(name: str = "branch-path") -> Study:
    return make_study([name], ["exact"], RULE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "whole.sqlite"
    run_study(study_of(), path, workers=1)
    return path


def test_each_row_is_the_answer_to_the_outcome_of_its_number(whole: Path) -> None:
    agent, rows = pf.load_agent("branch-path"), list(read_rows(whole))
    episodes = rollouts(agent, agent.front)
    assert {row.case.foil for row in rows} >= {1}
    for row in rows:
        decision, text = episodes[row.case.front][row.case.step], OUTCOMES[row.case.foil]
        answer = pf.explain(agent, decision, pf.outcome(text))
        assert row.full_answer().question.outcome == text
        assert row.status is answer.status
        assert row.closest_distance == (None if answer.closest is None else answer.closest.distance)
    assert {row.status for row in rows if row.case.foil == 1} == {Status.PROVEN_INFEASIBLE}


def test_an_outcome_that_the_episode_meets_is_no_case(whole: Path) -> None:
    agent, asked = pf.load_agent("branch-path"), {row.case for row in read_rows(whole)}
    met = 0
    for front in (0, len(agent.front) - 1):
        meets = bool(agent.achieved[front][0] >= 3)
        met += meets
        assert any(case.front == front and case.foil == 0 for case in asked) != meets
    assert met


def test_a_study_that_was_stopped_is_resumed_and_exported(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"

    def stop(progress: StudyProgress) -> None:
        if progress.asked == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study_of(), path, workers=1, show=stop)
    assert 0 < len(list(read_rows(path))) < len(list(read_rows(whole)))
    resume_study(path, workers=1)
    answers = [(row.case, row.status, row.answer) for row in read_rows(path)]
    assert answers == [(row.case, row.status, row.answer) for row in read_rows(whole)]
    pytest.importorskip("pyarrow", reason="Parquet files need the extra [parquet]")
    export_parquet(path, tmp_path / "study.parquet")
    exported = read_parquet(tmp_path / "study.parquet")
    assert [(row.case, row.status, row.answer) for row in exported.rows] == answers
    assert tuple(exported.configuration["rule"]["outcomes"]) == OUTCOMES


def test_other_searches_and_outcomes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(pf.InvalidInput, match="only the search exact"):
        make_study(["branch-path"], ["exact", "cf-zoo"], RULE)
    with pytest.raises(pf.InvalidInput, match="clauses such as"):
        make_study(["branch-path"], ["exact"], CaseRule(outcomes=("treasure >= 1",)))
