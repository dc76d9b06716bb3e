"""Options: checked once, described for every interface, and misspelt names are refused with the nearest right one."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import plain, read_value
from paretofoil.core.options import Options, describe_options


def test_every_option_has_a_description() -> None:
    described = {info.name: info for info in describe_options()}
    assert list(described) == [entry.name for entry in fields(Options)]
    assert all(info.help.endswith(".") for info in described.values())
    assert described["norm"].choices == ("l1", "l2", "linf")
    assert (described["min_change"].minimum, described["min_change"].maximum) == (0.0, 1.0)
    assert described["kappa"].optional
    assert {info.kind for info in described.values()} == {
        *("choice", "number", "objectives", "ranges", "flag", "whole"),
    }
    assert all(info.checked(info.default) == info.default for info in described.values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"box": "papers"}, "box among reachable, paper, got 'papers'"),
        ({"norm": "l3"}, "norm among l1, l2, linf, got 'l3'"),
        ({"kappa": -1.0}, "kappa of at least 0, got -1"),
        ({"kappa": float("nan")}, "kappa to be a finite number, got nan"),
        ({"kappa": "much"}, "kappa to be a finite number, got 'much'"),
        ({"k": 0}, "k of at least 1, got 0"),
        ({"k": 1.5}, "k to be a whole number, got 1.5"),
        ({"min_change": 2.0}, "min_change of at least 0 and at most 1, got 2.0"),
        ({"sparse": 1}, "sparse to be True or False, got 1"),
        ({"keep": "time"}, "keep as a list of objectives, got 'time'"),
        ({"ranges": [1, 2]}, r"ranges as {name: \(lowest, highest\)}, got \[1, 2\]"),
        ({"ranges": {"time": 3}}, r"a range of time as \(lowest, highest\), got 3"),
        ({"ranges": {"time": (2, 1)}}, "a range of time with the lowest value first, got 2 to 1"),
    ],
)
def test_a_wrong_value_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"expected {message}"):
        Options(**wrong)


def test_a_misspelt_argument_is_refused_with_the_nearest_right_one() -> None:
    with pytest.raises(InvalidInput, match=r"got 'min_chang' \(did you mean min_change\?\)"):
        Options(min_chang=0.1)  # type: ignore[call-arg]
    agent = pf.load_agent("branch-path")
    decision = pf.rollout(agent, agent.front[0])[0]
    for call in (pf.explain, pf.explain_decision, pf.explain_episode):
        with pytest.raises(InvalidInput, match=r"got 'serch' \(did you mean search\?\)"):
            call(agent, decision, serch="exact")  # type: ignore[call-arg, operator]
        with pytest.raises(InvalidInput, match=r"got 'kappa' \(did you mean options=Options\(kappa=\.\.\.\)\?\)"):
            call(agent, decision, kappa=0.1)  # type: ignore[call-arg, operator]


def test_options_and_limits_of_another_type_are_refused() -> None:
    agent = pf.load_agent("branch-path")
    decision = pf.rollout(agent, agent.front[0])[0]
    for call in (pf.explain_decision, pf.explain_episode):
        with pytest.raises(InvalidInput, match=r"expected options=pf.Options\(...\), got {'keep': \['A'\]}"):
            call(agent, decision, options={"keep": ["A"]})  # type: ignore[arg-type, operator]
        with pytest.raises(InvalidInput, match=r"expected limits=pf.Limits\(...\), got 5"):
            call(agent, decision, limits=5)  # type: ignore[arg-type, operator]
    with pytest.raises(InvalidInput, match=r"got 'second' \(did you mean seconds\?\)"):
        pf.Limits(second=5)  # type: ignore[call-arg]


def test_a_name_that_is_not_near_any_other_has_no_suggestion() -> None:
    with pytest.raises(InvalidInput, match=r"got 'seed'\Z"):
        Options(seed=1)  # type: ignore[call-arg]


def test_options_are_written_as_the_call_that_makes_them() -> None:
    options = Options(keep=["time"], k=np.int64(2), kappa=1)
    assert repr(options) == "Options(kappa=1.0, keep=('time',), k=2)"
    assert repr(Options()) == "Options()"


def test_options_are_read_from_plain_values() -> None:
    options = Options(keep=["time"], ranges={"treasure": (1, 2)}, kappa=0.1)
    assert read_value(Options, plain(options), "options") == options
    with pytest.raises(InvalidInput, match="kappa"):
        read_value(Options, {"kappa": "x"}, "options")
