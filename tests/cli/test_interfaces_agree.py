"""The library, the command line, the page and studies give the same answers."""

import json

import pytest
from weighing import agent

import paretofoil as pf
from paretofoil.study import CaseRule, make_study, read_about, read_rows, resume_study, run_study
from paretofoil.web.models import AnswerRequest, FlipMapRequest
from paretofoil.web.tasks import run_task

COMMAND, FOIL = [0.3, 0.7], "right"


def told(answer):
    return answer["status"], answer["question"]["kappa"], answer["quoted"] and answer["quoted"]["distance"]


def by_the_page(kind, asked):
    fields = {"agent": "weighing:agent", "command": COMMAND}
    task = {"kind": kind, "address": "weighing:agent", "request": asked(**fields)}
    return run_task(task, lambda progress, known: None)


def ask_for_a_flip_map(**fields):
    return FlipMapRequest(**fields, steps=[0]).model_dump(mode="json")


def ask_for_an_answer(**fields):
    foil = agent.actions.index(FOIL)
    return {**AnswerRequest(**fields, step=0, foil=foil).model_dump(mode="json"), "foil": foil}


@pytest.fixture
def expected():
    answer = pf.explain(agent, pf.rollout(agent, COMMAND)[0], foil=FOIL)
    assert answer.found
    assert 0 < answer.question.kappa < 0.001, "1 % of what lies between the values"
    return told(answer.to_dict())


def test_command_line_library_and_page_use_the_same_default_kappa_for_values(run, expected):
    flips = pf.explain_episode(agent, COMMAND, steps=[0]).to_dict()
    typed = run("explain", "weighing:agent", "--command", "0.3,0.7", "--foil", FOIL, "--json").out
    along = run("episode", "weighing:agent", "--command", "0.3,0.7", "--steps", "0", "--json", "--quiet").out
    maps = [flips, json.loads(along), by_the_page("flip-map", ask_for_a_flip_map)["flip_map"]]
    answers = [a for m in maps for a in m["answers"] if m["actions"][a["question"]["foil"]] == FOIL]
    answers += [*json.loads(typed)["answers"], by_the_page("answer", ask_for_an_answer)["answer"]]
    assert [told(answer) for answer in answers] == [expected] * 5


def test_studies_and_episodes_use_the_same_default_kappa_for_values(tmp_path):
    study, path = make_study([agent], ["auto"], CaseRule(steps=1)), tmp_path / "s.sqlite"
    run_study(study, path, workers=1)
    flips = [a for command in agent.front for a in pf.explain_episode(agent, command, steps=[0]).to_dict()["answers"]]
    assert all(0 < answer["question"]["kappa"] < 0.001 for answer in flips)
    assert [told(json.loads(row.answer)) for row in read_rows(path)] == [told(answer) for answer in flips]
    assert read_about(path)["configuration"]["kappa"] is None
    assert run_study(study, path, workers=1).asked == 0, "it is the same study when it is taken up again"


@pytest.mark.parametrize(("typed", "kappa"), [((), 0.05), (("--kappa", "0.2"), 0.2)])
def test_study_run_takes_kappa_or_uses_the_default(run, tmp_path, typed, kappa):
    path = tmp_path / "s.sqlite"
    line = ("--search", "nearest-front", "--commands", "1", "--steps", "1", "--workers", "1", "--quiet")
    run("study", "run", "branch-path", *line, "--out", str(path), *typed)
    assert {json.loads(row.answer)["question"]["kappa"] for row in read_rows(path)} == {kappa}
    assert resume_study(path, workers=1).asked == 0
