"""ONNX, walked on disk: weights are skipped, so a file of gigabytes takes milliseconds.

Field numbers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.onnx_external import external_findings, listed, shared_places
from explorer.models.onnx_graph import DEPTH_LIMIT, DTYPES, Found, walk, walk_functions
from explorer.models.pickle_safety import few
from explorer.models.summary import bytes_by_dtype, count_parameters
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult, PortInfo

__all__ = ["DEPTH_LIMIT", "DTYPES", "describe"]

KNOWN_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training")
RUNTIME_DOMAIN = "com.microsoft"
QUANTIZED_OPERATORS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinear", "MatMulInteger", "ConvInteger",
                       "MatMulNBits", "MatMulBnb4", "QGemm", "QAttention", "DynamicQuantize")  # fmt: skip
TEXT_LIMIT_CHARACTERS = 1000
SHOWN = 200


def describe(path: Path) -> InspectResult:
    """Weights (also those in Constant nodes), inputs, outputs, operators and external files."""
    with path.open("rb") as stream:
        wire = Wire(stream, path.stat().st_size)
        try:
            return _describe(path, wire)
        except WireError as error:
            raise ExplorerError(f"{path} is cut off or damaged ({error})", "fetch or save it again") from None


def _describe(path: Path, wire: Wire) -> InspectResult:
    graph = next(wire.spans(wire.whole, 7), (0, 0))
    found = Found()
    walk(wire, graph, found, 0)
    functions = walk_functions(wire, found)
    tensors = shared_places(found)
    weights = {tensor.name for tensor in tensors}
    inputs = [port for port in (_port(wire, span) for span in wire.spans(graph, 11)) if port.name not in weights]
    files = listed(path, list(found.locations))
    custom = _custom(found.operators, functions)
    return InspectResult(
        source=str(path),
        format="onnx",
        format_name="ONNX",
        runs_code_on_load=False,
        safety=_safety(custom),
        references=custom[:SHOWN],
        unknown=[name for name in custom if not name.startswith(f"{RUNTIME_DOMAIN}.")][:SHOWN],
        tensors=tensors,
        parameters=count_parameters(tensors),
        bytes=path.stat().st_size + sum(file.bytes or 0 for file in files),
        bytes_by_dtype=bytes_by_dtype(tensors),
        external_files=files,
        inputs=inputs,
        outputs=[_port(wire, span) for span in wire.spans(graph, 12)],
        metadata=_metadata(wire, found),
        findings=[*external_findings(path, found), *_findings(found, custom)],
    )


def _safety(custom: list[str]) -> str:
    if not custom:
        return "a graph of standard operators; it holds no code"
    return f"a graph of operators; {few(custom)} need a library of their own, which would be code"


def _custom(operators: dict[str, int], functions: set[str]) -> list[str]:
    """Operators outside the standard that the file does not define itself."""
    domains = tuple(f"{domain}." for domain in KNOWN_DOMAINS if domain)
    return sorted(name for name in operators if "." in name and not name.startswith(domains) and name not in functions)


def _metadata(wire: Wire, found: Found) -> dict[str, Any]:
    opsets = {clean(wire.text(wire.first(span, 1))) or "ai.onnx": wire.integer(span, 2) for span in wire.spans(wire.whole, 8)}
    properties = {
        clean(wire.text(wire.first(span, 1))): clean(wire.text(wire.first(span, 2)), TEXT_LIMIT_CHARACTERS)
        for span in wire.spans(wire.whole, 14)
    }
    producer = clean(f"{wire.text(wire.first(wire.whole, 2))} {wire.text(wire.first(wire.whole, 3))}".strip())
    facts = {"ir_version": wire.integer(wire.whole, 1), "opset": opsets, "producer": producer, "operators": found.operators}
    named = {"domain": wire.first(wire.whole, 4), "description": wire.first(wire.whole, 6)}
    texts = {key: clean(wire.text(span), TEXT_LIMIT_CHARACTERS) for key, span in named.items()}
    return {**properties, **facts, **{key: text for key, text in texts.items() if text}}


def _findings(found: Found, custom: list[str]) -> list[Finding]:
    findings = []
    foreign = [name for name in custom if not name.startswith(f"{RUNTIME_DOMAIN}.")]
    if foreign:
        remedy = "register the library that defines them before loading, and only if you trust it"
        findings.append(Finding(severity="warning", title=f"needs a library for {few(foreign)}", remedy=remedy))
    quantized = {
        name: count for name, count in found.operators.items()
        if name.rpartition(".")[2].startswith(QUANTIZED_OPERATORS)
    }  # fmt: skip
    if quantized:
        evidence = ", ".join(f"{count} {name}" for name, count in list(quantized.items())[:5])
        findings.append(Finding(severity="info", title="compressed: quantized weights or activations", evidence=evidence))
    if found.sparse:
        findings.append(Finding(severity="info", title="compressed: sparse weights", evidence=f"{found.sparse} tensors"))
    if found.short:
        title = f"{few(found.short)} holds other than the bytes of its shape"
        findings.append(
            Finding(severity="error", title=title, evidence=f"{len(found.short)} tensors", remedy="fetch or save it again")
        )
    return findings


def _port(wire: Wire, span: Span) -> PortInfo:
    """ValueInfoProto: name 1, type 2 > tensor 1 > element type 1, shape 2 > dimension 1 > value 1 or name 2."""
    tensor = wire.first(span, 2, 1)
    code = wire.integer(tensor, 1) if tensor else 0
    shape = wire.first(tensor, 2) if tensor else None
    dimensions = [_dimension(wire, dimension) for dimension in wire.spans(shape, 1)] if shape else []
    dtype = DTYPES[code] if code < len(DTYPES) else f"type {code}"
    return PortInfo(name=clean(wire.text(wire.first(span, 1))), shape=dimensions, dtype=dtype)


def _dimension(wire: Wire, span: Span) -> int | str:
    for number, _, value in wire.fields(span):
        if number == 1 and isinstance(value, int):
            return value if value < 1 << 63 else -1
        if number == 2 and isinstance(value, tuple):
            return clean(wire.text(value), 100)
    return "?"
