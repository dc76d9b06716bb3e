"""Proofs hold for the deployed policy, rounding included."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from torch import nn

import paretofoil as pf
from paretofoil.core.question import QuestionBatch
from paretofoil.proof.networks import question_network

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from attack_proofs import KINDS, REGIONS, attack, white_box_case

SPACE = pf.CommandSpace(low=[0.0, -20.0], high=[10.0, 0.0], objectives=["treasure", "time"])
STATE = np.array([0.5, -1.5, 2.0], dtype=np.float32)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("clamp", 0), ("clamp", 9), ("clamp", 15), ("half", 67), ("half", 91), ("large-state", 127)],
)
def test_a_proof_that_was_refuted_before_is_not_refuted(kind: str, seed: int) -> None:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    _, _, worst = attack(KINDS[kind](rng), 3000, rng)
    assert worst < 0


@pytest.mark.parametrize("kind", REGIONS)
def test_attacks_refute_no_proof_about_restricted_regions_other_norms_and_other_foils(kind: str) -> None:
    tried = 0
    for seed in range(4):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        _, count, worst = attack(white_box_case(kind, rng), 1000, rng)
        assert worst < 0
        tried += count
    assert tried > 0


class Crossed(nn.Module):
    """Clamps to limits of which the state makes the lower one the larger."""

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        unit = torch.clamp(commands, states[:, 2:], states[:, 1:2])  # from 2 to -1.5
        return torch.cat([unit, 0.0 * unit[:, :1]], dim=1)


def test_the_upper_limit_of_a_clamp_wins_where_the_limits_cross() -> None:
    policy = pf.from_torch(Crossed(), STATE, SPACE, outputs="logits")
    commands = np.random.default_rng(0).uniform(SPACE.low, SPACE.high, size=(200, 2))
    np.testing.assert_allclose(policy.fold(STATE).logits(commands), [[-1.5, -1.5, 0.0]] * 200, atol=1e-12)  # type: ignore[attr-defined]
    shares = pf.influence(policy, state=STATE, command=[5.0, -5.0]).shares
    assert [share.lower for share in shares] == [0.0, 0.0, 1.0]


def test_a_clip_of_onnx_whose_limits_cross_is_its_upper_limit(tmp_path: Path) -> None:
    weight = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    numbers = {"weight": weight, "least": np.array(1.0, dtype=np.float32), "most": np.array(-2.0, dtype=np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["state", "command"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weight"], ["unit"]),
            helper.make_node("Clip", ["unit", "least", "most"], ["logits"]),
        ],
        "clip",
        [
            helper.make_tensor_value_info("state", onnx.TensorProto.FLOAT, ["n", 3]),
            helper.make_tensor_value_info("command", onnx.TensorProto.FLOAT, ["n", 2]),
        ],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(value, name) for name, value in numbers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "clip.onnx")
    policy = pf.from_onnx(tmp_path / "clip.onnx", STATE, SPACE, outputs="logits")
    commands = np.random.default_rng(0).uniform(SPACE.low, SPACE.high, size=(50, 2))
    np.testing.assert_allclose(policy.fold(STATE).logits(commands), [[-2.0, -2.0]] * 50)  # type: ignore[attr-defined]
    deployed = policy.log_probs(np.repeat(STATE[None], 50, axis=0), commands)
    np.testing.assert_allclose(np.diff(deployed), 0.0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("activation", [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.SiLU, nn.ELU, nn.Softplus, nn.Hardtanh])
def test_deployed_margins_lie_within_derived_bounds(activation: type[nn.Module], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layers = nn.Linear(5, 32), activation(), nn.Linear(32, 32), activation(), nn.Linear(32, 3)
    module = nn.Sequential(*layers).to(dtype)
    for parameter in module.parameters():
        parameter.data *= 2.0
    policy = pf.from_torch(module, STATE, SPACE, inputs="concatenated", outputs="logits")
    assert policy.is_white_box, policy.why_not
    question = pf.Question(policy, STATE, np.array([5.0, -10.0]), 1, (0, 1, 2), SPACE)
    network, batch, rng = question_network(question, ""), QuestionBatch([question]), np.random.default_rng(0)
    assert network.rounding is not None
    low, high = question.room
    for width in (1.0, 0.01, 1e-6):
        centers = rng.uniform(low, high, size=(50, 2))
        lows, highs = np.maximum(low, centers - width / 2), np.minimum(high, centers + width / 2)
        z = rng.uniform(lows, highs, size=(40, 50, 2))
        margins = batch.margins(np.zeros(2000, dtype=int), z.reshape(-1, 2), "test").reshape(40, 50)
        upper = network.upper_bounds(lows, highs).highest(lows, highs).min(axis=1)
        lower = network.lower_bounds(lows, highs).min(axis=1)
        assert (margins <= upper).all()
        assert (margins >= lower).all()
