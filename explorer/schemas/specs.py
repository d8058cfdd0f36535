"""What can be asked: one model a capability. Forms, flags, TOML, wire and records all come from these fields."""

import json
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, TypeAdapter, ValidationError

from explorer.errors import ExplorerError
from explorer.schemas.base import Request, note
from explorer.schemas.choices import SOURCE_HELP, Device
from explorer.schemas.convert_spec import ConvertSpec as ConvertSpec
from explorer.schemas.convert_spec import EvaluateSpec, HintsSpec, OperatorsSpec, ProveSpec
from explorer.schemas.export_spec import ExportSpec as ExportSpec
from explorer.schemas.model_specs import DiffSpec, GraphSpec, LayersSpec, MatchSpec, ValuesSpec, VerifySpec
from explorer.schemas.train_spec import TrainSpec as TrainSpec


class InspectSpec(Request):
    """Describe a model file without running code from it or loading its weights."""

    kind: Literal["inspect"] = "inspect"
    source: str = Field(min_length=1, description="the file or .mlpackage folder to describe", json_schema_extra=note(path=True))


class QuantizeSpec(Request):
    """Store weights, or weights and activations, in eight bits and check what that costs."""

    kind: Literal["quantize"] = "quantize"
    source: str = Field(
        min_length=1,
        description="an .onnx file, an .mlpackage or the job:ID that made one",
        json_schema_extra=note(path=True),
    )
    method: Literal["auto", "static_int8", "weights_int8"] = Field(
        "auto", description="static_int8 for ONNX, weights_int8 for Core ML"
    )
    data: str | None = Field(
        None,
        description="calibration and held-out data; default what the model was trained on",
        json_schema_extra=note(path=True),
    )
    calibration_samples: int = Field(
        256,
        ge=1,
        le=100_000,
        description="training samples that set the ranges",
        json_schema_extra=note(unit="samples", group="calibration"),
    )
    per_channel: bool = Field(True, description="a scale for each output channel", json_schema_extra=note(group="calibration"))
    max_accuracy_drop: float = Field(
        0.01, ge=0, le=1, description="the job fails when accuracy falls by more", json_schema_extra=note(group="check")
    )
    output: str | None = Field(None, description="also write the result here", json_schema_extra=note(path=True, group="output"))


class PruneSpec(Request):
    """Remove weights: singly (L1, made permanent) or whole channels, with fine-tuning after."""

    kind: Literal["prune"] = "prune"
    source: str = Field(min_length=1, description=f"the model: {SOURCE_HELP}", json_schema_extra=note(path=True))
    weights: str | None = Field(
        None,
        description="weights for the model: a state dict file or job:ID",
        json_schema_extra=note(path=True, group="model"),
    )
    method: Literal["structural", "l1_unstructured"] = Field(
        "structural", description="structural removes channels; l1_unstructured only sets weights to zero"
    )
    amount: float = Field(0.5, gt=0, lt=1, description="share of channels or weights to remove")
    finetune_epochs: int = Field(
        10, ge=0, le=100_000, description="training after structural pruning", json_schema_extra=note(unit="epochs")
    )
    learning_rate: float = Field(2e-3, gt=0, le=10, description="of the fine-tuning", json_schema_extra=note(group="fine-tuning"))
    batch_size: int = Field(
        32,
        ge=1,
        le=65_536,
        description="samples in one fine-tuning step",
        json_schema_extra=note(unit="samples", group="fine-tuning"),
    )
    data: str | None = Field(
        None,
        description="data for fine-tuning and accuracy; default what the model was trained on",
        json_schema_extra=note(path=True),
    )
    device: Device = Field(
        "auto", description="auto takes MPS, then CUDA, then XLA, then CPU", json_schema_extra=note(group="fine-tuning")
    )
    threads: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="CPU threads; default all that this process may use",
        json_schema_extra=note(unit="threads", group="fine-tuning"),
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="seed of the sample order", json_schema_extra=note(group="fine-tuning"))
    max_accuracy_drop: float | None = Field(
        None,
        ge=0,
        le=1,
        description="the job fails when accuracy falls by more; default: only shown",
        json_schema_extra=note(group="check"),
    )


