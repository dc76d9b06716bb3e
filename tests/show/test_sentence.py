"""What people read, word for word: how a question ended, what restricted it, and how sure the answer is."""

import numpy as np
import pytest
from answers import answer, certificate, proven
from phrases import (
    ASKED,
    BOTH,
    CAVEAT,
    CLOSEST,
    ELSEWHERE,
    LESS_TREASURE,
    MARGIN,
    NEVER,
    NONE_FOUND,
    NOTHING_PROVEN,
    ODDS,
    PERHAPS,
    RANGE,
    SHARES,
    SIZES,
    TIME_STAYS,
    TRY_EXACT,
)

from paretofoil.core.answer import Answer
from paretofoil.core.limit import Stop
from paretofoil.show.sentences import one_line, paragraph

OUTCOMES = {
    "found": (answer([6.3, -1.7]), [ASKED, BOTH, SHARES, PERHAPS, CAVEAT]),
    "found-with-a-gap": (
        answer([6.3, -1.7], proof=certificate("gap", 0.03), stop=Stop.OUT_OF_TIME),
        [
            ASKED,
            BOTH,
            SHARES,
            f"There may be a smaller change {MARGIN}: its scaled size is 0.125, and only those below 0.03 are proven "
            "to fail.",
            "The search stopped because its time ran out.",
            "A larger limit would find it, or prove that there is none.",
            CAVEAT,
        ],
    ),
    "found-before-the-queries-ran-out": (
        answer([6.3, -1.7], stop=Stop.OUT_OF_QUERIES),
        [ASKED, BOTH, SHARES, PERHAPS, "The search stopped because it had used all its queries.", CAVEAT],
    ),
    "proven-optimal": (proven([6.3, -1.7]), [ASKED, BOTH, SHARES, CLOSEST, CAVEAT]),
    "proven-infeasible": (proven(), [ASKED, f"U{NEVER}", RANGE, ODDS, ELSEWHERE]),
    "not-found": (answer(), [ASKED, NONE_FOUND, NOTHING_PROVEN, TRY_EXACT]),
    "not-found-in-time": (
        answer(stop=Stop.OUT_OF_TIME),
        [ASKED, NONE_FOUND, NOTHING_PROVEN, "The search stopped because its time ran out.", TRY_EXACT],
    ),
    "not-found-but-bounded": (
        answer(proof=certificate("gap", 0.03, np.inf), stop=Stop.OUT_OF_BOXES),
        [
            ASKED,
            NONE_FOUND,
            "9,001 queries were spent; any answer changes the command by more than 0.03 (scaled).",
            "The search stopped because its proof had looked at as many boxes of commands as it may.",
            "Try a larger limit.",
        ],
    ),
    "not-confirmed": (
        answer(stop=Stop.NOT_CONFIRMED),
        [
            ASKED,
            NONE_FOUND,
            NOTHING_PROVEN,
            "The search named a command, but the policy, asked again, does not choose the foil there clearly enough.",
            TRY_EXACT,
        ],
    ),
}

RESTRICTED = {
    "one-is-kept": (
        proven([6.3, -2.0], kept=(1,)),
        [
            ASKED,
            LESS_TREASURE,
            SHARES,
            TIME_STAYS,
            "This change is at most 0.73 % larger than the smallest one, with the wish about time kept, "
            f"{MARGIN}: {SIZES}",
            CAVEAT,
        ],
    ),
    "one-is-held-to-a-range": (
        proven([6.3, -1.7], held=(0,), low=[5.0, -3.0], high=[10.0, -1.0]),
        [
            ASKED,
            BOTH,
            SHARES,
            "This change is at most 0.73 % larger than the smallest one, with only 5 to 10 treasure allowed, "
            f"{MARGIN}: {SIZES}",
            CAVEAT,
        ],
    ),
    "few-were-to-change": (
        proven([6.3, -2.0], free=(0,)),
        [
            ASKED,
            LESS_TREASURE,
            SHARES,
            TIME_STAYS,
            f"This change is at most 0.73 % larger than the smallest one of treasure alone {MARGIN}: {SIZES}",
            CAVEAT,
        ],
    ),
    "none-with-one-kept-and-one-held": (
        proven(kept=(1,), held=(0,), low=[5.0, -2.0], high=[10.0, -2.0]),
        [
            ASKED,
            f"With the wish about time kept and only 5 to 10 treasure allowed, u{NEVER}",
            "That range is 5 to 10 treasure, with the rest as it was.",
            ODDS,
            ELSEWHERE,
        ],
    ),
    "none-with-both-kept": (
        proven(kept=(0, 1), low=[8.0, -2.0], high=[8.0, -2.0]),
        [ASKED, f"With the wishes about treasure and time kept, u{NEVER}", ODDS, ELSEWHERE],
    ),
    "a-range-without-width-is-told-as-kept": (
        proven(held=(1,), low=[7.0, -2.0], high=[9.0, -2.0]),
        [
            ASKED,
            f"With the wish about time kept, u{NEVER}",
            "That range is 7 to 9 treasure, with the rest as it was.",
            ODDS,
            ELSEWHERE,
        ],
    ),
    "not-found-with-one-kept": (
        answer(kept=(0,)),
        [
            ASKED,
            "No command was found, with the wish about treasure kept, under which the agent would have gone down "
            "instead of right here.",
            NOTHING_PROVEN,
            TRY_EXACT,
        ],
    ),
    "found-with-a-gap-and-one-kept": (
        answer([6.3, -2.0], kept=(1,), proof=certificate("gap", 0.03)),
        [
            ASKED,
            LESS_TREASURE,
            SHARES,
            TIME_STAYS,
            f"There may be a smaller change, with the wish about time kept, {MARGIN}: "
            "its scaled size is 0.125, and only those below 0.03 are proven to fail.",
            CAVEAT,
        ],
    ),
}

