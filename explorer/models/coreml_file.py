"""Core ML packages and specifications, walked on disk.

Field numbers: the .proto files at https://github.com/apple/coremltools/tree/main/mlmodel/format
"""

from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.files import size_bytes
from explorer.models.bounds import clean, parse_json
from explorer.models.coreml_neural import Network, walk_network
from explorer.models.coreml_program import MIL_DTYPES, Program, walk_program, weight_files
from explorer.models.pickle_safety import few
from explorer.models.summary import bytes_by_dtype, count_parameters
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult, PortInfo, TensorInfo

__all__ = ["MIL_DTYPES", "describe", "describe_spec"]

AGAIN = "fetch or save it again"
MANIFEST_LIMIT_BYTES = 1_000_000
ML_PROGRAM, CUSTOM_MODEL = 502, 555
NETWORKS, PIPELINES = (303, 403, 500), (200, 201, 202)
MODEL_TYPES = {
    200: "pipeline", 201: "pipeline", 202: "pipeline", 300: "linear regressor", 301: "support vector regressor",
    302: "tree ensemble", 303: "neural network", 400: "linear classifier", 401: "support vector classifier",
    402: "tree ensemble", 403: "neural network", 404: "nearest neighbours", 500: "neural network", ML_PROGRAM: "ML Program",
    CUSTOM_MODEL: "custom model",
    610: "non-maximum suppression", 900: "identity",
}  # fmt: skip
# The first systems that read a version of the specification.
TARGETS = {
    1: "iOS 11, macOS 10.13", 2: "iOS 11.2, macOS 10.13.2", 3: "iOS 12, macOS 10.14", 4: "iOS 13, macOS 10.15",
    5: "iOS 14, macOS 11", 6: "iOS 15, macOS 12", 7: "iOS 16, macOS 13", 8: "iOS 17, macOS 14", 9: "iOS 18, macOS 15",
    10: "iOS 26, macOS 26",
}  # fmt: skip
ARRAY_DTYPES = {65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}
PORT_KINDS = {1: "int64", 2: "float64", 3: "string", 4: "image", 6: "dictionary", 7: "sequence", 8: "state"}
COMPRESSED = "constexpr_"
DEPTH_LIMIT = 8


class _Model:
    """What the walk has found in a model and in those of its pipeline."""

    def __init__(self) -> None:
        self.program = Program()
        self.network = Network()

    @property
    def tensors(self) -> list[TensorInfo]:
        return [*self.program.tensors, *self.network.tensors]

    @property
    def operators(self) -> dict[str, int]:
        return {**self.program.operators, **self.network.layers}


def describe(path: Path) -> InspectResult:
    """An .mlpackage folder: inputs, outputs, operators, and the weights that lie in its weight file."""
    return _describe_spec(path, _spec_file(path))


def describe_spec(path: Path) -> InspectResult:
    """A bare .mlmodel file: of a neural network, layers with their weights."""
    return _describe_spec(path, path)


