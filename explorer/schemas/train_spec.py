"""What can be asked of a training."""

import re
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from explorer.schemas.base import Request, note
from explorer.schemas.choices import DATA_HELP, SOURCE_HELP, Device, Precision

Optimizer = Literal["adamw", "adam", "sgd", "rmsprop"]
Schedule = Literal["cosine", "linear", "step", "plateau", "constant"]

# What torch takes where nothing is given, and the most that it takes (ATen/mps/MPSAllocator.h of torch 2.13).
MPS_HIGH_WATERMARK = 1.7
MPS_LOW_WATERMARK = 1.4
MPS_WATERMARK_BOUND = 2.0


class TrainSpec(Request):
    """Train a model, on one device or in several processes."""

    kind: Literal["train"] = "train"
    source: str = Field(
        "samples/digits_cnn.py:digits_cnn",
        min_length=1,
        description=f"the model: {SOURCE_HELP}",
        json_schema_extra=note(path=True),
    )
    weights: str | None = Field(
        None,
        description="start from these weights: a state dict file or job:ID",
        json_schema_extra=note(path=True, group="model"),
    )
    data: str = Field("digits", min_length=1, description=DATA_HELP, json_schema_extra=note(path=True))
    step: str | None = Field(
        None,
        description="your own training step, file.py:step: step(module, batch) gives the loss, or a dict with it",
        json_schema_extra=note(path=True, group="model"),
    )
    epochs: int = Field(12, ge=1, le=100_000, description="passes over the training data", json_schema_extra=note(unit="epochs"))
    max_steps: int | None = Field(
        None,
        ge=1,
        description="end after so many steps, within an epoch if need be",
        json_schema_extra=note(unit="steps", group="run"),
    )
    batch_size: int = Field(
        32, ge=1, le=65_536, description="samples in one step of one process", json_schema_extra=note(unit="samples")
    )
    learning_rate: float = Field(3e-3, gt=0, le=10, description="peak learning rate")
    optimizer: Optimizer = Field("adamw", description="how weights are updated", json_schema_extra=note(group="optimizer"))
    weight_decay: float = Field(
        0.01, ge=0, le=1, description="pull of the weights towards zero", json_schema_extra=note(group="optimizer")
    )
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum of sgd and rmsprop", json_schema_extra=note(group="optimizer"))
    schedule: Schedule = Field(
        "cosine",
        description="learning rate over the run; step: a tenth after one and two thirds; plateau: half when validation stalls",
        json_schema_extra=note(group="optimizer"),
    )
    warmup_share: float = Field(
        0.05,
        ge=0,
        le=0.5,
        description="share of the run over which cosine, linear and step rise to the peak",
        json_schema_extra=note(group="optimizer"),
    )
    label_smoothing: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="share of each class target spread over the others; the training loss then ends above 0",
        json_schema_extra=note(group="optimizer"),
    )
    clip_grad_norm: float | None = Field(
        None, gt=0, description="scale gradients down to this norm", json_schema_extra=note(group="optimizer")
    )
    accumulate_batches: int = Field(
        1,
        ge=1,
        le=4096,
        description="batches whose gradients are averaged into one step",
        json_schema_extra=note(unit="batches", group="optimizer"),
    )
    early_stopping_epochs: int | None = Field(
        None,
        ge=1,
        description="end when validation did not improve for so many epochs",
        json_schema_extra=note(unit="epochs", group="run"),
    )
    keep_best: bool = Field(
        False, description="give the weights of the best validation instead of the last", json_schema_extra=note(group="run")
    )
    device: Device = Field(
        "auto", description="auto takes MPS, then CUDA, then XLA, then CPU", json_schema_extra=note(group="device")
    )
    precision: Precision = Field(
        "float32", description="float16 and bfloat16 are mixed precision", json_schema_extra=note(group="device")
    )
    threads: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="CPU threads of each process; default all that it may use",
        json_schema_extra=note(unit="threads", group="device"),
    )
    mps_fallback: bool = Field(
        True,
        description="run operators that MPS lacks on the CPU; off, they fail the job",
        json_schema_extra=note(group="device"),
    )
    mps_high_watermark: float | None = Field(
        None,
        ge=0,
        le=MPS_WATERMARK_BOUND,
        description="hard limit of MPS memory as a multiple of what Metal recommends; 0 is none; default torch's 1.7",
        json_schema_extra=note(group="device"),
    )
    mps_low_watermark: float | None = Field(
        None,
        ge=0,
        le=MPS_WATERMARK_BOUND,
        description="soft limit of MPS memory, at most the hard one; default torch's 1.4, or the hard one where that is less",
        json_schema_extra=note(group="device"),
    )
    processes: int = Field(
        1,
        ge=1,
        le=256,
        description="data parallel processes on this machine, each with its own batch",
        json_schema_extra=note(unit="processes", group="data parallel"),
    )
    nodes: int = Field(
        1,
        ge=1,
        le=1024,
        description="machines that take part; start the same spec on each",
        json_schema_extra=note(unit="machines", group="data parallel"),
    )
    rendezvous: str | None = Field(
        None,
        validate_default=True,
        description="host:port where the machines meet, on one of them",
        json_schema_extra=note(group="data parallel"),
    )
    backend: Literal["auto", "gloo", "nccl"] = Field(
        "auto",
        description="how processes talk; auto takes nccl on CUDA, else gloo",
        json_schema_extra=note(group="data parallel"),
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="seed of weights and sample order", json_schema_extra=note(group="run"))
    deterministic: bool = Field(
        False,
        description="torch's deterministic algorithms only; an operator without one fails the job",
        json_schema_extra=note(group="run"),
    )
    log_every_steps: int = Field(
        20,
        ge=1,
        le=100_000,
        description="losses are read from the device this often, and each half second when steps are slow",
        json_schema_extra=note(unit="steps", group="run"),
    )
    time_every_steps: int = Field(
        100,
        ge=0,
        le=1_000_000,
        description="one step in so many is timed in its parts (data, forward, backward, optimizer); 0: none",
        json_schema_extra=note(unit="steps", group="run"),
    )
    check_gradients: Literal["auto", "always"] = Field(
        "auto",
        description="look for NaN before each update; auto: only where that is cheap, else undo the steps that a NaN spoilt",
        json_schema_extra=note(group="run"),
    )
    checkpoint_every_steps: int = Field(
        500, ge=0, description="0: only at the end", json_schema_extra=note(unit="steps", group="run")
    )
    keep_checkpoints: int = Field(
        3,
        ge=1,
        le=1000,
        description="how many are kept, the newest first",
        json_schema_extra=note(unit="checkpoints", group="run"),
    )

    @field_validator("precision")
    @classmethod
    def _precision_fits_device(cls, precision: Precision, info: ValidationInfo) -> Precision:
        if precision == "float16" and info.data.get("device") == "xla":
            raise _wrong("must be bfloat16 or float32 on xla, whose gradients torch cannot scale")
        return precision

    @field_validator("mps_low_watermark")
    @classmethod
    def _low_watermark_is_below_the_high_one(cls, low: float | None, info: ValidationInfo) -> float | None:
        given = info.data.get("mps_high_watermark")
        high = MPS_HIGH_WATERMARK if given is None else given or MPS_WATERMARK_BOUND
        if low is not None and low > high:
            raise _wrong(f"must be at most mps_high_watermark, {'which is ' if given is None else ''}{high:g}")
        return low

    @field_validator("rendezvous")
    @classmethod
    def _several_nodes_meet_somewhere(cls, address: str | None, info: ValidationInfo) -> str | None:
        if address is None and info.data.get("nodes", 1) > 1:
            raise _wrong("must be host:port of one of the machines when nodes is above 1")
        if address is not None and not re.fullmatch(r"\S+:\d{1,5}", address):
            raise _wrong("must be host:port, such as 10.0.0.1:29500")
        return address


def _wrong(words: str) -> PydanticCustomError:
    """A mistake in the field being validated; `explain` and forms put its name before the words."""
    return PydanticCustomError("explorer", words)