class BenchmarkSpec(Request):
    """Compare ONNX files: bytes, held-out accuracy and latency against the first, interleaved."""

    kind: Literal["benchmark"] = "benchmark"
    models: list[str] = Field(min_length=1, description="ONNX files or job:ID; the first is the baseline")
    names: list[str] = Field(default_factory=list, description="a name for each model", json_schema_extra=note(group="output"))
    data: str | None = Field(
        None, description="held-out data; default what the first model was trained on", json_schema_extra=note(path=True)
    )
    batch_size: int = Field(1, ge=1, le=65_536, description="samples in one call", json_schema_extra=note(unit="samples"))
    threads: int = Field(1, ge=1, le=1024, description="threads of each runtime session", json_schema_extra=note(unit="threads"))
    rounds: int = Field(
        300, ge=20, le=100_000, description="interleaved rounds that are timed", json_schema_extra=note(unit="rounds")
    )
    seed: int = Field(
        0, ge=0, le=2**31 - 1, description="seed of the order and the bootstrap", json_schema_extra=note(group="output")
    )


class CeilingsSpec(Request):
    """Measure the most that this machine does: matmul rates, memory bandwidth, copies to a device, the smallest call."""

    kind: Literal["ceilings"] = "ceilings"
    devices: Literal["all", "cpu", "mps", "cuda"] = Field("all", description="all measures every device that torch can use")
    threads: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="CPU threads; default all that this process may use",
        json_schema_extra=note(unit="threads"),
    )
    seconds: float = Field(
        0.5, ge=0.05, le=60, description="time for each figure, after warming up", json_schema_extra=note(unit="s")
    )


Spec = (
    InspectSpec
    | ValuesSpec
    | DiffSpec
    | VerifySpec
    | MatchSpec
    | LayersSpec
    | GraphSpec
    | TrainSpec
    | ConvertSpec
    | EvaluateSpec
    | OperatorsSpec
    | HintsSpec
    | ProveSpec
    | QuantizeSpec
    | PruneSpec
    | BenchmarkSpec
    | CeilingsSpec
    | ExportSpec
)
AnySpec = Annotated[Spec, Field(discriminator="kind")]
SPEC_ADAPTER: TypeAdapter[Spec] = TypeAdapter(AnySpec)
SPEC_TYPES: dict[str, type[Spec]] = {
    "inspect": InspectSpec,
    "values": ValuesSpec,
    "diff": DiffSpec,
    "verify": VerifySpec,
    "match": MatchSpec,
    "layers": LayersSpec,
    "graph": GraphSpec,
    "train": TrainSpec,
    "convert": ConvertSpec,
    "evaluate": EvaluateSpec,
    "operators": OperatorsSpec,
    "hints": HintsSpec,
    "prove": ProveSpec,
    "quantize": QuantizeSpec,
    "prune": PruneSpec,
    "benchmark": BenchmarkSpec,
    "ceilings": CeilingsSpec,
    "export": ExportSpec,
}


def parse_spec(values: Mapping[str, Any], origin: str = "spec") -> Spec:
    """A validated spec from plain values; raises `ExplorerError` naming `origin` and each wrong field."""
    kind = values.get("kind")
    if kind not in SPEC_TYPES:
        raise ExplorerError(f"{origin}: kind is {kind!r}", f"one of {', '.join(SPEC_TYPES)}")
    try:
        return SPEC_TYPES[kind].model_validate(dict(values))
    except ValidationError as error:
        raise ExplorerError(f"{origin}: {explain(error)}", f"`explorer {kind} --help` lists the fields") from None


def explain(error: ValidationError) -> str:
    """The errors of a validation, a clause each: field, value and what was expected."""
    clauses = []
    for item in error.errors(include_url=False):
        field = ".".join(str(part) for part in item["loc"]) or "value"
        given = "" if item["type"] == "missing" or item["input"] is None else f" (given {item['input']!r})"
        clauses.append(f"{field}: {item['msg'][:1].lower()}{item['msg'][1:]}{given}")
    return "; ".join(clauses)


def spec_from_toml(text: str, origin: str) -> Spec:
    """The spec in a TOML document; `origin` names the file in errors."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExplorerError(f"{origin} is not TOML ({error})", "mend that line") from None
    return parse_spec(values, origin)


def spec_to_toml(spec: Spec) -> str:
    """The TOML twin of a spec: fields in order, unset ones left out. `spec_from_toml` gives the same spec back."""
    return tomli_w.dumps(json.loads(spec.model_dump_json(exclude_none=True)))


def sources(spec: Spec) -> list[str]:
    """The files, factories and jobs that a spec names, in order."""
    if isinstance(spec, BenchmarkSpec):
        return list(spec.models)
    named = [getattr(spec, name, None) for name in ("source", "package", "first", "second", "weights")]
    return [text for text in named if text]


def parent_jobs(spec: Spec) -> list[str]:
    """IDs of the jobs whose results this spec builds on, in order, each once."""
    return list(dict.fromkeys(text.removeprefix("job:") for text in sources(spec) if text.startswith("job:")))
