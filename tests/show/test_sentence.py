"""Sentences word for word: the status of an answer, its restrictions, and what is proven."""

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
    NEVER,
    NONE_FOUND,
    NOTHING_PROVEN,
    ODDS,
    PERHAPS,
    PROVEN,
    RANGE,
    SHARES,
    TIME_STAYS,
    TRY_EXACT,
)

from paretofoil.core.answer import Status
from paretofoil.core.options import Stop
from paretofoil.show.sentences import one_line, paragraph

OUTCOMES = {
    "found": (answer([6.3, -1.7]), [ASKED, BOTH, SHARES, PERHAPS, CAVEAT]),
    "found-with-a-gap": (
        answer([6.3, -1.7], proof=certificate("gap", 0.03), stop=Stop.OUT_OF_TIME),
        [
            ASKED,
            BOTH,
            SHARES,
            f"A smaller change may exist: only changes that are more than 76 % smaller are ruled out {PROVEN}",
            "The search stopped because its time ran out.",
            "With a larger limit, the search would find it or prove that there is none.",
            CAVEAT,
        ],
    ),
    "found-with-a-gap-and-proven-in-linf": (
        answer(
            [6.3, -1.7],
            proof=certificate("gap", 0.03),
            other_norms=(proven([6.3, -2.0], norm="linf", proof=certificate("optimal", 0.12412, norm="linf")),),
        ),
        [
            ASKED,
            BOTH,
            SHARES,
            f"A smaller change may exist: only changes that are more than 76 % smaller are ruled out {PROVEN}",
            "In another norm, the closest command is proven: "
            "the linf norm counts only the largest change of a number as a share of its range.",
            LESS_TREASURE,
            f"No change that is more than 0.71 % smaller (in the linf norm) works {PROVEN}",
            CAVEAT,
        ],
    ),
    "found-before-the-queries-ran-out": (
        answer([6.3, -1.7], stop=Stop.OUT_OF_QUERIES),
        [ASKED, BOTH, SHARES, PERHAPS, "The search stopped because it had used all its queries.", CAVEAT],
    ),
    "proven-optimal": (proven([6.3, -1.7]), [ASKED, BOTH, SHARES, CLOSEST, CAVEAT]),
    "proven-infeasible": (proven(), [ASKED, f"{NEVER} {PROVEN}", RANGE, ODDS, ELSEWHERE]),
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
            "The search used 9,001 queries: any such command is at a scaled distance of more than 0.03 "
            "(proven, for a margin of 0.05).",
            "The search stopped because its proof reached the limit of boxes of commands.",
            "Try a larger limit.",
        ],
    ),
    "not-confirmed": (
        answer(stop=Stop.NOT_CONFIRMED),
        [
            ASKED,
            NONE_FOUND,
            NOTHING_PROVEN,
            Stop.NOT_CONFIRMED.sentence,
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
            f"No change that is more than 0.72 % smaller works with time unchanged {PROVEN}",
            CAVEAT,
        ],
    ),
    "one-is-held-to-a-range": (
        proven([6.3, -1.7], held=(0,), low=[5.0, -3.0], high=[10.0, -1.0]),
        [
            ASKED,
            BOTH,
            SHARES,
            f"No change that is more than 0.72 % smaller works with 5 to 10 treasure {PROVEN}",
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
            f"No change of treasure alone that is more than 0.72 % smaller works {PROVEN}",
            CAVEAT,
        ],
    ),
    "none-with-one-kept-and-one-held": (
        proven(kept=(1,), held=(0,), low=[5.0, -2.0], high=[10.0, -2.0]),
        [
            ASKED,
            f"{NEVER} with time unchanged and 5 to 10 treasure {PROVEN}",
            "The search region is 5 to 10 treasure, with the rest unchanged.",
            ODDS,
            ELSEWHERE,
        ],
    ),
    "none-with-both-kept": (
        proven(kept=(0, 1), low=[8.0, -2.0], high=[8.0, -2.0]),
        [ASKED, f"{NEVER} with treasure and time unchanged {PROVEN}", ODDS, ELSEWHERE],
    ),
    "a-range-without-width-is-unchanged": (
        proven(held=(1,), low=[7.0, -2.0], high=[9.0, -2.0]),
        [
            ASKED,
            f"{NEVER} with time unchanged {PROVEN}",
            "The search region is 7 to 9 treasure, with the rest unchanged.",
            ODDS,
            ELSEWHERE,
        ],
    ),
    "not-found-with-one-kept": (
        answer(kept=(0,)),
        [
            ASKED,
            "No command was found that makes the agent choose down in this state with treasure unchanged.",
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
            "A smaller change may exist with time unchanged: only changes that are more than 76 % smaller are ruled "
            f"out {PROVEN}",
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
            "No change that is more than 0.72 % smaller works (proven).",
            CAVEAT,
        ],
    ),
    "kappa-is-zero-and-there-is-none": (
        proven(kappa=0.0),
        [
            ASKED,
            f"{NEVER} (proven).",
            RANGE,
            ELSEWHERE,
        ],
    ),
    "kappa-is-large": (
        proven(kappa=3.0),
        [
            ASKED,
            f"{NEVER} (proven, for a margin of 3).",
            RANGE,
            "With this margin, down must be at least 20.1 times as probable as any other action.",
            ELSEWHERE,
        ],
    ),
    "kappa-is-huge": (
        proven(kappa=1000.0),
        [
            ASKED,
            f"{NEVER} (proven, for a margin of 1000).",
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
            f"No change that is more than 0.72 % smaller (in the l1 norm) works {PROVEN}",
            CAVEAT,
        ],
    ),
    "a-change-as-small-as-the-gap": (
        proven([6.3, -1.7], proof=certificate(lower=0.0)),
        [
            ASKED,
            BOTH,
            SHARES,
            f"Its scaled distance, 0.125, is within the tolerance of the proof {PROVEN}",
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
        (0, "You requested 3 answers; no other was found that clearly differs."),
        (1, "You requested 3 answers; only 2 were found that clearly differ."),
        (2, ""),
    ],
)
def test_fewer_answers_than_requested_are_mentioned(others: int, sentence: str) -> None:
    found = answer([6.3, -2.0], requested=3, alternatives=(answer([8.0, -1.0]),) * others)
    sentences = [ASKED, LESS_TREASURE, SHARES, TIME_STAYS, PERHAPS, sentence, CAVEAT]
    assert paragraph(found) == " ".join(filter(None, sentences))


def test_further_answers_speak_for_themselves() -> None:
    other = answer([8.0, -1.0])
    found = answer([6.3, -2.0], alternatives=(other,))
    assert one_line(found) == LESS_TREASURE
    assert one_line(found.alternatives[0]) == one_line(other) != one_line(found)


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (Stop.COMPLETE, "The search ran to completion."),
        (Stop.PROVEN, "The search stopped because its answer is proven."),
        (Stop.OUT_OF_TIME, "The search stopped because its time ran out."),
        (Stop.OUT_OF_QUERIES, "The search stopped because it had used all its queries."),
        (
            Stop.OUT_OF_BOXES,
            "The search stopped because its proof reached the limit of boxes of commands.",
        ),
        (
            Stop.NOT_CONFIRMED,
            "The search returned a command, but when the policy was queried again, the foil did not win by the margin.",
        ),
    ],
)
def test_every_reason_to_stop_has_its_sentence(stop: Stop, sentence: str) -> None:
    assert stop.sentence == sentence


def test_every_outcome_has_a_golden() -> None:
    assert {found.status for found, _ in OUTCOMES.values()} == set(Status)
