"""Odd states and odd outputs of policies are errors that name them, the same by every search and every adapter."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import paretofoil as pf

SEARCHES = ["exact", "boundary", "cf-zoo", "nearest-front"]
SPACE = pf.CommandSpace([0.0, 0.0], [1.0, 1.0], ["speed", "safety"])
PREFERENCES = pf.CommandSpace.preferences(["speed", "safety"])
WEIGHTS = np.random.default_rng(0).normal(size=(5, 3))
FRONT = [[0.5, 0.5], [1.0, 0.0]]


def scores(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    return np.concatenate([states, commands], axis=1) @ WEIGHTS


def ask(policy: Any, state: Any, search: str, space: pf.CommandSpace = SPACE) -> Any:
    return pf.explain(policy, state=state, command=[0.5, 0.5], foil=0, space=space, search=search, front=FRONT)


STATES: dict[str, tuple[Any, str]] = {
    "NaN": ([np.nan, 0.0, 0.0], r"to be finite, got \[nan, 0.0, 0.0\]"),
    "infinity": ([np.inf, 0.0, 0.0], r"to be finite, got \[inf, 0.0, 0.0\]"),
    "None inside": ([0.0, None, 0.0], r"to be finite, got \[0.0, nan, 0.0\]"),
    "too short": ([0.0, 1.0], r"a policy that accepts states of shape \(1, 2\) and .*, got ValueError: matmul"),
    "too long": ([0.0] * 4, r"a policy that accepts states of shape \(1, 4\) and .*, got ValueError: matmul"),
    "empty": ([], r"a non-empty list of numbers, got \[\] of shape \(0,\)"),
    "a batch": ([[0.0, 0.0, 0.0]], r"a non-empty list of numbers, got \[\[0.0, 0.0, 0.0\]\] of shape \(1, 3\)"),
    "one number": (3.0, r"a non-empty list of numbers, got 3.0\Z"),
    "text": ("abc", "a list of numbers, got 'abc'"),
    "a dict": ({"eyes": [1.0]}, r"\(flatten an observation of several parts\) to be a list of numbers, got {'eyes'"),
    "rows of different lengths": ([[1.0], [1.0, 2.0]], r"a list of numbers, got \[\[1.0\], \[1.0, 2.0\]\]"),
    "complex": (np.array([1j, 0, 0]), r"to be real numbers, got \[1j, 0j, 0j\]"),
    "beyond float32": ([1e300, 0.0, 0.0], r"float32 numbers, at most 3.4e\+38 in size, got \[1e\+300"),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", STATES)
def test_an_odd_state_is_named(case: str, search: str) -> None:
    state, words = STATES[case]
    with pytest.raises(pf.InvalidInput, match=words):
        ask(scores, state, search)


OUTPUTS: dict[str, tuple[Callable[[np.ndarray, np.ndarray], Any], str]] = {
    "objects": (lambda s, c: scores(s, c).astype(object), r"that are real numbers, got dtype object: \[\[-?\d"),
    "complex": (lambda s, c: scores(s, c) + 0j, r"that are real numbers, got dtype complex128: \[\[\("),
    "text": (lambda s, c: scores(s, c).astype(str), "that are real numbers, got dtype <U32: "),
    "dates": (lambda s, c: np.zeros((len(s), 3), "datetime64[s]"), "that are real numbers, got dtype datetime64"),
    "nothing": (lambda s, c: None, "that are real numbers, got dtype object: None"),
    "rows of different lengths": (lambda s, c: [[0.0, 1.0]] * len(s) + [[0.0]], r"in one array, got \[\[0.0, 1.0\]"),
    "one row too many": (lambda s, c: np.zeros((len(s) + 1, 3)), r"of shape \(1, actions\), got shape \(2, 3\)"),
    "no actions": (lambda s, c: np.zeros((len(s), 0)), r"of shape \(1, actions\), got shape \(1, 0\)"),
    "a vector": (lambda s, c: np.zeros(3), r"of shape \(1, actions\), got shape \(3,\)"),
    "NaN": (lambda s, c: scores(s, c) * np.nan, r"NaN or infinity under the command \(0.5, 0.5\)"),
    "an error": (lambda s, c: s[:, 7], r"a policy that accepts states of shape \(1, 3\) .*, got IndexError: index 7"),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", OUTPUTS)
def test_an_odd_output_of_a_policy_is_named(case: str, search: str) -> None:
    policy, words = OUTPUTS[case]
    with pytest.raises(pf.InvalidInput, match=words):
        ask(policy, [0.0, 1.0, 2.0], search)


@pytest.mark.parametrize("search", ["boundary", "cf-zoo"])
def test_an_output_that_is_odd_in_a_search_only_is_named_too(search: str) -> None:
    def later(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return scores(states, commands) if (commands == 0.5).all() else scores(states, commands).astype(complex)

    with pytest.raises(pf.InvalidInput, match="that are real numbers, got dtype complex128"):
        ask(later, [0.0, 1.0, 2.0], search)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.cat([states, commands], dim=1))


@pytest.mark.parametrize("case", STATES)
def test_an_odd_state_of_a_torch_module_is_named(case: str) -> None:
    state, words = STATES[case]
    module = Module().eval()
    for search in SEARCHES:
        with pytest.raises(pf.InvalidInput, match="a module that takes states" if case.startswith("too") else words):
            ask(pf.from_torch(module, [0.0, 1.0, 2.0], SPACE), state, search)
    if case != "a batch":
        with pytest.raises(
            pf.InvalidInput, match=r"one state or several, as finite vectors|a module that takes states"
        ):
            pf.from_torch(module, state, SPACE)


TABLES: dict[str, tuple[Any, str]] = {
    "objects": (np.full((3, 2), None), "values that are real numbers, got dtype object"),
    "complex": (np.full((3, 2), 1j), "values that are real numbers, got dtype complex128"),
    "rows of different lengths": ([[1.0], [1.0, 2.0]], "values in one array, got "),
    "NaN": (np.full((3, 2), np.nan), "finite values of shape .*, got .*nan|NaN or infinity under the command"),
    "one number": (1.0, r"shape \(.*\), got shape \(\)|got shape"),
}


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("search", ["exact", "boundary"])
def test_odd_values_are_named(case: str, search: str) -> None:
    values, words = TABLES[case]
    with pytest.raises(pf.InvalidInput, match=words):
        ask(pf.from_q_table(lambda state: values), [0.0], search, PREFERENCES)
    rows = values[None] if isinstance(values, np.ndarray) else [values]
    with pytest.raises(pf.InvalidInput, match=words):
        ask(pf.from_q_values(lambda states, weights: rows), [0.0], "boundary", PREFERENCES)


@pytest.mark.parametrize("name", ["deep-sea-treasure", "minecart"])
@pytest.mark.parametrize("case", [*STATES, "complex, of the right size", "a cell off the map", "between two cells"])
def test_an_odd_observation_of_an_agent_is_named(name: str, case: str) -> None:
    agent = pf.load_agent(name)
    size = agent.environment.observation_size
    own = {
        "too short": [0.0],
        "complex, of the right size": np.zeros(size) + 1j,
        "a cell off the map": [-1, 0],
        "between two cells": [0.5, 0],
    }
    state = own[case] if case in own else STATES[case][0]
    with pytest.raises(pf.InvalidInput, match=f"expected a state of {size} finite numbers, or a raw observation of"):
        agent.decision_at(state, agent.front[0])


@pytest.mark.parametrize(("states", "commands", "words"), [
    (np.zeros((1, 21)), np.zeros((1, 2)), r"states of 22 numbers each, got shape \(1, 21\)"),
    (np.zeros(22), np.zeros((1, 2)), r"states of 22 numbers each, got shape \(22,\)"),
    (np.zeros((2, 22)), np.zeros((2, 3)), r"commands of 2 numbers each, got shape \(2, 3\)"),
])  # fmt: skip
def test_a_network_names_inputs_that_do_not_fit(states: np.ndarray, commands: np.ndarray, words: str) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        pf.load_agent("deep-sea-treasure").policy.log_probs(states, commands)
