"""Torch modules of values that depend on the preferences, as MORL-Baselines' Envelope has them."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.core.errors import InvalidInput

SPACE = pf.CommandSpace.preferences(["fuel", "ore", "time"])
STATE = np.array([0.3, -0.7], dtype=np.float32)


class Values(nn.Module):
    """States and weights side by side, values of 4 actions in 3 objectives."""

    def __init__(self, *last: nn.Module, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), *last, nn.Linear(24, 12))
        with torch.no_grad():
            for weight in self.net.parameters():
                weight.mul_(3.0)

    def forward(self, state: Tensor, weights: Tensor) -> Tensor:
        values: Tensor = self.net(torch.cat((state, weights), dim=weights.dim() - 1))
        return values.view(-1, 4, 3)


def explain(module: nn.Module, seed: int) -> pf.Answer:
    policy, weights = pf.from_q_module(module.eval(), STATE, SPACE), np.random.default_rng(seed).dirichlet(np.ones(3))
    worth = policy.log_probs(STATE[None], weights[None])[0]
    return pf.explain(policy, state=STATE, command=weights, foil=int(worth.argsort()[-2]))


def test_an_action_is_worth_the_weights_times_its_values() -> None:
    module, weights = Values(), np.random.default_rng(0).dirichlet(np.ones(3), size=7)
    policy = pf.from_q_module(module, STATE, SPACE)
    states = np.repeat(STATE[None], 7, axis=0)
    with torch.no_grad():
        told = module(torch.tensor(states), torch.tensor(weights, dtype=torch.float32)).numpy()
    worth = policy.log_probs(states, weights)
    assert worth == pytest.approx(np.einsum("nd,nad->na", weights, told), abs=1e-6)
    assert policy.fold_values(STATE).values(weights) == pytest.approx(worth, abs=1e-5)  # type: ignore[attr-defined]


def test_answers_about_a_module_are_proven_sum_to_1_and_are_what_it_chooses() -> None:
    outcomes = []
    for seed in range(6):
        module = Values(seed=seed)
        answer = explain(module, seed)
        outcomes.append(answer.status)
        if answer.command is not None:
            assert answer.command.sum() == pytest.approx(1.0, abs=1e-12)
            with torch.no_grad():
                weights = torch.tensor(answer.command, dtype=torch.float32)
                worth = torch.einsum("r,bar->ba", weights, module(torch.tensor(STATE), weights))
            assert int(worth.argmax()) == answer.question.foil
    assert set(outcomes) <= {pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE}
    assert pf.Status.PROVEN_CLOSEST in outcomes


def test_what_cannot_be_folded_is_a_black_box_that_says_why() -> None:
    policy = pf.from_q_module(Values(nn.Softmin(dim=-1)).eval(), STATE, SPACE)
    assert not policy.is_white_box
    assert "softmin" in str(policy.why_not)
    assert repr(policy) == "<QModulePolicy: Values, black-box>"
    assert explain(Values(nn.Softmin(dim=-1)), 0).search.name == "boundary"


def test_a_module_that_can_be_folded_says_so() -> None:
    policy = pf.from_q_module(Values(), STATE, SPACE)
    assert policy.is_white_box
    assert policy.why_not is None
    assert repr(policy).startswith("<WhiteBoxQModulePolicy: Values, folds to ")


class Flat(nn.Module):
    def forward(self, state: Tensor, weights: Tensor) -> Tensor:
        return weights


class Several(nn.Module):
    def forward(self, state: Tensor, weights: Tensor) -> list[Tensor]:
        return [weights]


class OtherObjectives(nn.Module):
    def forward(self, state: Tensor, weights: Tensor) -> Tensor:
        return weights[:, None, :2].repeat(1, 4, 1)


def test_what_is_no_module_of_values_of_preferences_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"the shape \(rows, actions, 3\), got the shape \(1, 3\)"):
        pf.from_q_module(Flat(), STATE, SPACE)
    with pytest.raises(InvalidInput, match=r"the shape \(rows, actions, 3\), got the shape \(1, 4, 2\)"):
        pf.from_q_module(OtherObjectives(), STATE, SPACE)
    with pytest.raises(InvalidInput, match=r"the shape \(rows, actions, 3\), got list"):
        pf.from_q_module(Several(), STATE, SPACE)
    with pytest.raises(InvalidInput, match="expected a torch module, got int"):
        pf.from_q_module(1, STATE, SPACE)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="preferences"):
        pf.from_q_module(Values(), STATE, pf.CommandSpace([0, 0, 0], [1, 1, 1]))
    with pytest.raises(InvalidInput, match="evaluation mode"):
        pf.from_q_module(Values(nn.Dropout()), STATE, SPACE)


def test_a_module_of_values_passes_the_check_of_policies() -> None:
    policy = pf.from_q_module(Values(), STATE, SPACE)
    report = pf.check_policy(policy, STATE[None], space=SPACE)
    assert report.ok
    assert "normalised" not in str(report)
