"""The Python lines beside an answer give that answer when they are run."""

from typing import Any

import pytest
from visitor import QUESTION, Visitor, visiting

ASKED: list[dict[str, Any]] = [
    {},
    {"search": "boundary", "seed": 3, "queries": 5000, "options": {"kappa": 0.1, "norm": "linf"}},
    {"options": {"keep": ["treasure"], "sparse": True, "k": 2, "min_change": 0.02}},
    {"options": {"ranges": {"treasure": [1.0, 20.5]}, "box": "paper"}, "seconds": 7.5},
    {"command": [8.25, -8.0], "step": 1},
    {"foil": None, "outcome": "treasure >= 20, ends", "options": {"norm": "linf"}},
    {
        "agent": "resource-gathering",
        "command": [0.0, 0.0, 1.0],
        "step": 0,
        "foil": None,
        "outcome": "gold >= 1",
        "share": 0.6,
        "seconds": 60,
    },
]


def run(lines: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(lines, "lines of the page", "exec"), names)
    return names


def timeless(told: Any) -> Any:
    """An answer without the seconds that it took."""
    if isinstance(told, list):
        return [timeless(item) for item in told]
    return {k: timeless(v) for k, v in told.items() if k != "seconds"} if isinstance(told, dict) else told


@pytest.mark.parametrize("changed", ASKED, ids=str)
def test_the_lines_give_the_same_answer(
    visitor: Visitor, changed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    result = visitor.wait(visitor.ask("/api/answers", {**QUESTION, **changed}))["result"]
    answer = run(result["python"])["answer"]
    assert capsys.readouterr().out == f"{result['paragraph']}\n"
    assert timeless(answer.to_dict()) == timeless(result["answer"])


def test_the_lines_of_a_flip_map_give_the_same_map(visitor: Visitor) -> None:
    asked = {"agent": "branch-path", "command": [1.0, 1.0], "steps": [0, 1, 2], "search": "nearest-front"}
    result = visitor.wait(visitor.ask("/api/flip-maps", asked))["result"]
    flips = run(result["python"])["flips"]
    assert [str(a) for a in flips.answers] == [a["sentence"] for a in result["flip_map"]["answers"]]


def test_the_lines_of_your_own_agent_import_it() -> None:
    names = ("slow_agent:patient", "slow_agent:blunt")  # an agent, and a function that returns one
    with visiting(agents=names) as visitor:
        for name in names:
            asked = {**QUESTION, "agent": name, "search": "nearest-front", "options": {"attainable": False}}
            result = visitor.wait(visitor.ask("/api/answers", asked))["result"]
            assert str(run(result["python"])["answer"]) == result["sentence"]
