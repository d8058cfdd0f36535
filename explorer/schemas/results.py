"""What is answered: one model a capability, and the pieces they share."""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from explorer.schemas.base import Record
from explorer.schemas.events import Finding


class Check(Record):
    """Outputs against the source's on `samples` inputs; `agreement` is the share with the same class, None without classes."""

    runtime: str
    mode: str
    samples: int
    max_abs_error: float
    max_rel_error: float
    snr_db: float
    agreement: float | None = None
    tolerance: str
    passed: bool
    first_difference: str = ""


class Ratio(Record):
    """A ratio with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


class TensorInfo(Record):
    """One stored tensor; `bytes` as stored."""

    name: str
    shape: list[int]
    dtype: str
    bytes: int


class PortInfo(Record):
    """An input or output of a model; a dimension is a number or a name."""

    name: str
    shape: list[int | str]
    dtype: str


class InspectResult(Record):
    """What a model file is. `parameters` counts floating and integer weights, `bytes` is the size on disk."""

    kind: Literal["inspect"] = "inspect"
    source: str
    format: str
    format_name: str
    runs_code_on_load: bool
    safety: str
    references: list[str] = Field(default_factory=list)
    tensors: list[TensorInfo] = Field(default_factory=list)
    parameters: int
    bytes: int
    inputs: list[PortInfo] = Field(default_factory=list)
    outputs: list[PortInfo] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)


class TrainResult(Record):
    """The end of a training: `metrics` are final values by name, `checkpoint` and `model` lie below the job's artifacts."""

    kind: Literal["train"] = "train"
    device: str
    device_reason: str
    steps: int
    seconds: float
    parameters: int
    metrics: dict[str, float]
    model: str
    checkpoint: str | None = None
    alarms: list[str] = Field(default_factory=list)


class ConvertResult(Record):
    """A conversion with its proof; `route` names the steps that led there, `output` lies below the job's artifacts."""

    kind: Literal["convert"] = "convert"
    target: str
    output: str
    bytes: int
    route: list[str]
    passed: bool
    checks: list[Check]
    findings: list[Finding] = Field(default_factory=list)
    seconds: float


class QuantizeResult(Record):
    """A quantized model; sizes in bytes on disk, accuracies on held-out data (None: the data has no classes)."""

    kind: Literal["quantize"] = "quantize"
    method: str
    output: str
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
    """One row of a comparison: milliseconds a call (p90 None in few rounds); `speed_ratio` above 1 is faster."""

    name: str
    source: str
    bytes: int
    size_ratio: float
    accuracy: float | None = None
    p50_ms: float
    p90_ms: float | None
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


JobResult = InspectResult | TrainResult | ConvertResult | QuantizeResult | PruneResult | BenchmarkResult
RESULT_ADAPTER: TypeAdapter[JobResult] = TypeAdapter(Annotated[JobResult, Field(discriminator="kind")])


class TorchModel(Record):
    """`model.json` beside `model.safetensors`: how to build the module that the weights fit.

    `structure` is "resized" when channels were removed: build the factory, then take shapes from the weights.
    """

    source: str
    weights: str
    structure: Literal["as_built", "resized"] = "as_built"
    data: str | None = None
