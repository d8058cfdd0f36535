"""`torch.export.save` archives (.pt2): read as JSON, since `torch.export.load` can run code.

Layout: torch/export/pt2_archive/constants.py; before torch 2.8 four members at the root of the archive.
"""

import re
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.allowlist import unknown_names
from explorer.models.archive import Archive, opened
from explorer.models.bounds import check_tensors, clean, parse_json
from explorer.models.compressed import compression_findings
from explorer.models.dtypes import bytes_of, elements_of
from explorer.models.pickle_safety import few, findings_of
from explorer.models.summary import bytes_by_dtype, common_prefixes, count_parameters
from explorer.models.torch_legacy import LEGACY_MAGIC
from explorer.models.torch_nested import read_nested
from explorer.models.torch_tensors import contents_of
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult, PortInfo, TensorInfo

# torch/_export/serde/schema.py, ScalarType
SCALAR_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz",
}  # fmt: skip
OLD_PROGRAM, OLD_STATE = "serialized_exported_program.json", "serialized_state_dict.pt"
PICKLED_FOLDERS = ("data/weights/", "data/constants/", "data/sample_inputs/")
OLD_PICKLES = (OLD_STATE, "serialized_constants.pt", "serialized_example_inputs.pt")
PICKLE_LIMIT = 1000
SYMBOL = re.compile(r"(?:Symbol|sympy\.Symbol)\('([^']*)'[^)]*\)")
SAFETY = "torch.export.load can run code from the file; read here as JSON, without loading"


def describe(path: Path) -> InspectResult:
    """Weights, user inputs and outputs, and how often each operator occurs."""
    with opened(path) as archive:
        try:
            model = _model_name(archive)
            program = _json(archive, f"models/{model}.json") or _json(archive, OLD_PROGRAM)
            weights = _weights(archive, model)
            inputs, outputs, operators = _graph(program, {tensor.name for tensor, _ in weights})
            references = _references(archive)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError, OverflowError):
            raise ExplorerError(f"{path} is not laid out as torch.export writes it", "save it again with this torch") from None
    tensors = [tensor for tensor, _ in weights]
    foreign = sorted(name for name in operators if not name.startswith(("aten.", "prim", "_operator.", "math.")))
    return InspectResult(
        source=str(path),
        format="exported_program",
        format_name="PyTorch exported program (.pt2)",
        runs_code_on_load=True,
        safety=_safety(unknown_names(references)),
        references=[*references, *foreign[:200]],
        unknown=unknown_names(references),
        tensors=tensors,
        parameters=count_parameters(tensor for tensor, is_parameter in weights if is_parameter),
        bytes=path.stat().st_size,
        bytes_by_dtype=bytes_by_dtype(tensors),
        prefixes=common_prefixes([tensor.name for tensor in tensors]),
        inputs=inputs,
        outputs=outputs,
        metadata=_metadata(program, operators),
        findings=[
            *(finding for finding in findings_of(references, path.name) if finding.severity != "info"),
            *compression_findings([(tensor.name, tensor.dtype) for tensor in tensors]),
            *_quantized(operators),
        ],
    )


def _safety(unknown: list[str]) -> str:
    return f"torch.export.load would import and call {few(unknown)}; read here without loading" if unknown else SAFETY


def _model_name(archive: Archive) -> str:
    """The first program of the archive; torch.export.save calls it `model`."""
    names = [name.removesuffix(".json") for name in archive.below("models/") if name.endswith(".json")]
    return "model" if "model" in names or not names else names[0]


def _json(archive: Archive, inner: str) -> dict[str, Any]:
    """A JSON member; empty when an older torch did not write it."""
    name = archive.find(inner)
    parsed = parse_json(archive.read(name)) if name else {}
    return parsed if isinstance(parsed, dict) else {}


def _weights(archive: Archive, model: str) -> list[tuple[TensorInfo, bool]]:
    """Stored tensors, and whether each is a parameter."""
    entries = {
        name: entry
        for kind in ("weights", "constants")
        for name, entry in _json(archive, f"data/{kind}/{model}_{kind}_config.json").get("config", {}).items()
        if isinstance(entry, dict) and isinstance(entry.get("tensor_meta"), dict)
    }
    check_tensors(len(entries))
    if entries:
        first: dict[str, str] = {}
        return [(_tensor(name, entry, first), bool(entry.get("is_param", True))) for name, entry in entries.items()]
    old = archive.find(OLD_STATE)
    described = read_nested(archive, old, LEGACY_MAGIC) if old else None
    return [(info, True) for info in contents_of(described, archive.path).infos] if described and described.value else []


