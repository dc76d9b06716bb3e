"""Every number and claim of a text is read back from the text, and compared with the policy and the environment.

`benchmarks/read_paragraphs.py` does the same with more than 500 texts.
"""

import itertools
from typing import Any

import paragraphs
import pytest
from discrete import DISCRETE
from paragraphs import KINDS, RESTRICTED
from tiers import long_except

import paretofoil as pf
from paretofoil.search import Boundary, Exact

MORE: list[dict[str, Any]] = [
    {"kappa": 1.0},
    {"range": (0.05, 0.5), "keep": (0,)},
    {"box": "paper"},
    {"box": "paper", "sparse": True, "norm": "l1"},
    {"search": Boundary(max_queries=300), "keep": (0,)},
    {"search": Boundary(max_queries=300), "k": 3},
    {"search": Exact(max_boxes=1, start=None)},
]
SLOW = ("fruit-tree", "minecart", "minecart-early", "mountain-car")
CHEAP = [options for options in [{"box": "paper"}, *RESTRICTED, MORE[-1]] if not {"sparse", "k"} & set(options)]
NUM_ANSWERS = {
    "branch-path": 32,
    "breakable-bottles": 22,
    "breakable-bottles-realised": 8,
    "collect-two": 42,
    "deep-sea-treasure": 45,
    "deep-sea-treasure-early": 45,
    "four-room": 10,
    "fruit-tree": 10,
    "minecart": 15,
    "minecart-early": 15,
    "resource-gathering": 36,
    "resource-gathering-realised": 12,
    "mountain-car": 10,
    "reward-line": 45,
    "three-tree": 12,
    "walkroom-2": 20,
    "walkroom-3": 10,
}
"""At least so many answers are read, with as many kinds of restrictions as there are."""
QUICK_TEXTS = dict.fromkeys(KINDS, 6) | {"never": 30, "influence": 14}
SENTENCES = {
    "episodes": {"situation", "change", "shares", "consequence", "start", "range", "proof", "attainable", "never"},
    "own decisions": {"situation", "change", "shares", "consequence", "start", "range", "proof", "attainable"},
    "horizon agents": {"situation", "change", "shares", "consequence", "start", "range", "proof", "attainable"},
    "imported agents": {"situation", "change", "shares", "range", "proof"},
    "preferences": {"situation", "change", "shares", "weights range", "proof", "consequence", "same start"},
    "influence": {"shares", "its region", "alone", "together", "count", "most", "inert"},
    "never": {"some", "never", "its region", "invalid"},
    "flip maps": {"smallest", "proven"},
}
"""Sentences that must be among the texts of each kind."""


def test_three_hundred_answers_are_read() -> None:
    assert sum(NUM_ANSWERS.values()) >= 300
    assert set(NUM_ANSWERS) == set(DISCRETE)


@pytest.mark.parametrize("name", long_except(NUM_ANSWERS, ("branch-path",)))
def test_every_number_of_a_paragraph_is_true(name: str) -> None:
    agent, num_read = pf.load_agent(name), 0
    options = itertools.cycle(CHEAP if name in SLOW else RESTRICTED + MORE)
    for decision in paragraphs.decisions_of(agent):
        for paragraph in paragraphs.explained(agent, decision, next(options)):
            paragraph.examine()
            num_read += 1
        if num_read >= NUM_ANSWERS[name]:
            return
    pytest.fail(f"only {num_read} answers were read")


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_true_and_an_altered_number_is_noticed(kind: str) -> None:
    noticed = altered = 0
    sentences: set[str] = set()
    for paragraph in paragraphs.paragraphs(kind, QUICK_TEXTS[kind]):
        sentences |= paragraph.examine()
        counts = paragraph.count_noticed()
        noticed, altered = noticed + counts[0], altered + counts[1]
    assert sentences >= SENTENCES[kind]
    assert altered >= 150
    assert noticed >= 0.95 * altered


def test_a_false_claim_without_a_number_is_noticed() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    texts = paragraphs.explained(agent, decision, {})
    paragraph = next(each for each in texts if "gone down" in each.text)
    claims = {
        "chooses right": "chooses left",
        "gone down instead": "gone left instead",
        "fewer steps (": "more steps (",
        ", as asked": "",
        "it also leads to": "it does not lead to",
        " from here on also makes": " also makes",
        "delivers exactly": "delivers nearly",
        "Treasure is unchanged": "Time is unchanged",
        "the whole episode ends": "the episode ends",
        "(proven, for a margin of 0.05)": "(proven)",
    }
    for words, other in claims.items():
        assert words in paragraph.text
        assert paragraph.notices(paragraph.text.replace(words, other)), words
