"""The weight of a cost is shown as it is: it has no unit, and no sign to turn."""

import pytest
from weighing import agent

import paretofoil as pf
from paretofoil.web.documents import command_text

COMMAND = [0.3, 0.7]
ASKED = "0.3 treasure and 0.7 time"


@pytest.fixture(scope="module")
def flips():
    return pf.explain_episode(agent, COMMAND, steps=[0])


def test_titles_say_what_was_asked_for(flips):
    profile = pf.influence_episode(agent, COMMAND, steps=[0], samples=50)
    assert [shown.plot()._suptitle.get_text() for shown in (flips, profile)] == [f"weighing, asked for {ASKED}"] * 2


def test_influence_says_which_weight_would_change_the_action():
    text = str(pf.influence(agent, pf.rollout(agent, COMMAND)[0], samples=50))
    assert text.startswith("The preferences matter in this state: ")
    change = "a weight of 0.37 for time instead of 0.7 makes the agent choose right"
    assert f"Changing the weight of time alone (the other weights in proportion) is enough: {change}." in text


def test_the_page_says_what_was_asked_for():
    assert command_text(agent.space, COMMAND) == ASKED


def test_a_notebook_shows_weights_and_their_ranges(flips):
    assert "time 0 to 1<" in agent._repr_html_()
    [answer] = flips.answers
    assert "0.7 → 0.37<" in answer._repr_html_()


def test_what_episodes_return_keeps_its_unit(flips):
    [answer] = flips.answers
    assert answer.question.objectives[1] == agent.space.objectives[1] == pf.Objective("time", "steps", cost=True)


def test_a_flip_map_of_preferences_is_read_back_as_it_was(flips):
    assert pf.FlipMap.from_json(flips.to_json()).to_json() == flips.to_json()
