"""Influence in words, as a figure and in a notebook: nothing is called proven that is not."""

from dataclasses import replace

import numpy as np
import pytest
from influences import black_box, inert, influence, profile

from paretofoil.core.command import Objective
from paretofoil.core.influence import Influence, Share, SingleObjective, Switch
from paretofoil.show.influence import PALE, figure_influence, look, percent_span, share_text, stacked, tenths
from paretofoil.show.palette import BAND


def test_a_command_that_matters_has_its_shares_and_what_changes_the_action() -> None:
    assert str(influence()) == (
        "The command matters in this state: 62 to 63 % of the commands in the search region make the agent choose "
        "right (as now), 37 to 38 % down and none up (proven). The search region is 1 to 124 treasure in 1 to 40 steps "
        "from here on. Changing treasure alone is enough: 5.2 treasure instead of 8 from here on makes the agent "
        "choose down."
    )


def test_an_inert_step_names_the_region_that_the_proof_covers() -> None:
    assert str(inert()) == (
        "Every command in the search region makes the agent choose right in this state (proven). The search region is "
        "1 to 124 treasure in 1 to 40 steps from here on."
    )
    assert "from here on" not in str(inert(step=0))
    weights = {"preferences": True, "low": np.zeros(2), "high": np.ones(2)}
    assert str(inert(**weights)) == "All preferences make the agent choose right in this state (proven)."


def test_the_name_of_an_objective_keeps_its_letters_and_needs_no_verb() -> None:
    objectives = (Objective("CO2 earnings"), influence().objectives[1])
    assert "Changing CO2 earnings alone is enough: 5.2 CO2 earnings instead of 8" in str(
        influence(objectives=objectives)
    )


def test_an_action_called_none_is_quoted() -> None:
    assert '37 to 38 % "none" and none up' in str(influence(actions=("up", "none", "left", "right")))


def test_values_on_both_sides_are_read_in_one_sentence() -> None:
    both = (SingleObjective(0, 0.3, 0.4, 0.35, Switch(5.2, 1), Switch(9.0, 0)),)
    assert str(influence(alone=both)).endswith(
        "5.2 treasure instead of 8 from here on makes the agent choose down, 9 treasure makes it choose up."
    )


def test_a_single_valid_action_is_named_as_that() -> None:
    alone = replace(inert(), shares=inert().shares[1:])
    assert str(alone) == "The agent chooses right in this state under every command: no other action is valid."


def test_what_is_sampled_is_called_sampled() -> None:
    text = str(black_box())
    assert "about 62 % (61 to 64 %, sampled) of the commands in the search region make the agent choose right" in text
    assert "proven" not in text


def test_what_is_neither_found_nor_proven_is_called_so() -> None:
    none = Share(1, 0.0, 0.1, 0, 0.0, 0.0004)
    found = replace(inert(), inert=False, shares=(none, Share(3, 0.9, 1.0, 10_000, 0.9996, 1.0)))
    assert str(found) == (
        "The agent chooses right in this state. None of 10,000 sampled commands in the search region changes this, but "
        "it is not proven that none does. The search region is 1 to 124 treasure in 1 to 40 steps from here on."
    )


def test_a_wide_interval_stands_beside_the_sample() -> None:
    wide = Share(3, 0.1, 0.9, 6250, 0.6154, 0.6345)
    assert share_text(wide, 10_000) == "about 62 % (61 to 64 %, sampled; 10 to 90 %, proven)"
    assert share_text(replace(wide, lower=0.01, upper=0.99), 10_000) == "about 62 % (61 to 64 %, sampled)"


@pytest.mark.parametrize("upper", [0.0, 0.3])
def test_that_no_objective_changes_it_alone_is_proven_only_where_it_is(upper: float) -> None:
    still = tuple(SingleObjective(i, 0.0, upper, 0.0, None, None) for i in range(2))
    text = str(influence(alone=still))
    assert ("changes the action (proven)" in text) == (upper == 0.0)
    assert text.endswith(
        ". Together, 5.5 treasure instead of 8 and 2.1 steps instead of 2 from here on make the agent choose down."
    )


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.621, 0.629, "62 to 63 %"),
        (0.0, 0.004, "at most 1 %"),
        (0.995, 1.0, "at least 99 %"),
        (0.5, 0.5, "50 %"),
        (0.0, 0.0, "0 %"),
        (1.0, 1.0, "100 %"),
        (0.0, 1.0, "at most 100 %"),
    ],
)
def test_shares_are_rounded_outwards(low: float, high: float, text: str) -> None:
    assert percent_span(low, high) == text


def test_a_profile_has_the_steps_at_which_the_command_matters_and_those_at_which_it_does_not() -> None:
    first, most, proven = str(profile()).splitlines()
    assert first == "The command matters at 2 of 3 steps."
    assert most.startswith("Most at t = 0: The command matters in this state: 62 to 63 % of")
    assert proven == "No command in the search region changes the action (proven) at t = 1."


@pytest.mark.parametrize("step", [influence(), inert(), black_box()], ids=["some", "inert", "black"])
def test_the_heights_of_a_bar_sum_to_1_and_the_chosen_stands_at_its_foot(step: Influence) -> None:
    pairs = stacked(step)
    assert sum(height for _, height in pairs) == pytest.approx(1.0)
    assert pairs[0][0].action == step.chosen


def test_what_is_only_sampled_is_pale_and_an_inert_step_is_marked() -> None:
    [axes] = figure_influence(profile()).axes
    drawn = {(round(bar.get_x() + bar.get_width() / 2), bar.get_alpha()) for bar in axes.patches if bar.get_height()}  # type: ignore[attr-defined]
    assert (1, None) in drawn
    assert (1, PALE) not in drawn
    assert (2, PALE) in drawn
    assert (2, None) not in drawn
    assert [(text.get_position()[0], text.get_text()) for text in axes.texts] == [(1, "■")]


def test_a_long_profile_goes_on_in_bands() -> None:
    figure = figure_influence(profile(*(influence(step=step) for step in range(BAND + 5))))
    assert [len(axes.get_xticks()) for axes in figure.axes] == [BAND, 5]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1


def test_a_long_title_is_broken_where_the_picture_ends() -> None:
    objectives = tuple(Objective(f"an objective with a long name {i}") for i in "abcdef")
    wide = influence(
        objectives=objectives, command=np.ones(6), low=np.zeros(6), high=np.ones(6), alone=(), nearest=None
    )
    figure = figure_influence(replace(profile(wide), objectives=objectives, command=np.ones(6)))
    figure.canvas.draw()
    title = figure._suptitle.get_window_extent()  # type: ignore[attr-defined]
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.width


def test_no_two_actions_look_alike() -> None:
    assert len({look(action) for action in range(20)}) == 20


def test_a_notebook_shows_words_shares_and_the_picture() -> None:
    html = influence(agent="<b>")._repr_html_()
    assert "&lt;b&gt;, t = 4" in html
    assert "<td>62 to 63 %</td>" in html
    assert "data:image/png;base64," in profile()._repr_html_()


def test_tenths_are_rounded_outwards() -> None:
    assert tenths(0.0529, 0.0531) == ("5.2", "5.4")
    assert tenths(0.0, 1.0) == ("0", "100")
