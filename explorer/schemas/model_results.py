"""What is answered about model files."""

from typing import Any, Literal

from pydantic import Field

from explorer.schemas.base import Record
from explorer.schemas.events import Finding


class TensorInfo(Record):
    """One stored tensor; `bytes` as stored.

    `shares` names an earlier tensor with the same storage, which is then counted once; `storage_bytes` is the storage of a view
    that is smaller than it, else None.
    """

    name: str
    shape: list[int]
    dtype: str
    bytes: int
    shares: str = ""
    storage_bytes: int | None = None


class PortInfo(Record):
    """An input or output of a model; a dimension is a number or a name."""

    name: str
    shape: list[int | str]
    dtype: str


class ExternalFile(Record):
    """Another file that a model needs; `bytes` is None when it is not there."""

    name: str
    bytes: int | None = None


class InspectResult(Record):
    """What a model file is. `parameters` counts floating and integer weights once each, `bytes` is the size on disk.

    `unknown` are those of `references` that no allowlist knows: loading would ask for a yes. `contents` says what else a
    checkpoint holds, by key. `prefixes` are beginnings common to the names of all weights, such as `module.`.
    """

    kind: Literal["inspect"] = "inspect"
    source: str
    format: str
    format_name: str
    runs_code_on_load: bool
    safety: str
    references: list[str] = Field(default_factory=list)
    unknown: list[str] = Field(default_factory=list)
    tensors: list[TensorInfo] = Field(default_factory=list)
    parameters: int
    bytes: int
    bytes_by_dtype: dict[str, int] = Field(default_factory=dict)
    prefixes: list[str] = Field(default_factory=list)
    contents: dict[str, str] = Field(default_factory=dict)
    external_files: list[ExternalFile] = Field(default_factory=list)
    inputs: list[PortInfo] = Field(default_factory=list)
    outputs: list[PortInfo] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)


class TensorValues(Record):
    """Statistics of one tensor over its finite elements; `edges` are one more than the counts of `histogram`."""

    name: str
    shape: list[int]
    dtype: str
    elements: int
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    std: float | None = None
    norm: float | None = None
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    histogram: list[int] = Field(default_factory=list)
    edges: list[float] = Field(default_factory=list)


class ValuesResult(Record):
    """Statistics of one tensor, or of those that are not finite after a sweep of `checked` tensors and `bytes`."""

    kind: Literal["values"] = "values"
    source: str
    checked: int
    bytes: int
    seconds: float
    tensors: list[TensorValues]
    findings: list[Finding] = Field(default_factory=list)


class TensorChange(Record):
    """One tensor in two models; changes are None when shapes differ.

    `relative` is the norm of the change over the norm of the first's tensor.
    """

    name: str
    shape: list[int]
    other_shape: list[int]
    dtype: str
    other_dtype: str
    max_abs: float | None = None
    mean_abs: float | None = None
    relative: float | None = None


class DiffResult(Record):
    """How two models' tensors differ; `same` counts those within the tolerance, `renaming` says which prefix was set aside."""

    kind: Literal["diff"] = "diff"
    first: str
    second: str
    same: int
    added: list[TensorInfo] = Field(default_factory=list)
    removed: list[TensorInfo] = Field(default_factory=list)
    reshaped: list[TensorChange] = Field(default_factory=list)
    changed: list[TensorChange] = Field(default_factory=list)
    renaming: str = ""
    findings: list[Finding] = Field(default_factory=list)


class OutputDifference(Record):
    """One output of two models over all inputs; errors are None when the shapes differ."""

    name: str
    other_name: str
    shape: list[int]
    other_shape: list[int]
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    snr_db: float | None = None
    agreement: float | None = None


class VerifyResult(Record):
    """Whether two models say the same; `runtimes` are what ran each of them."""

    kind: Literal["verify"] = "verify"
    first: str
    second: str
    same: bool
    max_abs_error: float | None
    tolerance: float
    samples: int
    runtimes: list[str]
    inputs: list[PortInfo] = Field(default_factory=list)
    outputs: list[OutputDifference] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)


class ShapeMismatch(Record):
    """One name whose stored shape is not the module's."""

    name: str
    expected: list[int]
    found: list[int]


class MatchResult(Record):
    """Stored weights against a module; `suggestion` is a change of prefix that would match more, `suggested_matches` how many."""

    kind: Literal["match"] = "match"
    source: str
    weights: str
    matched: int
    missing: list[str] = Field(default_factory=list)
    unexpected: list[str] = Field(default_factory=list)
    mismatched: list[ShapeMismatch] = Field(default_factory=list)
    suggestion: str = ""
    suggested_matches: int | None = None
    fits: bool
    findings: list[Finding] = Field(default_factory=list)


class LayerCost(Record):
    """One module of a model; FLOPs and activations are of one call of the batch, `latency_share` of the whole call (0..1)."""

    name: str
    type: str
    output_shapes: list[list[int]]
    parameters: int
    flops: int | None
    activation_bytes: int
    latency_ms: float | None = None
    latency_share: float | None = None


class LayersResult(Record):
    """What each layer costs. FLOPs are two for each multiply-add; operators in `uncounted` add nothing to them."""

    kind: Literal["layers"] = "layers"
    source: str
    batch_size: int
    input_shapes: list[list[int]]
    parameters: int
    flops: int
    uncounted: list[str] = Field(default_factory=list)
    activation_bytes: int
    latency_ms: float | None = None
    threads: int | None = None
    layers: list[LayerCost]
    findings: list[Finding] = Field(default_factory=list)


class Operator(Record):
    """One operator of a graph; `block` is the name of the operator whose nested block it is in, empty at the top."""

    name: str
    type: str
    inputs: list[str]
    outputs: list[PortInfo]
    attributes: dict[str, str] = Field(default_factory=dict)
    module: str = ""
    block: str = ""


class GraphResult(Record):
    """The operators of a model in order; `weights` are the names of stored tensors among their inputs."""

    kind: Literal["graph"] = "graph"
    source: str
    format: str
    inputs: list[PortInfo]
    outputs: list[PortInfo]
    operators: list[Operator]
    weights: list[str] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)
