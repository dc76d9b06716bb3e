"""Sentences word for word: objectives of every kind, outcomes of rollouts, and proven ranges."""

from typing import Any

import numpy as np
import pytest
from answers import FUEL, TIME, TREASURE, achieved, answer, attainable, proven, proven_range
from phrases import (
    ASKED,
    BOTH,
    BUDGET,
    CAVEAT,
    CHOICE,
    CLOSEST,
    DEATH,
    DIAMOND,
    FOOD,
    GOLD,
    LEFT,
    LESS_TREASURE,
    NONE_FOUND,
    NOTHING_PROVEN,
    ORE,
    OTHERS_STAY,
    PERHAPS,
    SHARES,
    STEPS,
    TIME_STAYS,
    TRY_EXACT,
)

from paretofoil.core.answer import Start
from paretofoil.core.command import Objective
from paretofoil.show.sentences import one_line, paragraph

OBJECTIVES = {
    "a-gain-changes": (answer([6.3, -2.0]), [ASKED, LESS_TREASURE, SHARES, TIME_STAYS, PERHAPS, CAVEAT]),
    "a-cost-changes-to-one-step": (
        answer([8.0, -1.0]),
        [
            ASKED,
            "Had you asked for 1 fewer step (1 instead of 2), the agent would have gone down instead of right.",
            SHARES,
            "Treasure is unchanged.",
            PERHAPS,
            CAVEAT,
        ],
    ),
    "outside-of-what-was-trained": (
        answer([6.3, -1.7], outside=(0, 1)),
        [
            ASKED,
            "This command is outside the range of treasure and time that the agent was trained on.",
            BOTH,
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "a-cost-without-a-unit": (
        answer([1.5, -0.9], original=[1.2, -1.25], objectives=(Objective("ore"), FUEL)),
        [
            f"Asked for 1.2 ore and 1.25 fuel, {CHOICE}",
            "Had you asked for 0.3 more ore (1.5 instead of 1.2) and 0.35 less fuel (0.9 instead of 1.25), "
            "the agent would have gone down instead of right.",
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "risks-and-chances": (
        answer([-0.07, 0.4], original=[-0.0968, 0.0], objectives=(DEATH, DIAMOND), step=3),
        [
            f"Asked for a 9.7 % risk of death and no chance of diamond from here on, {CHOICE}",
            "Had you asked for a 7 % risk of death instead of 9.7 % and a 40 % chance of diamond instead of none "
            "from here on, the agent would have gone down instead of right.",
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "nothing-of-one-and-over-the-budget-of-another": (
        answer([0.3, -0.1], original=[0.0, 0.2], objectives=(ORE, BUDGET), step=9),
        [
            f"Asked for no ore 0 from here on and already 0.2 fuel over budget, {CHOICE}",
            "Had you asked for 0.3 of ore 0 instead of none and 0.3 more fuel (0.1 instead of 0.2 over budget) "
            "from here on, the agent would have gone down instead of right.",
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "over-every-budget": (
        answer(original=[-2.0, 3.0], objectives=(GOLD, STEPS), step=9),
        [
            f"Already 2 gold over target and 3 steps over budget, {CHOICE}",
            NONE_FOUND,
            NOTHING_PROVEN,
            TRY_EXACT,
        ],
    ),
    "a-policy-without-names": (
        answer(
            [0.3, -0.5],
            original=[0.0, -0.2],
            objectives=(Objective("objective 0"), Objective("objective 1")),
            actions=("action 0", "action 1", "action 2", "action 3"),
            phrases=("chosen action 0", "chosen action 1", "chosen action 2", "chosen action 3"),
        ),
        [
            "Asked for 0 of objective 0 and -0.2 of objective 1, the agent chooses action 3 in this state "
            "(probability 70 %, action 1 20 %).",
            "Had you asked for 0.3 more of objective 0 (0.3 instead of 0) and 0.3 less of objective 1 "
            "(-0.5 instead of -0.2), the agent would have chosen action 1 instead of action 3.",
            "The probability of action 1 is then 50 %, that of action 3 47.5 %.",
            PERHAPS,
            CAVEAT,
        ],
    ),
    "an-action-called-none": (
        proven(
            [6.3, -1.7],
            actions=("mine", "none", "left", "right"),
            phrases=("mined", "done nothing", "turned left", "turned right"),
        ),
        [
            'Asked for 8 treasure in 2 steps, the agent chooses right in this state (probability 70 %, "none" 20 %).',
            "Had you asked for 1.7 less treasure (6.3 instead of 8) and 0.3 fewer steps (1.7 instead of 2), "
            "the agent would have done nothing rather than turned right.",
            'The probability of "none" is then 50 %, that of right 47.5 %.',
            CLOSEST,
            CAVEAT,
        ],
    ),
    "most-of-six-stay": (
        answer([1, 2, 3.25, 4, 5, 5.5], original=[1, 2, 3, 4, 5, 6], objectives=FOOD),
        [
            f"Asked for 1 protein, 2 carbs, 3 fats, 4 vitamins, 5 minerals and 6 water, {CHOICE}",
            "Had you asked for 0.25 more fats (3.25 instead of 3) and 0.5 less water (5.5 instead of 6), "
            "the agent would have gone down instead of right.",
            SHARES,
            OTHERS_STAY,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "a-horizon-is-asked-for-but-not-achieved": (
        answer(
            [6.3, -2, 5],
            original=[8, -2, 4],
            objectives=(TREASURE, TIME, Objective("horizon", "steps")),
            consequence=achieved(5, -7),
            original_consequence=achieved(8, -2),
        ),
        [
            f"Asked for 8 treasure, 2 steps and a horizon of 4 steps, {CHOICE}",
            "Had you asked for 1.7 less treasure (6.3 instead of 8) and a horizon of 5 steps instead of 4, "
            "the agent would have gone down instead of right.",
            SHARES,
            TIME_STAYS,
            "If issued here, the episode ends with 5 treasure after 7 steps; under the original command it ends with "
            "8 treasure after 2 steps, as asked.",
            PERHAPS,
            CAVEAT,
        ],
    ),
    "near-certainty": (
        answer(
            [6.3, -1.7],
            probabilities=np.array([0.0, 0.0, 0.0, 1.0]),
            counterfactual_probabilities=np.array([0.0, 0.9999, 0.0, 0.0001]),
        ),
        [
            "Asked for 8 treasure in 2 steps, the agent chooses right in this state (probability 100 %, down 0 %).",
            BOTH,
            "The probability of down is then over 99.9 %, that of right under 0.1 %.",
            PERHAPS,
            CAVEAT,
        ],
    ),
}

RANGES = {
    "of-a-gain-and-a-cost": (
        proven([6.3, -1.7], proven_range=proven_range([1.001, -1.7499], [6.3049, -1.6])),
        [
            ASKED,
            BOTH,
            SHARES,
            "Every command with 1.1 to 6.3 treasure in 1.6 to 1.74 steps also makes the agent choose down (proven).",
            CLOSEST,
            CAVEAT,
        ],
    ),
    "where-one-objective-was-kept": (
        proven([6.3, -2.0], proven_range=proven_range([1.0, -2.0], [6.3, -2.0])),
        [
            ASKED,
            LESS_TREASURE,
            SHARES,
            TIME_STAYS,
            "Every command with 1 to 6.3 treasure, and the rest as in that command, also makes the agent choose down "
            "(proven).",
            CLOSEST,
            CAVEAT,
        ],
    ),
    "without-width": (
        proven([6.3, -2.0], proven_range=proven_range([6.3, -2.0], [6.3, -2.0])),
        [ASKED, LESS_TREASURE, SHARES, TIME_STAYS, CLOSEST, CAVEAT],
    ),
}

ALL = OBJECTIVES | RANGES


@pytest.mark.parametrize("name", ALL)
def test_an_answer_reads_word_for_word(name: str) -> None:
    found, sentences = ALL[name]
    assert paragraph(found) == found.paragraph() == " ".join(sentences)
    assert one_line(found) == str(found) == sentences[2 if found.question.outside else 1]


ORIGINAL_RUNS = achieved(8, -8, error=[0.25, 0.0], repeats=200)
CONSEQUENCES = {
    "another-result": (
        (achieved(5, -7), achieved(8, -8)),
        "If issued here, the episode ends with 5 treasure after 7 steps; under the original command it ends with "
        "8 treasure after 8 steps.",
    ),
    "the-same-result": (
        (achieved(8, -8), achieved(8, -8)),
        "If issued here, the episode ends with 8 treasure after 8 steps, as under the original command.",
    ),
    "the-original-command-delivers": (
        (achieved(5, -7), achieved(8, -2)),
        "If issued here, the episode ends with 5 treasure after 7 steps; under the original command it ends with "
        "8 treasure after 2 steps, as asked.",
    ),
    "many-runs": (
        (achieved(5.25, -7.5, error=[0.125, 0.0625], repeats=200), ORIGINAL_RUNS),
        "If issued here, the episode ends with 5.2 ± 0.1 treasure after 7.50 ± 0.06 steps (mean of 200 runs ± standard "
        "error); under the original command it ends with 8.0 ± 0.2 treasure after 8 steps.",
    ),
    "many-runs-that-are-all-the-same": (
        (achieved(5, -7, repeats=200), achieved(8, -8, repeats=200)),
        "If issued here, the episode ends with 5 treasure after 7 steps (in each of 200 runs); "
        "under the original command it ends with 8 treasure after 8 steps.",
    ),
    "some-runs-are-stopped": (
        (achieved(5.25, -7.5, error=[0.125, 0.0625], repeats=200, finished=0.75), ORIGINAL_RUNS),
        "If issued here, the episode ends with 5.2 ± 0.1 treasure after 7.50 ± 0.06 steps (mean of 200 runs ± standard "
        "error; in 25 % of them stopped by the step limit); under the original command it ends with 8.0 ± 0.2 treasure "
        "after 8 steps.",
    ),
    "the-only-run-is-stopped": (
        (achieved(0, -100, finished=0.0), achieved(8, -8)),
        "If issued here, the episode ends with 0 treasure after 100 steps (stopped by the step limit); "
        "under the original command it ends with 8 treasure after 8 steps.",
    ),
    "every-run-is-always-stopped": (
        (achieved(0, -100, finished=0.0), achieved(8, -100, finished=0.0)),
        "If issued here, the episode ends with 0 treasure after 100 steps; under the original command it ends with "
        "8 treasure after 100 steps.",
    ),
}


@pytest.mark.parametrize("name", CONSEQUENCES)
def test_a_consequence_reads_word_for_word(name: str) -> None:
    (new, old), sentence = CONSEQUENCES[name]
    found = answer([6.3, -1.7], consequence=new, original_consequence=old)
    assert paragraph(found) == " ".join([ASKED, BOTH, SHARES, sentence, PERHAPS, CAVEAT])


def test_measured_risks_and_chances_read_word_for_word() -> None:
    new = achieved(-0.255, 0.0, error=[0.0309, 0.0], repeats=200)
    old = achieved(0.0, 0.8, error=[0.0, 0.028], repeats=200)
    found = answer(
        [-0.07, 0.4],
        original=[-0.1, 0.8],
        objectives=(DEATH, DIAMOND),
        consequence=new,
        original_consequence=old,
    )
    assert (
        "If issued here, the episode ends with a 26 ± 3 % risk of death and no diamond (mean of 200 runs ± standard "
        "error); under the original command it ends with no death and an 80 ± 3 % chance of diamond."
    ) in paragraph(found)


def start(leads_here: bool | None, collected: Any = (0.0, -6.0)) -> Start:
    before = np.array(collected)
    return Start(np.array([8.0, -2.0]) + before, np.array([6.3, -2.0]) + before, leads_here)


STARTS = {
    "leads-here": (True, "also leads to this state at this step."),
    "does-not": (False, "does not lead to this state at this step."),
    "by-chance": (None, "may or may not lead to this state: the environment is random."),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_command_for_the_whole_episode_reads_word_for_word(name: str) -> None:
    now = LESS_TREASURE.replace("instead of 8),", "instead of 8) from here on,")
    leads, ending = STARTS[name]
    whole = f"For the whole episode, this is 1.7 less treasure (8.3 instead of 10); issued at the start, it {ending}"
    found = answer([6.3, -2.0], step=6, start=start(leads, (2.0, -6.0)))
    assert paragraph(found) == " ".join([LEFT, now, SHARES, TIME_STAYS, whole, PERHAPS, CAVEAT])
    whole = f"Issued at the start, the same command {ending}"
    found = answer([6.3, -2.0], step=6, start=start(leads, (0.0, 0.0)))
    assert paragraph(found) == " ".join([LEFT, now, SHARES, TIME_STAYS, whole, PERHAPS, CAVEAT])


def test_with_a_start_it_is_known_whether_the_original_command_delivers() -> None:
    results = {"consequence": achieved(5, -7), "original_consequence": achieved(8, -8)}
    ending = "under the original command it ends with 8 treasure after 8 steps"
    assert f"{ending}, as asked." in paragraph(answer([6.3, -2.0], step=6, start=start(True), **results))
    assert f"{ending}." in paragraph(answer([6.3, -2.0], step=6, **results))


def test_what_remains_and_the_whole_episode_are_marked() -> None:
    results = {"consequence": achieved(5, -7), "original_consequence": achieved(8, -8)}
    proof = {"proven_range": proven_range([1.0, -2.0], [6.3, -2.0])}
    had = attainable([5, -1], (0, -6))
    text = paragraph(answer([6.3, -2.0], step=6, start=start(True, (2.0, -6.0)), attainable=had, **results, **proof))
    for part in (
        "Asked for 8 treasure in 2 steps from here on, the agent",
        "Had you asked for 1.7 less treasure (6.3 instead of 8) from here on, the agent",
        "If issued here, the whole episode ends with",
        "For the whole episode, this is",
        "Every command with 1 to 6.3 treasure from here on, and the rest",
        "ask for 5 treasure in 7 steps in the whole episode: it then",
    ):
        assert part in text
    first = paragraph(answer([6.3, -2.0], step=0, attainable=attainable([5, -7]), **results, **proof))
    assert "from here on" not in first
    assert "whole episode" not in first


COUNTED = [
    "0.5 more protein (1.5 instead of 1)",
    "0.5 more protein (1.5 instead of 1) and 0.5 more carbs (2.5 instead of 2)",
    "1.5 protein instead of 1, 2.5 carbs instead of 2 and 3.5 fats instead of 3",
    "1.5 protein instead of 1, 2.5 carbs instead of 2, 3.5 fats instead of 3 and 4.5 vitamins instead of 4",
    "1.5 protein instead of 1, 2.5 carbs instead of 2, 3.5 fats instead of 3, 4.5 vitamins instead of 4 "
    "and 5.5 minerals instead of 5",
    "1.5 protein instead of 1, 2.5 carbs instead of 2, 3.5 fats instead of 3, 4.5 vitamins instead of 4, "
    "5.5 minerals instead of 5 and 6.5 water instead of 6",
]


@pytest.mark.parametrize("count", range(1, 7))
def test_one_to_six_objectives_are_a_list(count: int) -> None:
    original = np.arange(1.0, count + 1)
    found = answer(original + 0.5, original=original, objectives=FOOD[:count])
    assert (
        one_line(found) == f"Had you asked for {COUNTED[count - 1]}, the agent would have gone down instead of right."
    )