MARGINS = {
    "kappa-is-zero": (
        proven([6.3, -1.7], kappa=0.0),
        [
            ASKED,
            BOTH,
            SHARES,
            f"This change is at most 0.73 % larger than the smallest one that lets down win: {SIZES}",
            CAVEAT,
        ],
    ),
    "kappa-is-zero-and-there-is-none": (
        proven(kappa=0.0),
        [
            ASKED,
            "Under no command within its range would the agent have gone down here; this is proven.",
            RANGE,
            ELSEWHERE,
        ],
    ),
    "kappa-is-large": (
        proven(kappa=3.0),
        [
            ASKED,
            "Under no command within its range would the agent have gone down here (by a margin of 3); this is proven.",
            RANGE,
            "Only commands count under which down is at least 20.09 times as likely as any other action.",
            ELSEWHERE,
        ],
    ),
    "kappa-is-huge": (
        proven(kappa=1000.0),
        [
            ASKED,
            "Under no command within its range would the agent have gone down here (by a margin of 1000); "
            "this is proven.",
            RANGE,
            ELSEWHERE,
        ],
    ),
    "another-norm": (
        proven([6.3, -1.7], norm="l1"),
        [
            ASKED,
            BOTH,
            SHARES,
            f"This change is at most 0.73 % larger than the smallest one {MARGIN}: its scaled size (l1) is 0.125, "
            "and none below 0.1241 does it; this is proven.",
            CAVEAT,
        ],
    ),
    "a-change-as-small-as-the-gap": (
        proven([6.3, -1.7], proof=certificate(lower=0.0)),
        [
            ASKED,
            BOTH,
            SHARES,
            f"No change {MARGIN} is smaller by more than that: its scaled size is 0.125; this is proven.",
            CAVEAT,
        ],
    ),
}

ALL = OUTCOMES | RESTRICTED | MARGINS


@pytest.mark.parametrize("name", ALL)
def test_an_answer_reads_word_for_word(name: str) -> None:
    found, sentences = ALL[name]
    assert paragraph(found) == found.paragraph() == " ".join(sentences)
    assert one_line(found) == str(found) == sentences[1]


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (0, "You asked for 3 answers; no other was found that clearly differs."),
        (1, "You asked for 3 answers; only 2 were found that clearly differ."),
        (2, ""),
    ],
)
def test_fewer_answers_than_were_wanted_are_told(others: int, sentence: str) -> None:
    found = answer([6.3, -2.0], requested=3, alternatives=(answer([8.0, -1.0]),) * others)
    told = [ASKED, LESS_TREASURE, SHARES, TIME_STAYS, PERHAPS, sentence, CAVEAT]
    assert paragraph(found) == " ".join(filter(None, told))


def test_further_answers_speak_for_themselves() -> None:
    other = answer([8.0, -1.0])
    found = answer([6.3, -2.0], alternatives=(other,))
    assert one_line(found) == LESS_TREASURE
    assert one_line(found.alternatives[0]) == one_line(other) != one_line(found)


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (Stop.COMPLETE, "The search did all that it does."),
        (Stop.PROVEN, "The search stopped because its answer is proven."),
        (Stop.OUT_OF_TIME, "The search stopped because its time ran out."),
        (Stop.OUT_OF_QUERIES, "The search stopped because it had used all its queries."),
        (
            Stop.OUT_OF_BOXES,
            "The search stopped because its proof had looked at as many boxes of commands as it may.",
        ),
        (
            Stop.NOT_CONFIRMED,
            "The search named a command, but the policy, asked again, does not choose the foil there clearly enough.",
        ),
    ],
)
def test_every_reason_to_stop_has_its_sentence(stop: Stop, sentence: str) -> None:
    assert stop.sentence == sentence


def test_every_outcome_has_a_golden() -> None:
    told: list[Answer] = [found for found, _ in OUTCOMES.values()]
    assert {found.status for found in told} == set(type(told[0].status))
