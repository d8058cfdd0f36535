"""What a conversion and the evaluator answer."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Record
from explorer.schemas.events import Finding


class Check(Record):
    """Outputs against the source's on `samples` inputs; `agreement` is the share with the same class, None without classes.

    `first_difference` names the first value that differs with the module of the source it came from.
    """

    runtime: str
    mode: str
    samples: int
    max_abs_error: float
    max_rel_error: float
    snr_db: float
    cosine: float | None = None
    agreement: float | None = None
    tolerance: str
    passed: bool
    first_difference: str = ""


class Hint(Record):
    """What a published rule says about running on the Neural Engine; never a measurement. `where` names operators."""

    rule: str
    title: str
    where: str = ""
    remedy: str = ""
    source: str
    date: str


class PrecisionLoss(Record):
    """One value of a float16 program beside float32: `problem` is overflow, nan, underflow or loss.

    `snr_db` is None when not finite.
    """

    name: str
    operator: str
    module: str = ""
    problem: str
    largest: float
    snr_db: float | None = None
    remedy: str = ""


class ConvertResult(Record):
    """A conversion with its proof; `route` names the steps that led there, `output` lies below the job's artifacts.

    `delivered` is the path that the result was also written to, as asked.
    `preflight` was found before, `rewrites` says what was replaced in the model, `losses` what float16 breaks, first value first.
    `ports` are inputs and outputs of the result as text.
    """

    kind: Literal["convert"] = "convert"
    target: str
    output: str
    delivered: str | None = None
    bytes: int
    route: list[str]
    passed: bool
    checks: list[Check]
    preflight: list[Finding] = Field(default_factory=list)
    rewrites: list[str] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)
    hints: list[Hint] = Field(default_factory=list)
    losses: list[PrecisionLoss] = Field(default_factory=list)
    ports: list[str] = Field(default_factory=list)
    seconds: float


class EvaluateResult(Record):
    """Outputs by name with their shape; `losses` name values that are not finite."""

    kind: Literal["evaluate"] = "evaluate"
    package: str
    mode: str
    output: str | None = None
    outputs: dict[str, list[int]]
    operators: int
    seconds: float
    losses: list[PrecisionLoss] = Field(default_factory=list)


class OperatorsResult(Record):
    """Operator types known and missing, of coremltools' registry or of one package."""

    kind: Literal["operators"] = "operators"
    package: str | None = None
    known: list[str]
    missing: list[str]


class UnitRun(Record):
    """One compute unit of a Mac: its check, seconds to load and of one call, and how many operators prefer each device."""

    compute_units: str
    check: Check | None = None
    load_s: float | None = None
    call_s: float | None = None
    operators_by_device: dict[str, int] = Field(default_factory=dict)
    problem: str = ""


class ProveResult(Record):
    """What this Mac said about a converted model."""

    kind: Literal["prove"] = "prove"
    source: str
    machine: str
    system: str
    units: list[UnitRun]


class HintsResult(Record):
    """Hints on one package, the weightiest first."""

    kind: Literal["hints"] = "hints"
    package: str
    operators: int
    hints: list[Hint]