def _spec_file(package: Path) -> Path:
    """The root model that Manifest.json names."""
    try:
        text = (package / "Manifest.json").read_bytes()
        if len(text) > MANIFEST_LIMIT_BYTES:
            raise ValueError("too big")
        manifest = parse_json(text)
        inner = str(manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ExplorerError(f"{package} has a damaged Manifest.json", AGAIN) from None
    try:
        file = package / "Data" / inner
        outside = not file.resolve().is_relative_to(package.resolve())
        there = file.is_file()
    except (OSError, ValueError):
        raise ExplorerError(f"{package} has a damaged Manifest.json", AGAIN) from None
    if outside:
        raise ExplorerError(f"{package} names a model outside itself", "do not load it")
    if not there:
        raise ExplorerError(f"{package} lacks {clean(inner)}, which its Manifest.json names", AGAIN)
    return file


def _describe_spec(path: Path, file: Path) -> InspectResult:
    with file.open("rb") as stream:
        wire = Wire(stream, file.stat().st_size)
        try:
            return _result(path, file, wire)
        except WireError as error:
            raise ExplorerError(f"{path} is cut off or damaged ({error})", AGAIN) from None


def _result(path: Path, file: Path, wire: Wire) -> InspectResult:
    model = _Model()
    kind = _walk(wire, wire.whole, model, 0)
    description = wire.first(wire.whole, 2) or (0, 0)
    custom = [name for name in model.network.custom if name]
    files = weight_files(path, file, model.program)
    return InspectResult(
        source=str(path),
        format="mlpackage" if path.is_dir() else "coreml_spec",
        format_name=f"Core ML {MODEL_TYPES.get(kind, 'model')}",
        runs_code_on_load=False,
        safety=_safety(custom),
        references=custom,
        unknown=custom,
        tensors=model.tensors,
        parameters=count_parameters(model.tensors),
        bytes=size_bytes(path),
        bytes_by_dtype=bytes_by_dtype(model.tensors),
        external_files=files,
        inputs=[_port(wire, span) for span in wire.spans(description, 1)],
        outputs=[_port(wire, span) for span in wire.spans(description, 10)],
        metadata=_metadata(wire, description, model.operators),
        findings=[*_compressed(model), *_custom(custom), *_lost([item.name for item in files if item.bytes is None])],
    )


def _walk(wire: Wire, span: Span, model: _Model, depth: int) -> int:
    """The number of the model's type; a pipeline's models are walked too."""
    kind, inner = 0, (0, 0)
    for number, _, value in wire.fields(span):
        if number >= 200 and isinstance(value, tuple) and not kind:
            kind, inner = number, value
    if kind == ML_PROGRAM:
        walk_program(wire, inner, model.program)
    elif kind in NETWORKS:
        walk_network(wire, inner, model.network)
    elif kind in PIPELINES and depth < DEPTH_LIMIT:
        pipeline = inner if kind == 202 else wire.first(inner, 1) or (0, 0)
        for nested in wire.spans(pipeline, 1):
            _walk(wire, nested, model, depth + 1)
    elif kind == CUSTOM_MODEL:
        model.network.custom[clean(wire.text(wire.first(inner, 1)))] = None
    return kind


def _safety(custom: list[str]) -> str:
    if custom:
        return f"operations of Core ML, and {few(custom)}, which an app must bring as code of its own"
    return "a program of Core ML operations; it is compiled, not executed, when loaded"


def _metadata(wire: Wire, description: Span, operators: dict[str, int]) -> dict[str, Any]:
    version = wire.integer(wire.whole, 1)
    facts: dict[str, Any] = {"specification_version": version, "operators": operators}
    if version in TARGETS:
        facts["targets"] = f"{TARGETS[version]} and later"
    metadata = wire.first(description, 100)
    if metadata is not None:
        names = {1: "description", 2: "version", 3: "author", 4: "license"}
        texts = {name: clean(wire.text(wire.first(metadata, number)), 1000) for number, name in names.items()}
        facts.update({name: text for name, text in texts.items() if text})
        facts.update({clean(key): clean(wire.text(value), 1000) for key, value in wire.map_items(metadata, 100)})
    return facts


def _compressed(model: _Model) -> list[Finding]:
    """Operators that unfold weights when the model is compiled, and layers with packed weights."""
    found = {name: count for name, count in model.program.operators.items() if name.rpartition(".")[2].startswith(COMPRESSED)}
    packed = sum(tensor.dtype.startswith(("uint", "int")) for tensor in model.network.tensors)
    if packed:
        found["weights of neural network layers"] = packed
    if not found:
        return []
    evidence = ", ".join(f"{count} {name}" for name, count in list(found.items())[:5])
    return [Finding(severity="info", title="compressed: quantized, palettized or sparse weights", evidence=evidence)]


def _custom(names: list[str]) -> list[Finding]:
    remedy = "the app that loads it must define them"
    return [Finding(severity="warning", title=f"needs classes of its own: {few(names)}", remedy=remedy)] if names else []


def _lost(names: list[str]) -> list[Finding]:
    return [Finding(severity="error", title=f"weight file {name} is missing", remedy=AGAIN) for name in names]


def _port(wire: Wire, feature: Span) -> PortInfo:
    """FeatureDescription: name 1, type 3 > array 5 > shape 1, element type 2; or image 4 > width 1, height 2.

    An array without a shape may have any: coremltools leaves it out where a size is flexible.
    """
    name = clean(wire.text(wire.first(feature, 1)))
    array = wire.first(feature, 3, 5) or wire.first(feature, 3, 8, 1)
    if array is not None:
        sizes: list[int | str] = [*wire.integers(array, 1)]
        return PortInfo(name=name, shape=sizes or ["..."], dtype=ARRAY_DTYPES.get(wire.integer(array, 2), "unknown"))
    kind = wire.first(feature, 3) or (0, 0)
    number = next((number for number, _, _ in wire.fields(kind) if number in PORT_KINDS), 0)
    image = wire.first(kind, 4)
    shape: list[int | str] = [wire.integer(image, 2), wire.integer(image, 1)] if image else []
    return PortInfo(name=name, shape=shape, dtype=PORT_KINDS.get(number, "unknown"))
