"""The checker of policies says in words what is wrong, and raises nothing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from policies import LinearPolicy, random_pcn
from torch import nn

import paretofoil as pf
from paretofoil.explanation.check_policy import PolicyReport, check_policy

SPACE = pf.CommandSpace([0.0, 0.0], [1.0, 1.0], ["treasure", "time"])
STATES = np.random.default_rng(0).normal(size=(4, 5))
PCN = random_pcn(0)


class Network(nn.Module):
    """Of the two side by side, with whatever is put in the middle."""

    def __init__(self, middle: nn.Module) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layers = nn.Sequential(nn.Linear(7, 16), middle, nn.Linear(16, 3))

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        return self.layers(torch.cat([states, commands], dim=1))


def ask_network(states: np.ndarray, commands: np.ndarray, middle: nn.Module) -> torch.Tensor:
    return Network(middle)(torch.tensor(states).float(), torch.tensor(commands).float())


def ask_quietly(middle: nn.Module) -> Callable[..., np.ndarray]:
    def ask(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return ask_network(states, commands, middle).numpy()

    return ask


def check(policy: Any) -> PolicyReport:
    return check_policy(policy, STATES, space=SPACE)


def test_nothing_is_wrong_with_a_policy_whose_rows_are_exact_log_probabilities() -> None:
    report = check(PCN)
    assert report.ok
    assert report.sentences == ()
    assert str(report) == "The policy has no problems."


def test_a_policy_with_its_own_space_needs_no_other() -> None:
    free = [pf.Feature("speed", 0, -1, 1)]
    assert pf.check_policy(pf.from_function(lambda states: states, [0.0, 1.0], free=free), [0.0, 1.0]).ok


def test_commands_may_be_given_instead_of_a_space() -> None:
    commands = np.random.default_rng(1).random((3, 2))
    assert pf.check_policy(PCN, STATES[0], commands).ok
    assert pf.check_policy(PCN, STATES, commands[0]).ok


def test_logits_and_last_bits_are_noted_but_not_wrong() -> None:
    report = check(ask_quietly(nn.Tanh()))
    assert report.ok
    assert "read as logits" in report.notes[0]
    noisy = check(lambda s, c: PCN.log_probs(s, c) + 1e-6 * len(c) * np.arange(3))
    assert noisy.ok
    assert any("between batches; searches allow for this" in note for note in noisy.notes)


def write_over(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    commands -= commands.mean()
    return PCN.log_probs(states, commands)


def nan_for_some(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    return np.where(commands[:, :1] > 0.5, np.nan, PCN.log_probs(states, commands))


def only_in_small_batches(states: np.ndarray, commands: np.ndarray, error: Any = MemoryError) -> np.ndarray:
    if len(commands) > 32:
        raise error("no room for so many rows")
    return PCN.log_probs(states, commands)


class Promising(LinearPolicy):
    """Says that its rows are exact, which they are not."""

    exact_rows = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return super().log_probs(states, commands) + 1e-6 * len(commands) * np.arange(3)


WRONG: dict[str, tuple[Any, str]] = {
    "no policy": (3, "Expected a policy with log_probs(states, commands), or a function, got int."),
    "shape": (
        lambda s, c: PCN.log_probs(s, c)[:, 0],
        "It returns an array of shape (1,) for 1 rows; expected (1, number of actions)",
    ),
    "squeeze": (lambda s, c: PCN.log_probs(s, c).squeeze(), "return one row also for a single state"),
    "transposed": (lambda s, c: PCN.log_probs(s, c).T, "is the result transposed?"),
    "three axes": (
        lambda s, c: PCN.log_probs(s, c)[:, None],
        "of shape (1, 1, 3) for 1 rows; expected (1, number of actions).",
    ),
    "NaN": (nan_for_some, "It returns NaN or infinity in "),
    "words": (lambda s, c: np.full((len(c), 3), "up"), "It returns <U2; expected numbers."),
    "probabilities": (
        lambda s, c: np.exp(PCN.log_probs(s, c)),
        "It returns probabilities (rows in [0, 1] that sum to 1)",
    ),
    "gradients": (lambda s, c: ask_network(s, c, nn.Tanh()), "Its result requires gradients"),
    "dropout": (ask_quietly(nn.Dropout(0.5)), "It is random: the same batch gives different results"),
    "batch norm": (ask_quietly(nn.BatchNorm1d(16)), "Expected more than 1 value per channel when training"),
    "neighbours": (
        lambda s, c: PCN.log_probs(s, c - c.mean(axis=0)),
        "Its rows depend on each other: margins differ by up to",
    ),
    "promise": (Promising(np.eye(3, 2), np.zeros(3)), "It declares exact_rows, but its margins differ by up to"),
    "a bare module": (Network(nn.Tanh()), "a torch module (convert it with pf.from_torch)"),
    "doubles": (lambda s, c: Network(nn.Tanh())(torch.tensor(s), torch.tensor(c)), "Convert both to float32 tensors."),
    "writes": (write_over, "It changes the arrays of states and commands in place"),
    "large batches": (only_in_small_batches, "It raised MemoryError"),
    "large batches, wrong value": (partial(only_in_small_batches, error=ValueError), "It raised ValueError"),
    "nothing": (lambda s, c: None, "expected (1, number of actions)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(name: str) -> None:
    policy, sentence = WRONG[name]
    report = check(policy)
    assert not report.ok
    assert len(report.problems) == 1
    assert sentence in report.problems[0]
    assert str(report).startswith("This policy cannot be explained.\n- ")


def half(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    return PCN.log_probs(states, commands).astype(np.float16)


def impossible(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    return np.hstack([PCN.log_probs(states, commands), np.full((len(commands), 1), -np.inf)])


NOTED: dict[str, tuple[Callable[..., Any], str]] = {
    "half precision": (half, "It returns float16"),
    "impossible": (impossible, "Some log-probabilities are -infinity"),
    "no influence": (lambda s, c: PCN.log_probs(s, 0 * c), "the command has no effect on the choice"),
    "one action": (lambda s, c: np.zeros((len(c), 1)), "There is only one action"),
}


@pytest.mark.parametrize("name", NOTED)
def test_what_is_good_to_know_is_noted(name: str) -> None:
    policy, note = NOTED[name]
    report = check(policy)
    assert report.ok, report
    assert any(note in sentence for sentence in report.notes)


@pytest.mark.parametrize(
    ("states", "options", "sentence"),
    [
        (STATES, {}, "Expected commands, or the space of the commands, got neither."),
        ([[np.nan]], {"space": SPACE}, "Expected at least one vector of finite numbers as states"),
        ("here", {"space": SPACE}, "Expected states that are lists of numbers, got 'here'."),
        (STATES, {"space": SPACE, "commands": [[1.0]]}, "Expected commands of 2 numbers, got 1."),
    ],
)
def test_rows_that_cannot_be_asked_about_are_reported_not_raised(
    states: Any, options: dict[str, Any], sentence: str
) -> None:
    report = check_policy(PCN, states, **options)
    assert not report.ok
    assert sentence in report.problems[0]


def test_a_policy_from_torch_passes() -> None:
    policy = pf.from_torch(Network(nn.Tanh()), STATES, SPACE)
    assert check(policy).ok


def test_commands_that_are_no_preferences_are_told_not_raised() -> None:
    space = pf.CommandSpace.preferences(["a", "b"])
    report = check_policy(LinearPolicy(np.eye(2), np.zeros(2)), [[0.0]], [[0.5, 0.4], [0.2, 0.3]], space=space)
    assert not report.ok
    assert "Expected the commands to be weights of at least 0 that sum to 1" in report.problems[0]
