"""Small ONNX files written by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

Node = tuple[str, Sequence[str], Sequence[str], Mapping[str, Any]]
Ports = Mapping[str, Sequence[int | str]]


def written(path: Path, nodes: Sequence[Node], inputs: Ports, outputs: Ports, **weights: NDArray[Any]) -> Path:
    """An ONNX file; inputs are float, or int64 where the name begins with "ids" or is "sr"."""
    graph = helper.make_graph(
        [helper.make_node(kind, list(ins), list(outs), **attributes) for kind, ins, outs, attributes in nodes],
        "small",
        [helper.make_tensor_value_info(name, _type(name), list(shape)) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def linear(path: Path, weight: NDArray[Any], name: str = "x") -> Path:
    """(n, in) @ weight to (n, out)."""
    rows, columns = weight.shape
    node: Node = ("MatMul", [name, "w"], ["y"], {})
    return written(path, [node], {name: ["n", rows]}, {"y": ["n", columns]}, w=weight.astype(np.float32))


def _type(name: str) -> int:
    return int(TensorProto.INT64 if name.startswith("ids") or name == "sr" else TensorProto.FLOAT)
