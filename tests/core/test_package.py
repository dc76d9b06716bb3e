"""The package as people meet it: its names, how values print, and rows as frames."""

import inspect
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from answers import FUEL, TIME, TREASURE, answer, certificate, proven
from policies import random_pcn, random_question

import paretofoil as pf
from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput


def test_dir_lists_the_public_names() -> None:
    assert dir(pf) == sorted(pf.__all__)
    assert {"Agent", "Answer", "explain", "load_agent", "__version__"} <= set(dir(pf))
    assert len(dir(pf)) <= 45


@pytest.mark.parametrize("name", pf.__all__)
def test_every_public_name_can_be_loaded_and_says_what_it_is(name: str) -> None:
    value = getattr(pf, name)
    if name == "__version__":
        assert value
        return
    doc = value.__doc__ or ""
    assert doc.strip()
    assert not (inspect.isclass(value) and doc.startswith(f"{name}(")), "a signature is no docstring"


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'explian'"):
        pf.explian  # type: ignore[attr-defined]  # noqa: B018


def values_of(name: str) -> dict[str, Any]:
    """One value of every kind that people print, from a shipped agent."""
    agent = pf.load_agent(name)
    episode = pf.rollout(agent, agent.front[0])
    decision = next(d for d in episode if len(d.valid_actions) > 1)
    foil = next(a for a in decision.valid_actions if a != decision.action)
    found = pf.explain(agent, decision, foil=foil, search="nearest-front")
    question = found.live.question  # type: ignore[union-attr]
    flips = pf.FlipMap(
        agent.name,
        found.question.objectives,
        found.question.actions,
        episode.command,
        episode.achieved,
        tuple(d.action for d in episode),
        (decision.step,),
        (found,),
    )
    return {
        "Agent": agent,
        "PCNPolicy": agent.policy,
        "CommandSpace": agent.space,
        "Episode": episode,
        "Decision": decision,
        "Question": question,
        "Answer": found,
        "FlipMap": flips,
    }


@pytest.mark.parametrize("name", ["deep-sea-treasure", "fruit-tree", "minecart"])
def test_every_value_prints_as_one_short_line(name: str) -> None:
    for kind, value in values_of(name).items():
        text = repr(value)
        assert text.startswith(f"<{kind}")
        assert "\n" not in text
        assert len(text) < 200


@pytest.mark.parametrize("proof", [certificate(), certificate("infeasible", np.inf, np.inf), certificate("gap", 0.03)])
def test_a_certificate_prints_as_one_short_line(proof: Any) -> None:
    text = repr(proof)
    assert text.startswith(f"<Certificate: {proof.status}")
    assert "\n" not in text
    assert len(text) < 200


def test_lines_word_for_word() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    policy = random_pcn(0)
    assert repr(agent) == (
        "<Agent 'deep-sea-treasure' in deep-sea-treasure: 2 objectives, 4 actions, "
        f"a front of {len(agent.front)} points>"
    )
    assert repr(pf.CommandSpace([1, -40], [124, -1], ["treasure", "time"])) == (
        "<CommandSpace: treasure 1 to 124, time -40 to -1>"
    )
    assert repr(policy) == "<PCNPolicy: 5 state and 2 command numbers, 32 hidden units, 3 actions>"
    asked = random_question(policy, 0)
    command = ", ".join(f"{number:g}" for number in asked.command)
    assert repr(asked) == f"<Question: why not action {asked.foil}, of 3 valid ones, under the command ({command})?>"
    assert repr(certificate()) == "<Certificate: optimal, distance 0.1241 to 0.125, 7 boxes>"


def flip_map(*objectives: Objective) -> pf.FlipMap:
    first, never = answer([6.3, -1.7], objectives=objectives), proven(foil=0, objectives=objectives)
    taken, times = (3, 3), (0, 1)
    return pf.FlipMap(
        "mine",
        first.question.objectives,
        first.question.actions,
        first.question.command,
        first.question.command,
        taken,
        times,
        (first, never),
    )


@pytest.fixture
def pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in whose frames are the rows themselves."""
    stand_in = ModuleType("pandas")
    stand_in.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", stand_in)


@pytest.mark.usefixtures("pandas")
def test_a_frame_has_a_row_for_each_moment_and_foil() -> None:
    flips = flip_map(TREASURE, FUEL)
    first, never = flips.to_frame()
    assert [first[key] for key in ("step", "chosen", "foil", "status")] == [0, "right", "down", "found"]
    assert [first[key] for key in ("ask for treasure", "ask for fuel", "distance", "queries")] == [
        6.3,
        -1.7,
        0.125,
        9001,
    ]
    assert first["sentence"] == str(flips.answers[0])
    assert [never[key] for key in ("step", "foil", "status")] == [1, "up", "proven infeasible"]
    assert [never[key] for key in ("ask for treasure", "ask for fuel", "distance")] == [None, None, None]


@pytest.mark.usefixtures("pandas")
def test_a_frame_keeps_the_moment_where_an_objective_is_called_time() -> None:
    assert [row["step"] for row in flip_map(TREASURE, TIME).to_frame()] == [0, 1]


def test_a_frame_without_pandas_says_that_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInput, match=r"pandas is not installed\. Install it with: pip install pandas"):
        flip_map(TREASURE, FUEL).to_frame()
