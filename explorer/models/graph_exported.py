"""The nodes of an exported program (.pt2), from its JSON: torch.export.load, which can run code, is not called.

Layout: torch/_export/serde/schema.py of https://github.com/pytorch/pytorch
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import clean, parse_json
from explorer.models.exported_program import SCALAR_TYPES, describe, port_of
from explorer.models.tensor_reader.places import FAILURES, members
from explorer.schemas.model_results import GraphResult, Operator, PortInfo

SHOWN_CHARACTERS = 200
DEPTH_LIMIT = 32
LIFTED = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}


def read(path: Path) -> GraphResult:
    """Raises `ExplorerError` when the archive is damaged or laid out in another way."""
    described = describe(path)
    try:
        module = _program(path)["graph_module"]
        values = module["graph"]["tensor_values"]
        lifted = dict(_lifted(module["signature"]["input_specs"]))
        operators = list(_nodes(module["graph"], lifted, "", 0))
        inputs, outputs = ([port_of(port.name, values) for port in ports] for ports in (described.inputs, described.outputs))
    except (KeyError, TypeError, AttributeError, IndexError, *FAILURES) as error:
        raise ExplorerError(
            f"{path} is not laid out as torch.export writes it ({error})", "save it again with this torch"
        ) from None
    stored = {tensor.name for tensor in described.tensors} | set(lifted.values())
    used = dict.fromkeys(name for operator in operators for name in operator.inputs if name in stored)
    return GraphResult(
        source=str(path),
        format=described.format,
        inputs=inputs,
        outputs=outputs,
        operators=operators,
        weights=list(used),
    )


def _program(path: Path) -> Any:
    inside = members(path)
    name = next((item for item in sorted(inside) if item.startswith("models/") and item.endswith(".json")), None)
    if name is None:
        raise ValueError("no models/*.json")
    return parse_json(inside[name].content())


def _lifted(specs: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The graph's inputs that are weights, by their argument names, with the names that are stored."""
    for spec in specs:
        for kind, key in LIFTED.items():
            if kind in spec:
                yield str(spec[kind]["arg"]["name"]), clean(spec[kind][key])


def _nodes(graph: dict[str, Any], lifted: dict[str, str], block: str, depth: int) -> Iterator[Operator]:
    if depth > DEPTH_LIMIT:
        raise ValueError(f"graphs nested deeper than {DEPTH_LIMIT}")
    values = graph.get("tensor_values", {})
    for place, node in enumerate(graph["nodes"]):
        outputs = [port_of(name, values) for item in node.get("outputs", []) for name in _names(item)]
        name = clean(node.get("name") or (outputs[0].name if outputs else f"node_{place}"))
        yield _operator(node, name, outputs, lifted, block)
        for item in node.get("inputs", []):
            inner = item["arg"].get("as_graph")
            if inner:
                yield from _nodes(inner["graph"], lifted, name, depth + 1)


def _operator(node: dict[str, Any], name: str, outputs: list[PortInfo], lifted: dict[str, str], block: str) -> Operator:
    inputs: list[str] = []
    attributes: dict[str, str] = {}
    for place, item in enumerate(node.get("inputs", [])):
        names = _names(item["arg"])
        if names:
            inputs.extend(lifted.get(found, clean(found)) for found in names)
        elif "as_none" not in item["arg"]:
            attributes[clean(item.get("name") or place)] = _words(item["arg"])
    return Operator(
        name=name,
        type=clean(node["target"]).removeprefix("torch.ops."),
        inputs=inputs,
        outputs=outputs,
        attributes=attributes,
        module=_module(str(node.get("metadata", {}).get("nn_module_stack", ""))),
        block=block,
    )


def _names(argument: dict[str, Any]) -> list[str]:
    """The tensors of an argument: one, a list, or a list in which some are missing; also symbolic numbers by name."""
    for kind, value in argument.items():
        if kind == "as_tensor":
            return [str(value["name"])]
        if kind == "as_tensors":
            return [str(item["name"]) for item in value]
        if kind == "as_optional_tensors":
            return [str(item["as_tensor"]["name"]) for item in value if "as_tensor" in item]
        if kind in ("as_sym_int", "as_sym_bool", "as_sym_float") and "as_name" in value:
            return [str(value["as_name"])]
    return []


def _words(argument: dict[str, Any]) -> str:
    """A plain value; of a graph its name."""
    kind, value = next(iter(argument.items()))
    if kind == "as_graph":
        return clean(value["name"])
    if kind == "as_scalar_type":
        return SCALAR_TYPES.get(value, str(value))
    return clean(str(value), SHOWN_CHARACTERS)


def _module(stack: str) -> str:
    """The innermost module of a stack such as "L__self__,,Net;L__self__a,a,Linear": the middle of the last part."""
    parts = stack.rpartition(";")[2].split(",")
    return clean(parts[1]) if len(parts) > 2 else ""
