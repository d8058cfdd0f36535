"""What a training answers."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Record


class Checkpoint(Record):
    """A checkpoint that was kept: `name` lies below the job's artifacts, weights and optimizer state in it are finite."""

    name: str
    step: int
    bytes: int


class TrainResult(Record):
    """The end of a training: `metrics` are final values by name, `checkpoint` and `model` lie below the job's artifacts.

    `stopped` says why it ended before its last epoch. `flops_per_sample` are multiplications and additions of one sample forward
    and backward; None where they cannot be counted. `step_ms` are medians of the timed steps by part: data, forward, backward,
    optimizer.
    `environment` are the variables set before torch started, `fallback_operators` those that MPS left to the CPU.
    """

    kind: Literal["train"] = "train"
    device: str
    device_reason: str
    processes: int = 1
    steps: int
    seconds: float
    stopped: str = ""
    parameters: int
    flops_per_sample: float | None = None
    samples_per_s: float | None = None
    step_ms: dict[str, float] = Field(default_factory=dict)
    peak_rss_bytes: int | None = None
    peak_device_bytes: int | None = None
    metrics: dict[str, float]
    best_step: int | None = None
    model: str
    checkpoint: str | None = None
    checkpoints: list[Checkpoint] = Field(default_factory=list)
    alarms: list[str] = Field(default_factory=list)
    environment: dict[str, str] = Field(default_factory=dict)
    fallback_operators: list[str] = Field(default_factory=list)
