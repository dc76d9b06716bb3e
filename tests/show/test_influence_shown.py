"""Influence in words, as a picture and in a notebook: nothing is told as proven that is not."""

from dataclasses import replace

import numpy as np
import pytest
from influences import black_box, inert, influence, profile

from paretofoil.core.command import Objective
from paretofoil.core.influence import Alone, Influence, Share
from paretofoil.show.influence import BAND, OPEN, figure_influence, look, span, stacked, tenths, told_share


def test_a_wish_that_decides_is_told_with_its_shares_and_what_turns_it() -> None:
    assert str(influence()) == (
        "Here your wish decides: right, as now, is chosen for 62 to 63 % of all commands, down for 37 to 38 %, up "
        "never. Treasure alone changes it: 5.2 treasure instead of 8 would give down."
    )


def test_an_inert_moment_is_told_as_proven() -> None:
    assert str(inert()) == "Whatever you ask for, the agent chooses right here; this is proven."


def test_a_single_valid_action_is_told_as_that() -> None:
    alone = replace(inert(), shares=inert().shares[1:])
    assert str(alone) == "Whatever you ask for, the agent chooses right here: it has no other valid action."


def test_what_is_sampled_is_told_as_sampled() -> None:
    told = str(black_box())
    assert "right, as now, is chosen for about 62 % (61 to 64 %, sampled) of all commands" in told
    assert "proven" not in told


def test_what_is_neither_found_nor_proven_is_told_so() -> None:
    none = Share(1, 0.0, 0.1, 0, 0.0, 0.0004)
    found = replace(inert(), inert=False, shares=(none, Share(3, 0.9, 1.0, 10_000, 0.9996, 1.0)))
    assert str(found) == (
        "The agent chooses right here: none of 10,000 sampled commands changes it, but that none does is not proven."
    )


def test_a_wide_interval_stands_beside_the_sample() -> None:
    wide = Share(3, 0.1, 0.9, 6250, 0.6154, 0.6345)
    assert told_share(wide, 10_000) == "about 62 % (61 to 64 %, sampled; 10 to 90 %, proven)"
    assert told_share(replace(wide, lower=0.01, upper=0.99), 10_000) == "about 62 % (61 to 64 %, sampled)"


@pytest.mark.parametrize("upper", [0.0, 0.3])
def test_that_no_objective_changes_it_alone_is_proven_only_where_it_is(upper: float) -> None:
    still = tuple(Alone(i, 0.0, upper, 0.0, None, None) for i in range(2))
    told = str(influence(alone=still))
    assert ("proven" in told) == (upper == 0.0)
    assert told.endswith("; together, 5.5 treasure instead of 8 and 2.1 steps of time instead of 2 would give down.")


@pytest.mark.parametrize(
    ("low", "high", "told"),
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
def test_shares_are_rounded_outwards(low: float, high: float, told: str) -> None:
    assert span(low, high) == told


def test_tenths_are_rounded_outwards() -> None:
    assert tenths(0.0529, 0.0531) == ("5.2", "5.4")
    assert tenths(0.0, 1.0) == ("0", "100")


def test_a_profile_tells_where_the_wish_decides_and_where_not() -> None:
    first, most, proven = str(profile()).splitlines()
    assert first == "The wish decides at 2 of 3 moments."
    assert most.startswith("Most at t = 0: Here your wish decides")
    assert proven == "No command changes the action (proven) at t = 1."


@pytest.mark.parametrize("moment", [influence(), inert(), black_box()], ids=["some", "inert", "black"])
def test_the_heights_of_a_bar_sum_to_1_and_the_chosen_stands_at_its_foot(moment: Influence) -> None:
    pairs = stacked(moment)
    assert sum(height for _, height in pairs) == pytest.approx(1.0)
    assert pairs[0][0].action == moment.chosen


def test_what_is_only_sampled_is_pale_and_an_inert_moment_is_marked() -> None:
    [axes] = figure_influence(profile()).axes
    drawn = {(round(bar.get_x() + bar.get_width() / 2), bar.get_alpha()) for bar in axes.patches if bar.get_height()}
    assert (1, None) in drawn
    assert (1, OPEN) not in drawn
    assert (2, OPEN) in drawn
    assert (2, None) not in drawn
    assert [(text.get_position()[0], text.get_text()) for text in axes.texts] == [(1, "■")]


def test_a_long_profile_goes_on_in_bands() -> None:
    figure = figure_influence(profile(*(influence(time=time) for time in range(BAND + 5))))
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
