"""Measure the errors of the activations of torch and onnxruntime, and print a table.

python benchmarks/activation_errors.py [--step 1021]

Inputs are all float16 and bfloat16 numbers, and every `step`-th float32 number, in the order of their bits. An error is
divided by the size of the output (for a SiLU, of the input) or by 1, whichever is larger, and given in units of the
unit roundoff. Proofs allow `ACTIVATION_ROUNDINGS` of agents/recorder.py and agents/onnx.py, and 4 in half precision.
"""

import argparse
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper

from paretofoil.core.program import ACTIVATIONS

TORCH: dict[str, Any] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "elu": torch.nn.functional.elu,
    "softplus": torch.nn.functional.softplus,
    "silu": torch.nn.functional.silu,
    "silu as a product": lambda x: x * torch.sigmoid(x),
}
ONNX = {
    "sigmoid": [("Sigmoid", "x")],
    "tanh": [("Tanh", "x")],
    "elu": [("Elu", "x")],
    "softplus": [("Softplus", "x")],
    "silu as a product": [("Sigmoid", "x"), ("Mul", "x y")],
}
FORMATS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}
"""The unit roundoff of each number format."""


def numbers(form: str, step: int) -> torch.Tensor:
    """Return finite numbers of a format, every step-th float32 number or all of a shorter format."""
    kind, bits = (np.uint32, np.arange(7, 2**32, step)) if form == "float32" else (np.uint16, np.arange(2**16))
    values = torch.from_numpy(bits.astype(kind)).view(getattr(torch, form))
    return values[values.isfinite()]


def worst_error(runtime: str, activation: str, form: str, step: int) -> float:
    """Return the largest error of an activation, in roundings."""
    x = numbers(form, step)
    if runtime == "torch":
        parts = TORCH[activation](x), torch.cat([TORCH[activation](part) for part in torch.split(x[::97], 3)])
        deployed = [part.double().numpy() for part in parts]  # whole vectors, and rests of vectors
    else:
        run = _session(activation, form)
        deployed = [run(part.numpy()).astype(np.float64) for part in (x, x[::97])]
    worst = 0.0
    for given, part in zip((x, x[::97]), deployed, strict=True):
        inputs = given.double().numpy()
        kind = activation.split()[0]
        exact = ACTIVATIONS[kind](inputs)  # type: ignore[index]
        size = np.maximum(np.abs(inputs if kind == "silu" else exact), 1.0)
        worst = max(worst, float((np.abs(part - exact) / size).max()) / FORMATS[form])
    return worst


def _session(activation: str, form: str):  # type: ignore[no-untyped-def]
    kind = TensorProto.FLOAT if form == "float32" else TensorProto.FLOAT16
    nodes = [
        helper.make_node(name, inputs.split(), ["y" if name != "Mul" else "z"]) for name, inputs in ONNX[activation]
    ]
    ends = [helper.make_tensor_value_info(name, kind, ["n"]) for name in ("x", nodes[-1].output[0])]
    graph = helper.make_graph(nodes, "activation", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def cases() -> list[tuple[str, str, str]]:
    """Return all of (runtime, activation, number format)."""
    torch_cases = [("torch", activation, form) for activation in TORCH for form in FORMATS]
    return torch_cases + [("onnxruntime", activation, form) for activation in ONNX for form in ("float16", "float32")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--step", type=int, default=1021, help="Distance of float32 numbers in the order of their bits."
    )
    arguments = parser.parse_args()
    print("| runtime | activation | number format | largest error, in roundings |\n|---|---|---|---:|")
    for case in cases():
        print(f"| {' | '.join(case)} | {worst_error(*case, arguments.step):.2f} |")
