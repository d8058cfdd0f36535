"""ONNX, walked on disk: weights are skipped, so a file of gigabytes takes milliseconds.

Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.dtypes import bytes_of, elements_of, is_weight
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.events import Finding
from explorer.schemas.results import InspectResult, PortInfo, TensorInfo

DTYPES = (
    "undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64",
    "uint32", "uint64", "complex64", "complex128", "bfloat16",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4", "float4_e2m1fn", "float8_e8m0fnu",
    "uint2", "int2",
)  # fmt: skip
DEPTH_LIMIT = 32
EXTERNAL = 1


@dataclass
class _Graph:
    """What the walk has found so far, over the main graph and those nested in it."""

    tensors: list[TensorInfo] = field(default_factory=list)
    operators: dict[str, int] = field(default_factory=dict)
    locations: dict[str, None] = field(default_factory=dict)


def describe(path: Path) -> InspectResult:
    """Weights (also those in Constant nodes), inputs, outputs, operators and external files."""
    with path.open("rb") as stream:
        wire = Wire(stream, path.stat().st_size)
        try:
            return _describe(path, wire)
        except WireError as error:
            raise ExplorerError(f"{path} is cut off or damaged ({error})", "fetch or save it again") from None


def _describe(path: Path, wire: Wire) -> InspectResult:
    graph = next(wire.spans(wire.whole, 7))
    found = _Graph()
    _walk(wire, graph, found, 0)
    weights = {tensor.name for tensor in found.tensors}
    inputs = [port for port in (_port(wire, span) for span in wire.spans(graph, 11)) if port.name not in weights]
    external, findings = _external_files(path, list(found.locations))
    return InspectResult(
        source=str(path),
        format="onnx",
        format_name="ONNX",
        runs_code_on_load=False,
        safety="a graph of operators; custom operators need a library of their own",
        tensors=found.tensors,
        parameters=sum(elements_of(tensor.shape) for tensor in found.tensors if is_weight(tensor.dtype)),
        bytes=path.stat().st_size + sum(file.stat().st_size for file in external),
        inputs=inputs,
        outputs=[_port(wire, span) for span in wire.spans(graph, 12)],
        metadata=_metadata(wire, found),
        findings=findings,
    )


def _metadata(wire: Wire, found: _Graph) -> dict[str, Any]:
    opsets = {wire.text(wire.first(span, 1)) or "ai.onnx": wire.integer(span, 2) for span in wire.spans(wire.whole, 8)}
    properties = {wire.text(wire.first(span, 1)): wire.text(wire.first(span, 2))[:1000] for span in wire.spans(wire.whole, 14)}
    producer = f"{wire.text(wire.first(wire.whole, 2))} {wire.text(wire.first(wire.whole, 3))}".strip()
    facts = {"ir_version": wire.integer(wire.whole, 1), "opset": opsets, "producer": producer, "operators": found.operators}
    return {**properties, **facts, "external_files": list(found.locations)}


def _walk(wire: Wire, graph: Span, found: _Graph, depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise WireError(f"graphs nested deeper than {DEPTH_LIMIT}")
    for number, _, value in wire.fields(graph):
        if isinstance(value, tuple) and number == 1:
            _node(wire, value, found, depth)
        elif isinstance(value, tuple) and number == 5:
            _tensor(wire, value, found, "")
        elif isinstance(value, tuple) and number == 15:
            _tensor(wire, wire.first(value, 1) or (0, 0), found, "")


def _node(wire: Wire, node: Span, found: _Graph, depth: int) -> None:
    parts: dict[int, list[Span]] = {}
    for number, _, value in wire.fields(node):
        if isinstance(value, tuple):
            parts.setdefault(number, []).append(value)
    operator = wire.text(parts.get(4, [(0, 0)])[0])
    domain = wire.text(parts[7][0]) if 7 in parts else ""
    name = f"{domain}.{operator}" if domain not in ("", "ai.onnx") else operator
    found.operators[name] = found.operators.get(name, 0) + 1
    output = wire.text(parts[2][0]) if 2 in parts else ""
    for attribute in parts.get(5, []):
        _attribute(wire, attribute, found, output if operator == "Constant" else "", depth)


def _attribute(wire: Wire, attribute: Span, found: _Graph, output: str, depth: int) -> None:
    for number, _, value in wire.fields(attribute):
        if not isinstance(value, tuple):
            continue
        if number == 5 and output:
            _tensor(wire, value, found, output)
        elif number in (6, 11):
            _walk(wire, value, found, depth + 1)


def _tensor(wire: Wire, tensor: Span, found: _Graph, name: str) -> None:
    shape: list[int] = []
    code, location = 0, ""
    for number, _, value in wire.fields(tensor):
        if number == 1:
            shape.extend([value] if isinstance(value, int) else wire.packed(value))
        elif number == 2 and isinstance(value, int):
            code = value
        elif number == 8 and isinstance(value, tuple):
            name = name or wire.text(value)
        elif number == 13 and isinstance(value, tuple) and wire.text(wire.first(value, 1)) == "location":
            location = wire.text(wire.first(value, 2))
    if location:
        found.locations[location] = None
    if any(size < 0 for size in shape):
        raise WireError(f"tensor {name[:100]} has a negative size")
    dtype = DTYPES[code] if code < len(DTYPES) else f"type {code}"
    found.tensors.append(TensorInfo(name=name, shape=shape, dtype=dtype, bytes=bytes_of(dtype, elements_of(shape))))


def _port(wire: Wire, span: Span) -> PortInfo:
    """ValueInfoProto: name 1, type 2 > tensor 1 > element type 1, shape 2 > dimension 1 > value 1 or name 2."""
    tensor = wire.first(span, 2, 1)
    code = wire.integer(tensor, 1) if tensor else 0
    shape = wire.first(tensor, 2) if tensor else None
    dimensions = [_dimension(wire, dimension) for dimension in wire.spans(shape, 1)] if shape else []
    dtype = DTYPES[code] if code < len(DTYPES) else f"type {code}"
    return PortInfo(name=wire.text(wire.first(span, 1)), shape=dimensions, dtype=dtype)


def _dimension(wire: Wire, span: Span) -> int | str:
    for number, _, value in wire.fields(span):
        if number == 1 and isinstance(value, int):
            return value
        if number == 2 and isinstance(value, tuple):
            return wire.text(value)
    return "?"


def _external_files(path: Path, locations: list[str]) -> tuple[list[Path], list[Finding]]:
    """External data files that are there, and a finding for each that is missing or leaves the model's folder."""
    files: list[Path] = []
    findings: list[Finding] = []
    folder = path.absolute().parent
    for location in locations:
        target = folder / location
        if not target.resolve().is_relative_to(folder.resolve()):
            findings.append(
                Finding(severity="error", title=f"weights lie outside the model's folder: {location}", remedy="do not load it")
            )
        elif target.is_file():
            files.append(target)
        else:
            findings.append(
                Finding(
                    severity="error", title=f"external weights file {location} is missing", remedy=f"put it beside {path.name}"
                )
            )
    return files, findings
