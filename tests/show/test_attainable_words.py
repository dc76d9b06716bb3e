"""How a paragraph ends, word for word: the attainable command, or that none was found."""

from typing import Any

import numpy as np
import pytest
from answers import achieved, answer, attainable
from phrases import ASKED, BOTH, CAVEAT, DEATH, DIAMOND, LEFT, PERHAPS, SHARES

from paretofoil.core.answer import Attainable
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.show.sentences import delivers, paragraph

GET = "To make the agent choose down and get what you ask for, ask for"
NONE = "No attainable command that makes the agent choose down was found"
RUNS = achieved(5.25, -7.0, error=[0.125, 0.0], repeats=2000)
ENDINGS: dict[str, tuple[Attainable, str]] = {
    "another-delivers-exactly": (
        attainable([5, -7]),
        f"{CAVEAT} {GET} 5 treasure in 7 steps: it then delivers exactly that.",
    ),
    "another-delivers-nearly": (
        attainable([5.2, -7], missed=0.004, consequence=achieved(5, -7)),
        f"{CAVEAT} {GET} 5.2 treasure in 7 steps: it then delivers that to within 1 % of each objective's range: "
        "5 treasure after 7 steps.",
    ),
    "all-digits-are-written": (
        attainable([5.123456, -7]),
        f"{CAVEAT} {GET} 5.123456 treasure in 7 steps: it then delivers exactly that.",
    ),
    "in-the-mean": (
        attainable([5.2, -7], missed=0.004, consequence=RUNS),
        f"{CAVEAT} {GET} 5.2 treasure in 7 steps: it then delivers that on average: "
        "5.2 ± 0.1 treasure after 7 steps (mean of 2,000 runs ± standard error).",
    ),
    "nearly-in-the-mean": (
        attainable([5.1, -7], missed=0.004, consequence=RUNS),
        f"{CAVEAT} {GET} 5.1 treasure in 7 steps: it then delivers nearly that on average: "
        "5.2 ± 0.1 treasure after 7 steps (mean of 2,000 runs ± standard error).",
    ),
    "in-each-run": (
        attainable([5, -7], consequence=achieved(5, -7, repeats=2000)),
        f"{CAVEAT} {GET} 5 treasure in 7 steps: it then delivers exactly that in each of 2,000 runs.",
    ),
    "the-answer-delivers-exactly": (
        attainable([6.3, -1.7]),
        "This command is attainable: the agent then delivers exactly what it asks for.",
    ),
    "the-answer-delivers-nearly": (
        attainable([6.3, -1.7], missed=0.01, consequence=achieved(6, -1)),
        "This command is attainable: the agent then delivers what it asks for to within 1 % of each objective's "
        "range: 6 treasure after 1 step.",
    ),
    "none-is-known": (
        Attainable(12),
        f"{CAVEAT} {NONE} (12 were rolled out).",
    ),
    "nothing-could-be-tried": (
        Attainable(0),
        f"{CAVEAT} {NONE} (none was rolled out).",
    ),
    "only-the-answer-was-tried": (
        Attainable(1),
        f"{CAVEAT} {NONE} (1 was rolled out).",
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_reads_word_for_word(name: str) -> None:
    had, ending = ENDINGS[name]
    found = answer([6.3, -1.7], attainable=had)
    assert paragraph(found) == " ".join([ASKED, BOTH, SHARES, PERHAPS, ending])
    assert delivers(found) == name.startswith("the-answer")


def test_later_in_an_episode_it_is_asked_for_the_whole_of_it() -> None:
    found = answer([6.3, -1.7], step=6, attainable=attainable([5, -1], (0, -6)))
    assert paragraph(found).startswith(LEFT)
    assert paragraph(found).endswith(
        f"{GET} 5 treasure in 7 steps in the whole episode: it then delivers exactly that."
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
        'To make the agent choose "none" and get what you ask for, ask for no risk of death and a 32.5 % chance of '
        "diamond: it then delivers nearly that on average: no death and a 31 ± 1 % chance of diamond (mean of 2,000 "
        "runs ± standard error)."
    )


def test_a_horizon_is_asked_for_but_not_delivered() -> None:
    objectives = (Objective("treasure"), Objective("time", "steps", cost=True), Objective("horizon", "steps"))
    had = attainable([5.2, -7, 4], (0, 0, 0), missed=0.004, consequence=achieved(5, -7))
    found = answer([6.3, -2, 5], original=[8, -2, 4], objectives=objectives, attainable=had)
    assert paragraph(found).endswith(
        f"{GET} 5.2 treasure, 7 steps and a horizon of 4 steps: it then delivers that return to within 1 % of "
        "each objective's range: 5 treasure after 7 steps."
    )


def test_the_list_of_quantities_is_as_short_as_elsewhere() -> None:
    goods = tuple(Objective(name, natural_low=0.0) for name in "ABCD")
    had = attainable([0, 0, 0.8, 0], (0, 0, 0, 0))
    found = answer([0, 0, 0.5, 0], original=[0, 0, 0.8, 1], objectives=goods, attainable=had)
    assert f"{GET} 0.8 C and nothing else: it then" in paragraph(found)


def test_where_nothing_was_sought_nothing_is_said() -> None:
    assert paragraph(answer([6.3, -1.7])) == " ".join([ASKED, BOTH, SHARES, PERHAPS, CAVEAT])
    assert "get what you ask for" not in paragraph(answer(attainable=None))


@pytest.mark.parametrize("missing", ["total", "distance", "deviation", "consequence"])
def test_a_command_without_its_verification_is_refused(missing: str) -> None:
    whole: dict[str, Any] = {"total": np.ones(2), "distance": 0.5, "deviation": 0.0, "consequence": achieved(1, 1)}
    assert Attainable(3, np.ones(2), **whole).found
    with pytest.raises(InvalidInput, match="all of command, total, distance, deviation, consequence, or none"):
        Attainable(3, np.ones(2), **{**whole, missing: None})
