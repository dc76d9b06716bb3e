"""An ONNX file is a policy as a torch module is: deployed by onnxruntime, proven where its graph can be folded."""

import copy
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from test_from_torch import (
    ACTIONS,
    COMMON,
    FURTHER,
    HIDDEN,
    OUTPUTS,
    REFUSED,
    SPACE,
    STATE,
    STATE_SIZE,
    Module,
    assert_fold_agrees,
    film,
    question,
    random_commands,
    upside_down,
)

import paretofoil as pf
from paretofoil.agents.onnx import OnnxNetwork
from paretofoil.agents.torch_policy import TorchPolicy, WhiteBoxTorchPolicy
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import WhiteBoxPolicy
from paretofoil.search.exact import Exact
from paretofoil.search.registry import choose_search


def export(module: torch.nn.Module, inputs: Any, path: Path) -> Path:
    """What torch's own exporter writes, for any number of rows."""
    states, commands = torch.zeros(2, STATE_SIZE), torch.zeros(2, 2)
    arguments: tuple[Any, ...] = (states, commands)
    names = ["states", "commands"]
    if inputs == "concatenated":
        arguments, names = (torch.cat(arguments, dim=1),), ["x"]
    elif inputs != "separate":
        arguments, names = ({"observation": states, "goal": commands}, {}), list(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            arguments,
            str(path),
            input_names=names,
            output_names=["scores"],
            dynamic_axes={name: {0: "rows"} for name in (*names, "scores")},
            dynamo=False,
        )
    return path


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., TorchPolicy]:
    """A module of the torch tests, exported and read back."""

    def make(forward: Callable[..., Any], inputs: Any = "separate", **options: Any) -> TorchPolicy:
        file = export(Module(forward), inputs, tmp_path / "network.onnx")
        policy = pf.from_onnx(file, STATE, SPACE, inputs=inputs, **options)
        assert isinstance(policy, TorchPolicy)
        return policy

    return make


@pytest.mark.parametrize("name", COMMON)
def test_a_common_form_is_the_same_policy_as_its_torch_module_and_folds_as_it_does(name: str, load: Any) -> None:
    forward, inputs, outputs = COMMON[name]
    policy, reference = load(forward, inputs), pf.from_torch(Module(forward), STATE, SPACE, inputs=inputs)
    assert policy.why_not is None
    assert policy.outputs == outputs
    assert isinstance(policy, WhiteBoxPolicy)
    states, commands = np.random.default_rng(1).normal(size=(50, STATE_SIZE)), random_commands(50)
    np.testing.assert_allclose(policy.log_probs(states, commands), reference.log_probs(states, commands), atol=1e-3)  # type: ignore[attr-defined]
    for state in (STATE, states[0]):
        assert_fold_agrees(policy, state)


@pytest.mark.parametrize("name", ["PCN", "residual", "dict"])
def test_exact_answers_about_an_onnx_file_are_proven_and_hold(name: str, load: Any) -> None:
    policy = load(*COMMON[name][:2])
    asked = question(policy)
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=SPACE)
    assert answer.search.name == "exact"
    assert answer.proof is not None
    assert answer.proof.status != "gap"
    assert pf.verify_certificate(asked, answer.proof, samples=20_000, rebound=True).holds


NOT_EXPORTED = {"control flow on the state", "bilinear", "written number", "log of a sigmoid"}
"""An exported graph has no control flow, it is what was traced, for so many rows as are written; torch exports no
Bilinear, and a logarithm of a sigmoid as the two."""


