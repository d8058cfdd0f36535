"""`torch.export.save` archives (.pt2): read as JSON, since `torch.export.load` can run code."""

import json
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.archive import Archive, opened
from explorer.models.dtypes import bytes_of, elements_of, is_weight
from explorer.schemas.results import InspectResult, PortInfo, TensorInfo

# torch/_export/serde/schema.py, ScalarType
SCALAR_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz",
}  # fmt: skip


def describe(path: Path) -> InspectResult:
    """Weights, user inputs and outputs, and how often each operator occurs."""
    with opened(path) as archive:
        try:
            weights = _json(archive, "data/weights/model_weights_config.json").get("config", {})
            graph = _json(archive, "models/model.json").get("graph_module", {}).get("graph", {})
            tensors = [_tensor(name, entry["tensor_meta"]) for name, entry in weights.items()]
            inputs, outputs, operators = _graph(graph, weights)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise ExplorerError(
                f"{path} is not laid out as torch.export writes it ({error})", "save it again with this torch"
            ) from None
    return InspectResult(
        source=str(path),
        format="exported_program",
        format_name="PyTorch exported program (.pt2)",
        runs_code_on_load=True,
        safety="torch.export.load can run code from the file; read here as JSON, without loading",
        tensors=tensors,
        parameters=sum(elements_of(tensor.shape) for tensor in tensors if is_weight(tensor.dtype)),
        bytes=path.stat().st_size,
        inputs=inputs,
        outputs=outputs,
        metadata={"operators": operators},
    )


def _json(archive: Archive, inner: str) -> dict[str, Any]:
    """A JSON member; empty when an older torch did not write it."""
    name = archive.find(inner)
    parsed = json.loads(archive.read(name)) if name else {}
    return parsed if isinstance(parsed, dict) else {}


def _tensor(name: str, meta: dict[str, Any]) -> TensorInfo:
    shape = [size if isinstance(size, int) else 0 for size in _shape(meta)]
    dtype = _dtype(meta)
    return TensorInfo(name=name, shape=shape, dtype=dtype, bytes=bytes_of(dtype, elements_of(shape)))


def _graph(graph: dict[str, Any], weights: dict[str, Any]) -> tuple[list[PortInfo], list[PortInfo], dict[str, int]]:
    values = graph.get("tensor_values", {})
    lifted = {f"{kind}_{name.replace('.', '_')}" for name in weights for kind in ("p", "b")}
    names = [item["as_tensor"]["name"] for item in graph.get("inputs", []) if "as_tensor" in item]
    inputs = [_port(name, values) for name in names if name not in lifted]
    outputs = [_port(item["as_tensor"]["name"], values) for item in graph.get("outputs", []) if "as_tensor" in item]
    operators: dict[str, int] = {}
    for node in graph.get("nodes", []):
        name = str(node["target"]).removeprefix("torch.ops.")
        operators[name] = operators.get(name, 0) + 1
    return inputs, outputs, operators


def _port(name: str, values: dict[str, Any]) -> PortInfo:
    meta = values.get(name, {})
    return PortInfo(name=name, shape=_shape(meta), dtype=_dtype(meta))


def _shape(meta: dict[str, Any]) -> list[int | str]:
    return [size["as_int"] if "as_int" in size else _symbol(size) for size in meta.get("sizes", [])]


def _symbol(size: dict[str, Any]) -> str:
    expression = size.get("as_expr")
    return str(expression.get("expr_str", "?")) if isinstance(expression, dict) else "?"


def _dtype(meta: dict[str, Any]) -> str:
    return SCALAR_TYPES.get(meta.get("dtype", 0), "unknown")
