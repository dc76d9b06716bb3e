"""How a paragraph ends, word for word: what to ask for, that the answer itself will do, or that none is known."""

from typing import Any

import numpy as np
import pytest
from answers import achieved, answer, attainable
from phrases import ASKED, BOTH, CAVEAT, DEATH, DIAMOND, LEFT, PERHAPS, SHARES

from paretofoil.core.answer import Attainable
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.show.sentences import delivers, paragraph

GET = "To really get down:"
RUNS = achieved(5.25, -7.0, error=[0.125, 0.0], repeats=2000)
ENDINGS: dict[str, tuple[Attainable, str]] = {
    "another-delivers-exactly": (
        attainable([5, -7]),
        f"{CAVEAT} {GET} ask for 5 treasure and 7 steps of time; rolled out, it delivers exactly that.",
    ),
    "another-delivers-nearly": (
        attainable([5.2, -7], missed=0.004, consequence=achieved(5, -7)),
        f"{CAVEAT} {GET} ask for 5.2 treasure and 7 steps of time; rolled out, it delivers that to within 1 % of "
        "each objective's range: 5 treasure and 7 steps of time.",
    ),
    "all-digits-are-told": (
        attainable([5.123456, -7]),
        f"{CAVEAT} {GET} ask for 5.123456 treasure and 7 steps of time; rolled out, it delivers exactly that.",
    ),
    "in-the-mean": (
        attainable([5.2, -7], missed=0.004, consequence=RUNS),
        f"{CAVEAT} {GET} ask for 5.2 treasure and 7 steps of time; in the mean of 2,000 runs it delivers that: "
        "5.25 ± 0.12 treasure and 7 steps of time (± standard error).",
    ),
    "nearly-in-the-mean": (
        attainable([5.1, -7], missed=0.004, consequence=RUNS),
        f"{CAVEAT} {GET} ask for 5.1 treasure and 7 steps of time; in the mean of 2,000 runs it delivers nearly that: "
        "5.25 ± 0.12 treasure and 7 steps of time (± standard error).",
    ),
    "in-each-run": (
        attainable([5, -7], consequence=achieved(5, -7, repeats=2000)),
        f"{CAVEAT} {GET} ask for 5 treasure and 7 steps of time; in each of 2,000 runs it delivers exactly that.",
    ),
    "the-answer-delivers-exactly": (
        attainable([6.3, -1.7]),
        f"{GET} ask for just that; rolled out, it delivers exactly what it asks for.",
    ),
    "the-answer-delivers-nearly": (
        attainable([6.3, -1.7], missed=0.01, consequence=achieved(6, -1)),
        f"{GET} ask for just that; rolled out, it delivers what it asks for to within 1 % of each objective's "
        "range: 6 treasure and 1 step of time.",
    ),
    "none-is-known": (
        Attainable(12),
        f"{CAVEAT} {GET} no command is known that then delivers what it asks for; 12 were rolled out.",
    ),
    "nothing-could-be-tried": (
        Attainable(0),
        f"{CAVEAT} {GET} no command is known that then delivers what it asks for; none was rolled out.",
    ),
    "only-the-answer-was-tried": (
        Attainable(1),
        f"{CAVEAT} {GET} no command is known that then delivers what it asks for; one was rolled out.",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_reads_word_for_word(name: str) -> None:
    had, ending = ENDINGS[name]
    found = answer([6.3, -1.7], attainable=had)
    assert paragraph(found) == " ".join([ASKED, BOTH, SHARES, PERHAPS, ending])
    assert delivers(found) == name.startswith("the-answer")


def test_later_in_an_episode_it_is_asked_for_in_all() -> None:
    found = answer([6.3, -1.7], step=6, attainable=attainable([5, -1], (0, -6)))
    assert paragraph(found).startswith(LEFT)
    assert paragraph(found).endswith(
        f"{GET} ask for 5 treasure and 7 steps of time in all; rolled out, it delivers exactly that."
    )


def test_risks_and_chances_and_an_action_called_none_read_word_for_word() -> None:
    found = answer(
        [-0.07, 0.4],
        original=[-0.1, 0.8],
        objectives=(DEATH, DIAMOND),
        actions=("mine", "none", "left", "right"),
        attainable=attainable([0.0, 0.325], consequence=achieved(0.0, 0.31, error=[0.0, 0.01], repeats=2000)),
    )
    assert paragraph(found).endswith(
        'To really get "none": ask for no risk of death and a 32.5 % chance of diamond; in the mean of 2,000 runs it '
        "delivers nearly that: no death and a 31.0 ± 1.0 % chance of diamond (± standard error)."
    )


def test_a_horizon_is_asked_for_but_not_delivered() -> None:
    objectives = (Objective("treasure"), Objective("time", "steps", cost=True), Objective("horizon", "steps"))
    had = attainable([5.2, -7, 4], (0, 0, 0), missed=0.004, consequence=achieved(5, -7))
    found = answer([6.3, -2, 5], original=[8, -2, 4], objectives=objectives, attainable=had)
    assert paragraph(found).endswith(
        f"{GET} ask for 5.2 treasure, 7 steps of time and 4 steps of horizon; rolled out, it delivers that to within "
        "1 % of each objective's range: 5 treasure and 7 steps of time."
    )


def test_the_list_of_wishes_is_as_short_as_elsewhere() -> None:
    goods = tuple(Objective(name, natural_low=0.0) for name in "ABCD")
    had = attainable([0, 0, 0.8, 0], (0, 0, 0, 0))
    found = answer([0, 0, 0.5, 0], original=[0, 0, 0.8, 1], objectives=goods, attainable=had)
    assert f"{GET} ask for 0.8 C and nothing else; rolled out" in paragraph(found)


def test_where_nothing_was_sought_nothing_is_said() -> None:
    assert paragraph(answer([6.3, -1.7])) == " ".join([ASKED, BOTH, SHARES, PERHAPS, CAVEAT])
    assert "To really get" not in paragraph(answer(attainable=None))


@pytest.mark.parametrize("missing", ["asked", "distance", "missed", "consequence"])
def test_a_command_without_its_verification_is_refused(missing: str) -> None:
    whole: dict[str, Any] = {"asked": np.ones(2), "distance": 0.5, "missed": 0.0, "consequence": achieved(1, 1)}
    assert Attainable(3, np.ones(2), **whole).known
    with pytest.raises(InvalidInput, match="all of command, asked, distance, missed, consequence, or none"):
        Attainable(3, np.ones(2), **{**whole, missing: None})