def seeing(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with a part for the state in it: an input that plays none is not exported."""
    return lambda m, s, c: forward(m, s, c + 0.0 * s[:, :2])


@pytest.mark.parametrize("name", [name for name in FURTHER if name not in NOT_EXPORTED])
def test_the_fold_of_further_operations_agrees_with_onnxruntime(name: str, load: Any) -> None:
    policy = load(seeing(FURTHER[name]))
    for state in (STATE, -STATE):
        assert_fold_agrees(policy, state)


NAMED = {
    "an exponential": "exp of values that depend on the command",
    "softmax over rows": "which is not the last",
    "two probabilities": "probabilities that are not a softmax",
}


@pytest.mark.parametrize("name", NAMED)
def test_what_cannot_be_folded_is_named_and_left_to_boundary(name: str, load: Any) -> None:
    policy = load(seeing(REFUSED[name][0]))
    assert not policy.is_white_box
    assert re.search(NAMED[name], policy.why_not or ""), policy.why_not
    assert choose_search("auto", policy).name == "boundary"
    asked = question(policy)
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=SPACE)
    assert answer.search.name == "boundary"


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_what_a_file_gives_is_detected(outputs: str, load: Any) -> None:
    policy = load(OUTPUTS[outputs], "concatenated")
    assert (policy.outputs, policy.detected, policy.is_white_box) == (outputs, True, True)
    assert repr(policy).startswith(f"<WhiteBoxTorchPolicy: OnnxNetwork that returns {outputs} (detected), folds to ")
    with pytest.raises(InvalidInput, match="expected outputs among"):
        load(OUTPUTS[outputs], "concatenated", outputs="logit")


def graph(nodes: list[onnx.NodeProto], weights: dict[str, Any], opset: int = 17, domain: str = "") -> onnx.ModelProto:
    """A network of `states` and `commands` that gives `scores`."""
    sizes = {"states": STATE_SIZE, "commands": 2}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, size]) for name, size in sizes.items()]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, None])]
    stored = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    made = helper.make_graph(nodes, "network", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(made, opset_imports=opsets, ir_version=8)


RNG = np.random.default_rng(5)
WEIGHTS = {
    "command_weight": RNG.normal(size=(2, HIDDEN)).astype(np.float32),
    "state_weight": RNG.normal(size=(STATE_SIZE, HIDDEN)).astype(np.float32),
    "output_weight": RNG.normal(size=(HIDDEN, ACTIONS)).astype(np.float32),
}


def around(*middle: onnx.NodeProto, opset: int = 17, **weights: Any) -> onnx.ModelProto:
    """hidden = commands W + states V; `middle` makes `changed` of it, which goes through a ReLU to the scores."""
    nodes = [
        helper.make_node("MatMul", ["commands", "command_weight"], ["told"]),
        helper.make_node("MatMul", ["states", "state_weight"], ["seen"]),
        helper.make_node("Add", ["told", "seen"], ["hidden"]),
        *middle,
        helper.make_node("Relu", ["changed"], ["open"]),
        helper.make_node("MatMul", ["open", "output_weight"], ["scores"]),
    ]
    return graph(nodes, {**WEIGHTS, **weights}, opset)


def node(kind: str, *inputs: str, out: str = "changed", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, ["hidden", *inputs], [out], **attributes)


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


MASK = np.arange(HIDDEN) % 3 == 0
FEATURES = {name: RNG.uniform(0.5, 2.0, HIDDEN).astype(np.float32) for name in ("a", "b", "c", "d")}
GRAPHS: dict[str, onnx.ModelProto] = {
    "Gemm": around(
        node("Gemm", "w", "b", alpha=0.5, beta=2.0, transB=1),
        w=RNG.normal(size=(HIDDEN, HIDDEN)).astype(np.float32),
        b=FEATURES["b"],
    ),
    "transposed Gemm": around(
        node("Transpose", out="turned"),
        helper.make_node("Gemm", ["turned", "w"], ["changed"], transA=1),
        w=RNG.normal(size=(HIDDEN, HIDDEN)).astype(np.float32),
    ),
    "Sum and Neg": around(node("Neg", out="less"), node("Sum", "less", "hidden", "a"), a=FEATURES["a"]),
    "Clip": around(node("Clip", "low", "high"), low=np.float32(-0.5), high=np.float32(0.5)),
    "Clip from below": around(node("Clip", "low"), low=np.float32(-0.5)),
    "PRelu": around(node("PRelu", "a"), a=FEATURES["a"]),
    "LeakyRelu": around(node("LeakyRelu")),
    "reshapes": around(
        node("Reshape", "shape", out="cube"),
        helper.make_node("Unsqueeze", ["cube", "one"], ["more"]),
        helper.make_node("Squeeze", ["more", "one"], ["fewer"]),
        helper.make_node("Transpose", ["fewer"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("Flatten", ["turned"], ["changed"]),
        shape=integers(0, 3, -1),
        one=integers(1),
    ),
    "slices": around(
        helper.make_node("Split", ["hidden", "sizes"], ["left", "right"], axis=1),
        node("Slice", "starts", "ends", "axes", "steps", out="every"),
        node("Gather", "last", out="one", axis=1),
        helper.make_node("Concat", ["left", "every", "one"], ["changed"], axis=-1),
        sizes=integers(5, 7),
        starts=integers(0),
        ends=integers(9),
        axes=integers(-1),
        steps=integers(2),
        last=integers(-1, 0),
    ),
    "sums": around(
        node("ReduceMean", out="mean", axes=[1]),
        node("ReduceSum", "axis", out="total"),
        node("Sub", "mean", out="centred"),
        helper.make_node("Add", ["centred", "total"], ["changed"]),
        axis=integers(1),
    ),
    "batch norm": around(node("BatchNormalization", "a", "b", "c", "d", epsilon=0.1), **FEATURES),
    "a mask of the state": around(
        helper.make_node("Greater", ["states", "zero"], ["signs"]),
        helper.make_node("Gather", ["signs", "pick"], ["mask"], axis=1),
        helper.make_node("Where", ["mask", "hidden", "three"], ["changed"]),
        zero=np.float32(0.0),
        pick=RNG.integers(0, STATE_SIZE, HIDDEN),
        three=np.float32(3.0),
    ),
    "a mask of two parts": around(
        node("Relu", out="open_already"),
        helper.make_node("Where", ["mask", "hidden", "open_already"], ["changed"]),
        mask=MASK,
    ),
    "a mask that fills": around(
        helper.make_node("Where", ["mask", "three", "hidden"], ["changed"]), mask=MASK, three=np.float32(3.0)
    ),
    "shapes": around(
        node("Shape", out="shape"),
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        node("Add", "zeros", out="same"),
        helper.make_node("Identity", ["same"], ["again"]),
        helper.make_node("Dropout", ["again"], ["changed"]),
    ),
    "what is of the state alone": around(
        helper.make_node("LayerNormalization", ["seen", "a"], ["normal"]),
        helper.make_node("Erf", ["normal"], ["odd"]),
        node("Mul", "odd"),
        a=FEATURES["a"],
    ),
    "LayerNormalization": around(node("LayerNormalization", "a"), a=FEATURES["a"]),
    "Gelu": around(node("Gelu"), opset=20),
    "Gelu by tanh": around(node("Gelu", approximate="tanh"), opset=20),
    "Selu": around(node("Selu")),
    "Mish": around(node("Mish"), opset=18),
    "an older file": around(
        node("Clip", min=-0.5, max=0.5, out="cut"),
        helper.make_node("Unsqueeze", ["cut"], ["more"], axes=[0]),
        helper.make_node("Squeeze", ["more"], ["changed"], axes=[0]),
        opset=9,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_the_fold_of_a_graph_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    onnx.save(GRAPHS[name], tmp_path / "network.onnx")
    policy = pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE)
    for state in (STATE, -STATE):
        assert_fold_agrees(policy, state)


BLACK: dict[str, tuple[onnx.ModelProto, str]] = {
    "Erf": (around(node("Erf")), "Erf of values that depend on the command"),
    "a mask of the command": (
        around(
            helper.make_node("Greater", ["hidden", "zero"], ["mask"]),
            helper.make_node("Where", ["mask", "hidden", "zero"], ["changed"]),
            zero=np.float32(0.0),
        ),
        "Greater of values that depend on the command",
    ),
    "a step backwards": (
        around(
            node("Slice", "starts", "ends", "axes", "steps"),
            starts=integers(-1),
            ends=integers(-99),
            axes=integers(1),
            steps=integers(-1),
        ),
        "Slice with a negative step",
    ),
}


@pytest.mark.parametrize("name", BLACK)
def test_an_operation_of_a_graph_that_cannot_be_folded_is_named(name: str, tmp_path: Path) -> None:
    model, why = BLACK[name]
    onnx.save(model, tmp_path / "network.onnx")
    assert pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE).why_not == why


def test_a_network_is_copied_with_its_file(load: Any) -> None:
    policy = load(upside_down, "concatenated")
    twin = copy.deepcopy(policy.module)
    assert isinstance(twin, OnnxNetwork)
    given = torch.randn(4, STATE_SIZE + 2)
    assert torch.equal(twin(given), policy.module(given))


@pytest.mark.parametrize(
    ("forward", "exported", "inputs", "message"),
    [
        (
            upside_down,
            "concatenated",
            "separate",
            r"with 2 inputs, for inputs='separate' \(pass inputs=\"concatenated\"\), got x",
        ),
        (COMMON["PCN"][0], "separate", "concatenated", "with 1 input, for inputs='concatenated', got states, commands"),
        (upside_down, "concatenated", {"a": "state", "b": "command"}, r"with the inputs a, b, got x\Z"),
    ],
)
def test_inputs_that_a_file_does_not_have_are_refused(
    forward: Any, exported: Any, inputs: Any, message: str, tmp_path: Path
) -> None:
    file = export(Module(forward), exported, tmp_path / "network.onnx")
    with pytest.raises(InvalidInput, match=message):
        pf.from_onnx(file, STATE, SPACE, inputs=inputs)


def test_a_network_for_a_fixed_number_of_rows_is_refused(tmp_path: Path) -> None:
    file = export(Module(upside_down), "concatenated", tmp_path / "network.onnx")
    model = onnx.load(file)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, file)
    with pytest.raises(InvalidInput, match=r"any number of rows \(.*dynamic_axes\), got the input x with 1 row"):
        pf.from_onnx(file, STATE, SPACE, inputs="concatenated")


def test_a_file_of_another_size_is_refused_with_what_onnxruntime_says(tmp_path: Path) -> None:
    file = export(Module(upside_down), "concatenated", tmp_path / "network.onnx")
    with pytest.raises(
        InvalidInput, match=r"a module that takes 3 numbers a row, 1 of the state|takes states \(N, 1\)"
    ):
        pf.from_onnx(file, [1.0], SPACE, inputs="concatenated")


@pytest.mark.parametrize("content", [b"", b"weights", b"\x80\x02N.", b"\x08\x08" * 50])
def test_what_is_no_onnx_file_is_refused_with_a_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "network.onnx").write_bytes(content)
    with pytest.raises(
        InvalidInput, match=r"network\.onnx: expected an ONNX file that onnxruntime can load, got"
    ) as told:
        pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE)
    assert "\n" not in str(told.value)


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    model = around(node("Relu"))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    (tmp_path / "network.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InvalidInput, match="that contains its weights, got one with weights in other files"):
        pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(around(node("Relu")), tmp_path / "network.onnx")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(InvalidInput, match=r"pip install \"paretofoil\[onnx\]\""):
        pf.from_onnx(tmp_path / "network.onnx", STATE, SPACE)


def test_a_white_box_file_is_proven_with_a_given_search(load: Any) -> None:
    policy = load(upside_down, "concatenated")
    assert isinstance(policy, WhiteBoxTorchPolicy)
    asked = question(policy)
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=SPACE, search=Exact())
    assert answer.proven_range is not None


def test_continuous_actions_of_a_file_are_those_of_its_module(tmp_path: Path) -> None:
    actions = pf.ActionSpace(["a", "b", "c"], [], -9 * np.ones(ACTIONS), 9 * np.ones(ACTIONS))
    module = Module(film)
    policy = pf.from_onnx(export(module, "separate", tmp_path / "actor.onnx"), STATE, SPACE, actions=actions)
    reference = pf.from_torch(module, STATE, SPACE, actions=actions)
    states, commands = np.repeat(STATE[None], 20, axis=0), random_commands(20)
    assert policy.is_white_box
    np.testing.assert_allclose(policy.amounts(states, commands), reference.amounts(states, commands), atol=1e-4)  # type: ignore[union-attr]
