"""What people read, word for word: wishes of every kind, what they lead to, and ranges that are proven."""

from typing import Any

import numpy as np
import pytest
from answers import FUEL, TIME, TREASURE, achieved, answer, proven, proven_range
from phrases import (
    ASKED,
    BOTH,
    BUDGET,
    CAVEAT,
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
    SIZES,
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
            "Had you asked for 1 fewer step of time (1 instead of 2), the agent would have gone down instead of right.",
            SHARES,
            "The wish about treasure stays as it is.",
            PERHAPS,
            CAVEAT,
        ],
    ),
    "outside-of-what-was-trained": (
        answer([6.3, -1.7], outside=(0, 1)),
        [
            ASKED,
            "Such a wish about treasure and time lies outside what the agent was trained on.",
            BOTH,
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "a-cost-without-a-unit": (
        answer([1.5, -0.9], original=[1.2, -1.25], objectives=(Objective("ore"), FUEL)),
        [
            "Asked for 1.2 ore and 1.25 fuel, the agent chooses right here (70 %; down has 20 %).",
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
            "With a 9.7 % risk of death and no chance of diamond left, the agent chooses right here "
            "(70 %; down has 20 %).",
            "Had you now asked for a 7 % risk of death instead of 9.7 % and a 40 % chance of diamond instead of none, "
            "the agent would have gone down instead of right.",
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "nothing-of-one-and-over-the-budget-of-another": (
        answer([0.3, -0.1], original=[0.0, 0.2], objectives=(ORE, BUDGET), step=9),
        [
            "With no ore 0 left and already 0.2 fuel over budget, the agent chooses right here (70 %; down has 20 %).",
            "Had you now asked for 0.3 of ore 0 instead of none and 0.3 more fuel (0.1 instead of 0.2 over budget), "
            "the agent would have gone down instead of right.",
            SHARES,
            PERHAPS,
            CAVEAT,
        ],
    ),
    "over-every-budget": (
        answer(original=[-2.0, 3.0], objectives=(GOLD, STEPS), step=9),
        [
            "With already 2 gold in excess and already 3 steps of time over budget, the agent chooses right here "
            "(70 %; down has 20 %).",
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
            "Asked for 0 of objective 0 and -0.2 of objective 1, the agent chooses action 3 here "
            "(70 %; action 1 has 20 %).",
            "Had you asked for 0.3 more of objective 0 (0.3 instead of 0) and 0.3 less of objective 1 "
            "(-0.5 instead of -0.2), the agent would have chosen action 1 instead of action 3.",
            "Under that command action 1 has 50 % and action 3 47.5 %.",
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
            'Asked for 8 treasure and 2 steps of time, the agent chooses right here (70 %; "none" has 20 %).',
            "Had you asked for 1.7 less treasure (6.3 instead of 8) and 0.3 fewer steps of time (1.7 instead of 2), "
            "the agent would have done nothing rather than turned right.",
            'Under that command "none" has 50 % and right 47.5 %.',
            'This change is at most 0.73 % larger than the smallest one that lets "none" win by a margin of 0.05: '
            f"{SIZES}",
            CAVEAT,
        ],
    ),
    "most-of-six-stay": (
        answer([1, 2, 3.25, 4, 5, 5.5], original=[1, 2, 3, 4, 5, 6], objectives=FOOD),
        [
            "Asked for 1 protein, 2 carbs, 3 fats, 4 vitamins, 5 minerals and 6 water, the agent chooses right here "
            "(70 %; down has 20 %).",
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
            "Asked for 8 treasure, 2 steps of time and 4 steps of horizon, the agent chooses right here "
            "(70 %; down has 20 %).",
            "Had you asked for 1.7 less treasure (6.3 instead of 8) and 1 more step of horizon (5 instead of 4), "
            "the agent would have gone down instead of right.",
            SHARES,
            TIME_STAYS,
            "Issued here, it leads to 5 treasure and 7 steps of time in the end; "
            "the original command leads to what it asks for.",
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
            "Asked for 8 treasure and 2 steps of time, the agent chooses right here (100 %; down has 0 %).",
            BOTH,
            "Under that command down has over 99.9 % and right under 0.1 %.",
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
            "Any wish for 1.1 to 6.3 treasure and 1.6 to 1.74 steps of time does it as well; this is proven.",
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
            "Any wish for 1 to 6.3 treasure, with the rest as in that command, does it as well; this is proven.",
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
    assert one_line(found) == str(found) == sentences[2 if found.outside else 1]


ORIGINAL_RUNS = achieved(8, -8, error=[0.25, 0.0], repeats=200)
CONSEQUENCES = {
    "another-result": (
        (achieved(5, -7), achieved(8, -8)),
        "Issued here, it leads to 5 treasure and 7 steps of time in the end; "
        "the original command leads to 8 treasure and 8 steps of time.",
    ),
    "the-same-result": (
        (achieved(8, -8), achieved(8, -8)),
        "Issued here, it leads to the same in the end: 8 treasure and 8 steps of time.",
    ),
    "the-original-command-delivers": (
        (achieved(5, -7), achieved(8, -2)),
        "Issued here, it leads to 5 treasure and 7 steps of time in the end; "
        "the original command leads to what it asks for.",
    ),
    "many-runs": (
        (achieved(5.25, -7.5, error=[0.125, 0.0625], repeats=200), ORIGINAL_RUNS),
        "Issued here, it leads to 5.25 ± 0.12 treasure and 7.500 ± 0.062 steps of time in the end, "
        "on average over 200 runs (± standard error); the original command leads to 8.00 ± 0.25 treasure and "
        "8 steps of time.",
    ),
    "many-runs-that-are-all-the-same": (
        (achieved(5, -7, repeats=200), achieved(8, -8, repeats=200)),
        "Issued here, it leads to 5 treasure and 7 steps of time in the end, in each of 200 runs; "
        "the original command leads to 8 treasure and 8 steps of time.",
    ),
    "some-runs-are-stopped": (
        (achieved(5.25, -7.5, error=[0.125, 0.0625], repeats=200, finished=0.75), ORIGINAL_RUNS),
        "Issued here, it leads to 5.25 ± 0.12 treasure and 7.500 ± 0.062 steps of time in the end, "
        "on average over 200 runs (± standard error) (25 % of them are stopped by the step limit); "
        "the original command leads to 8.00 ± 0.25 treasure and 8 steps of time.",
    ),
    "the-only-run-is-stopped": (
        (achieved(0, -100, finished=0.0), achieved(8, -8)),
        "Issued here, it leads to 0 treasure and 100 steps of time in the end (stopped by the step limit); "
        "the original command leads to 8 treasure and 8 steps of time.",
    ),
    "every-run-is-always-stopped": (
        (achieved(0, -100, finished=0.0), achieved(8, -100, finished=0.0)),
        "Issued here, it leads to 0 treasure and 100 steps of time in the end; "
        "the original command leads to 8 treasure and 100 steps of time.",
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
        "Issued here, it leads to a 25.5 ± 3.1 % risk of death and no diamond in the end, on average over 200 runs "
        "(± standard error); the original command leads to no death and an 80.0 ± 2.8 % chance of diamond."
    ) in paragraph(found)


def start(leads_here: bool | None, collected: Any = (0.0, -6.0)) -> Start:
    before = np.array(collected)
    return Start(np.array([8.0, -2.0]) + before, np.array([6.3, -2.0]) + before, leads_here)


STARTS = {
    "leads-here": (start(True, (2.0, -6.0)), "less treasure (8.3 instead of 10), which leads to this very state."),
    "does-not": (
        start(False, (2.0, -6.0)),
        "less treasure (8.3 instead of 10), which does not lead to this state at this moment.",
    ),
    "by-chance": (
        start(None, (2.0, -6.0)),
        "less treasure (8.3 instead of 10); it is up to chance whether that leads here.",
    ),
}
SAME_STARTS = {
    "leads-here": (start(True, (0.0, 0.0)), "leads to this very state."),
    "does-not": (start(False, (0.0, 0.0)), "does not lead to this state at this moment."),
    "by-chance": (start(None, (0.0, 0.0)), "may lead here or not, by chance."),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_command_at_the_start_reads_word_for_word(name: str) -> None:
    now = LESS_TREASURE.replace("Had you asked", "Had you now asked")
    begin, ending = STARTS[name]
    told = f"At the start that would have been 1.7 {ending}"
    found = answer([6.3, -2.0], step=6, start=begin)
    assert paragraph(found) == " ".join([LEFT, now, SHARES, TIME_STAYS, told, PERHAPS, CAVEAT])
    begin, ending = SAME_STARTS[name]
    told = f"Issued at the start, the same command {ending}"
    found = answer([6.3, -2.0], step=6, start=begin)
    assert paragraph(found) == " ".join([LEFT, now, SHARES, TIME_STAYS, told, PERHAPS, CAVEAT])


def test_with_a_start_it_is_known_whether_the_original_command_delivers() -> None:
    results = {"consequence": achieved(5, -7), "original_consequence": achieved(8, -8)}
    assert "leads to what it asks for" in paragraph(answer([6.3, -2.0], step=6, start=start(True), **results))
    assert "leads to 8 treasure and 8 steps" in paragraph(answer([6.3, -2.0], step=6, **results))


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
def test_one_to_six_objectives_are_told_as_a_list(count: int) -> None:
    original = np.arange(1.0, count + 1)
    found = answer(original + 0.5, original=original, objectives=FOOD[:count])
    assert (
        one_line(found) == f"Had you asked for {COUNTED[count - 1]}, the agent would have gone down instead of right."
    )
