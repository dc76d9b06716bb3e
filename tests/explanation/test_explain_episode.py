"""An episode is asked about in chunks; that changes no answer."""

from dataclasses import replace

import pytest
from answers import changed

import paretofoil.explanation.explain as verb
from paretofoil.agents import load_agent
from paretofoil.agents.agent import rollout
from paretofoil.core.errors import InvalidInput
from paretofoil.explanation.explain import explain_episode
from paretofoil.explanation.flip_map import FlipMap


def without_seconds(flips: FlipMap) -> str:
    answers = tuple(changed(a, seconds=0.0, proof=a.proof and replace(a.proof, seconds=0.0)) for a in flips.answers)
    return replace(flips, answers=answers).to_json()


@pytest.fixture(scope="module")
def agent():
    return load_agent("branch-path")


def test_answers_in_chunks_are_those_that_are_asked_together(agent, monkeypatch):
    chunks = explain_episode(agent, (3, 1))
    monkeypatch.setattr(verb, "PROOFS_AT_ONCE", 1000)
    assert without_seconds(explain_episode(agent, (3, 1))) == without_seconds(chunks)


def test_progress_is_shown_before_the_first_answer_and_after_each_chunk(agent):
    seen: list[tuple[int, int]] = []
    flips = explain_episode(agent, (3, 1), progress=lambda answers, total: seen.append((len(answers), total)))
    total = len(flips.answers)
    assert seen == [(min(done, total), total) for done in range(0, total + verb.PROOFS_AT_ONCE, verb.PROOFS_AT_ONCE)]


def test_only_chosen_moments_are_asked_about(agent):
    some, every = explain_episode(agent, (3, 1), steps=(3, 1, 3)), explain_episode(agent, (3, 1))
    assert some.steps == tuple(t for t in every.steps if t in (1, 3))
    assert some.taken == every.taken


@pytest.mark.parametrize("time", [-1, 1000])
def test_a_step_outside_of_the_episode_is_refused(agent, time):
    last = len(rollout(agent, (3, 1))) - 1
    with pytest.raises(InvalidInput, match=f"steps from 0 to {last} of this episode, got {time}"):
        explain_episode(agent, (3, 1), steps=[time])
