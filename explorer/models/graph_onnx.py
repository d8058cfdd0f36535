"""The nodes of an ONNX file: its graph without the weights is given to onnx, which infers the shapes."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean
from explorer.models.onnx_file import describe
from explorer.models.onnx_graph import DTYPES
from explorer.models.onnx_skeleton import skeleton
from explorer.schemas.events import Finding
from explorer.schemas.model_results import GraphResult, Operator, PortInfo

SCOPES_KEY, NAMESPACE_KEY = "pkg.torch.onnx.name_scopes", "namespace"
SCOPES_LIMIT_CHARACTERS = 10_000
SHOWN_NUMBERS, SHOWN_CHARACTERS = 16, 200
UNKNOWN = "..."
Shapes = dict[str, PortInfo]


def read(path: Path) -> GraphResult:
    """Raises `ExplorerError` when the file is damaged. A shape that cannot be inferred is "...", and a finding says so."""
    described = describe(path)
    model, findings = _inferred(skeleton(path), path)
    operators = list(_nodes(model.graph, _known(model.graph, {}), ""))
    stored = {tensor.name for tensor in described.tensors}
    used = dict.fromkeys(name for operator in operators for name in operator.inputs if name in stored)
    return GraphResult(
        source=str(path),
        format="onnx",
        inputs=described.inputs,
        outputs=described.outputs,
        operators=operators,
        weights=list(used),
        findings=[*findings, *_unknown(operators)],
    )


def _inferred(content: bytes, path: Path) -> tuple[Any, list[Finding]]:
    import onnx

    try:
        model = onnx.ModelProto.FromString(content)
    except Exception as error:  # protobuf has an error class of its own
        raise ExplorerError(f"{path} is damaged ({error})", "fetch or save it again") from None
    _declare(model.graph)
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True), []
    except Exception as error:  # onnx raises whatever its C++ does
        reason = clean(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__, SHOWN_CHARACTERS)
        return model, [Finding(severity="warning", title="shapes could not be inferred", evidence=reason)]


def _unknown(operators: list[Operator]) -> list[Finding]:
    names = [f"{item.name} ({item.type})" for item in operators if any(port.shape == [UNKNOWN] for port in item.outputs)]
    title = f"the shapes of {len(names)} operators are not known"
    return [Finding(severity="info", title=title, evidence=f"the first is {names[0]}")] if names else []


def _declare(graph: Any) -> None:
    """Weights whose numbers were left out become inputs, so that inference knows their shapes and reads nothing."""
    known = {item.name for item in graph.input}
    kept = []
    for tensor in graph.initializer:
        if _is_whole(tensor):
            kept.append(tensor)
        elif tensor.name not in known:
            _add(graph.input, tensor.name, tensor.data_type, tensor.dims)
    if len(kept) != len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(kept)
    for node in graph.node:
        for attribute in node.attribute:
            for nested in (attribute.g, *attribute.graphs):
                _declare(nested)


def _is_whole(tensor: Any) -> bool:
    empty = any(size == 0 for size in tensor.dims)
    fields = (tensor.raw_data, tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.string_data, tensor.double_data)
    return empty or any(len(item) > 0 for item in (*fields, tensor.uint64_data))


def _add(ports: Any, name: str, code: int, dims: Iterable[int]) -> None:
    port = ports.add()
    port.name = name
    port.type.tensor_type.elem_type = code
    for size in dims:
        port.type.tensor_type.shape.dim.add().dim_value = size


def _known(graph: Any, outer: Shapes) -> Shapes:
    ports = (_port(item) for item in (*graph.value_info, *graph.input, *graph.output))
    return outer | {port.name: port for port in ports}


def _port(info: Any) -> PortInfo:
    tensor = info.type.tensor_type
    shape: list[int | str] = [
        int(size.dim_value) if size.HasField("dim_value") else clean(size.dim_param) or "?" for size in tensor.shape.dim
    ]
    shape = shape if tensor.HasField("shape") else [UNKNOWN]
    code = tensor.elem_type
    return PortInfo(name=clean(info.name), shape=shape, dtype=DTYPES[code] if code < len(DTYPES) else f"type {code}")


def _nodes(graph: Any, known: Shapes, block: str) -> Iterator[Operator]:
    for place, node in enumerate(graph.node):
        outputs = [clean(name) for name in node.output if name]
        name = clean(node.name) or (outputs[0] if outputs else f"{clean(node.op_type)}_{place}")
        yield _operator(node, name, outputs, known, block)
        for attribute in node.attribute:
            for nested in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(nested, _known(nested, known), name)


def _operator(node: Any, name: str, outputs: list[str], known: Shapes, block: str) -> Operator:
    domain = "" if node.domain in ("", "ai.onnx") else f"{clean(node.domain)}."
    return Operator(
        name=name,
        type=domain + clean(node.op_type),
        inputs=[clean(item) for item in node.input if item],
        outputs=[known.get(item) or PortInfo(name=item, shape=[UNKNOWN], dtype="undefined") for item in outputs],
        attributes={clean(item.name): _words(item) for item in node.attribute},
        module=_module({item.key: item.value for item in node.metadata_props}),
        block=block,
    )


def _words(attribute: Any) -> str:
    """A number or text as it is, a short list, of a tensor its type and shape, of a graph its name."""
    from onnx import AttributeProto, helper

    if attribute.type in (AttributeProto.TENSOR, AttributeProto.SPARSE_TENSOR):
        tensor = attribute.t if attribute.type == AttributeProto.TENSOR else attribute.sparse_tensor.values
        kind = DTYPES[tensor.data_type] if tensor.data_type < len(DTYPES) else f"type {tensor.data_type}"
        return f"{kind} {list(tensor.dims)}"
    if attribute.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
        return f"graph {clean(attribute.g.name)}".strip()
    try:
        value = helper.get_attribute_value(attribute)
    except ValueError:
        return "?"
    if not isinstance(value, bytes | str | float | int | None):
        items = list(value)
        return "[" + ", ".join(map(_word, items)) + "]" if len(items) <= SHOWN_NUMBERS else f"{len(items)} values"
    return _word(value)


def _word(value: Any) -> str:
    text = (
        value.decode("utf-8", errors="replace")
        if isinstance(value, bytes)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return clean(text, SHOWN_CHARACTERS)


def _module(properties: dict[str, str]) -> str:
    """The torch module of a node: the last scope but the node's own, as the exporter lists them, or from its namespace."""
    scopes = properties.get(SCOPES_KEY, "")
    if 0 < len(scopes) <= SCOPES_LIMIT_CHARACTERS:
        try:
            names = ast.literal_eval(scopes)
            return clean(names[-2]) if len(names) > 1 else ""
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return ""
    parts = properties.get(NAMESPACE_KEY, "").split("/")
    return clean(parts[-2].partition(": ")[0]) if len(parts) > 1 else ""