def _tensor(name: str, entry: dict[str, Any], first: dict[str, str]) -> TensorInfo:
    """One entry; `first` remembers which tensor named a member of the archive first."""
    shape = [size if isinstance(size, int) and 0 <= size < 1 << 62 else 0 for size in _shape(entry["tensor_meta"])]
    dtype = _dtype(entry["tensor_meta"])
    member = clean(entry.get("path_name", name))
    shared = first.setdefault(member, clean(name))
    return TensorInfo(
        name=clean(name),
        shape=shape,
        dtype=dtype,
        bytes=bytes_of(dtype, elements_of(shape)),
        shares=shared if shared != clean(name) else "",
    )


def _references(archive: Archive) -> list[str]:
    """Names in the pickles that lie in the archive, which `torch.export.load` loads."""
    members = [found for inner in OLD_PICKLES if (found := archive.find(inner))]
    for folder in PICKLED_FOLDERS:
        members += [found for name in archive.below(folder) if (found := archive.find(folder + name))]
    names: dict[str, None] = {}
    for member in [name for name in members if not name.endswith(".json")][:PICKLE_LIMIT]:
        try:
            described = read_nested(archive, member, LEGACY_MAGIC)
        except ExplorerError:
            continue  # raw numbers may begin like a pickle
        names.update(dict.fromkeys(described.references if described else ()))
    return list(names)


def _graph(program: dict[str, Any], weights: set[str]) -> tuple[list[PortInfo], list[PortInfo], dict[str, int]]:
    module = program.get("graph_module", {})
    graph = module.get("graph", {})
    values = graph.get("tensor_values", {})
    lifted = _lifted(module.get("signature", {}), weights)
    names = [str(item["as_tensor"]["name"]) for item in graph.get("inputs", []) if "as_tensor" in item]
    inputs = [port_of(name, values) for name in names if name not in lifted]
    outputs = [port_of(str(item["as_tensor"]["name"]), values) for item in graph.get("outputs", []) if "as_tensor" in item]
    operators: dict[str, int] = {}
    for node in graph.get("nodes", []):
        name = clean(node["target"]).removeprefix("torch.ops.")
        operators[name] = operators.get(name, 0) + 1
    return inputs, outputs, operators


def _lifted(signature: dict[str, Any], weights: set[str]) -> set[str]:
    """Inputs of the graph that are weights, by the signature and by the names that torch gives them."""
    lifted = {f"{kind}_{name.replace('.', '_')}" for name in weights for kind in ("p", "b", "c")}
    for item in signature.get("input_specs", []):
        for kind in ("parameter", "buffer", "tensor_constant", "custom_obj"):
            if isinstance(item.get(kind), dict):
                lifted.add(str(item[kind].get("arg", {}).get("name", "")))
    return lifted


def port_of(name: str, values: dict[str, Any]) -> PortInfo:
    """A tensor by name with the shape and dtype that `values`, the file's table of tensors, tells."""
    meta = values.get(name, {})
    return PortInfo(name=clean(name), shape=_shape(meta), dtype=_dtype(meta))


def _shape(meta: dict[str, Any]) -> list[int | str]:
    return [_size(size["as_int"]) if "as_int" in size else _symbol(size) for size in meta.get("sizes", [])][:64]


def _size(size: Any) -> int | str:
    return size if isinstance(size, int) and abs(size) < 1 << 62 else "?"


def _symbol(size: dict[str, Any]) -> str:
    """An expression with plain names of its symbols."""
    expression = size.get("as_expr")
    text = str(expression.get("expr_str", "?")) if isinstance(expression, dict) else "?"
    return clean(SYMBOL.sub(r"\1", text), 100)


def _dtype(meta: dict[str, Any]) -> str:
    return SCALAR_TYPES.get(meta.get("dtype", 0), "unknown")


def _metadata(program: dict[str, Any], operators: dict[str, int]) -> dict[str, Any]:
    facts: dict[str, Any] = {"operators": operators}
    version = program.get("schema_version")
    if isinstance(version, dict):
        facts["schema_version"] = f"{clean(version.get('major', '?'), 20)}.{clean(version.get('minor', '?'), 20)}"
    if isinstance(program.get("torch_version"), str):
        facts["producer"] = f"torch {clean(program['torch_version'], 50)}"
    opsets = program.get("opset_version")
    if isinstance(opsets, dict):
        facts["opset"] = {clean(key, 50): value for key, value in list(opsets.items())[:20] if isinstance(value, int)}
    return facts


def _quantized(operators: dict[str, int]) -> list[Finding]:
    count = sum(number for name, number in operators.items() if "quantize" in name)
    return [Finding(severity="info", title="compressed: quantized graph", evidence=f"{count} operators")] if count else []
