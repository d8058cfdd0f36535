"""What is answered: one model a capability, and the pieces they share."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from explorer.schemas.base import Record
from explorer.schemas.convert_result import Check as Check
from explorer.schemas.convert_result import ConvertResult as ConvertResult
from explorer.schemas.convert_result import EvaluateResult, HintsResult, OperatorsResult, ProveResult
from explorer.schemas.events import Finding
from explorer.schemas.export_spec import ExportResult as ExportResult
from explorer.schemas.model_results import (
    DiffResult,
    GraphResult,
    InspectResult,
    LayersResult,
    MatchResult,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.train_result import TrainResult as TrainResult


class Ratio(Record):
    """A ratio with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


class QuantizeResult(Record):
    """A quantized model; sizes in bytes on disk, accuracies on held-out data (None: the data has no classes).

    `output` lies below the job's artifacts, `delivered` is the path that it was also written to, as asked.
    """

    kind: Literal["quantize"] = "quantize"
    method: str
    output: str
    delivered: str | None = None
    source_bytes: int
    bytes: int
    size_ratio: float
    int8_nodes: int
    float_nodes: int
    float_node_names: list[str] = Field(default_factory=list)
    source_accuracy: float | None = None
    accuracy: float | None = None
    checks: list[Check]
    findings: list[Finding] = Field(default_factory=list)


class PruneResult(Record):
    """A pruned model: parameters, share of zeros, bytes of the weights file plain and gzipped, accuracy along the way."""

    kind: Literal["prune"] = "prune"
    method: str
    model: str
    source_parameters: int
    parameters: int
    zero_share: float
    source_bytes: int
    bytes: int
    source_gzip_bytes: int
    gzip_bytes: int
    source_accuracy: float | None = None
    pruned_accuracy: float | None = None
    accuracy: float | None = None
    findings: list[Finding] = Field(default_factory=list)


Verdict = Literal["faster", "slower", "no difference", "too noisy", "baseline"]


class Variant(Record):
    """One row of a comparison: milliseconds a call (p90 None in few rounds); `speed_ratio` above 1 is faster.

    `flops` are multiplications and additions of one call in layers that compute; None where an operator cannot be counted.
    """

    name: str
    source: str
    bytes: int
    size_ratio: float
    accuracy: float | None = None
    p50_ms: float
    p90_ms: float | None
    flops: int | None = None
    speed_ratio: Ratio
    verdict: Verdict


class BenchmarkResult(Record):
    """Variants measured interleaved in one process; `null_ratio` is the baseline against itself."""

    kind: Literal["benchmark"] = "benchmark"
    runtime: str
    threads: int
    batch_size: int
    rounds: int
    samples: int
    load_average: float
    null_ratio: Ratio
    variants: list[Variant]
    findings: list[Finding] = Field(default_factory=list)


class Ceiling(Record):
    """The most of one kind of work that one device did: the median over `repeats` with its 10th and 90th percentile.

    `dtype` is empty where none matters; `detail` says what was run, such as "2048 x 2048 x 2048".
    """

    device: str
    quantity: Literal["matmul", "bandwidth", "copy_to_device", "copy_from_device", "call_latency"]
    dtype: str = ""
    value: float
    low: float
    high: float
    unit: Literal["FLOP/s", "OP/s", "B/s", "s"]
    repeats: int
    detail: str = ""


class CeilingsResult(Record):
    """What a machine does at most; `skipped` says why a figure is not there, by device and kind of work."""

    kind: Literal["ceilings"] = "ceilings"
    chip: str
    threads: int
    load_average: float
    seconds: float
    ceilings: list[Ceiling]
    skipped: dict[str, str] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)


JobResult = (
    InspectResult
    | ValuesResult
    | DiffResult
    | VerifyResult
    | MatchResult
    | LayersResult
    | GraphResult
    | TrainResult
    | ConvertResult
    | EvaluateResult
    | OperatorsResult
    | HintsResult
    | ProveResult
    | QuantizeResult
    | PruneResult
    | BenchmarkResult
    | CeilingsResult
    | ExportResult
)
RESULT_ADAPTER: TypeAdapter[JobResult] = TypeAdapter(Annotated[JobResult, Field(discriminator="kind")])


class TorchModel(Record):
    """`model.json` beside `model.safetensors`: how to build the module that the weights fit.

    `structure` is "resized" when channels were removed: build the factory, then take shapes from the weights.
    """

    source: str
    weights: str
    structure: Literal["as_built", "resized"] = "as_built"
    data: str | None = None
