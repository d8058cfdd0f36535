"""torch to Core ML through coremltools: one way to capture the graph, one call to convert it."""

import logging
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.specs import ConvertSpec

MAX_BATCH = 64
Capture = Literal["torch.export", "torch.jit.trace"]
CorePrecision = Literal["float16", "float32"]


@dataclass(frozen=True)
class Way:
    """One way to convert: how the graph is captured, and whether the batch size stays open (1 to MAX_BATCH) or is 1."""

    capture: Capture
    open_batch: bool

    def __str__(self) -> str:
        return f"{self.capture}, {'open' if self.open_batch else 'fixed'} batch"


def ways(spec: ConvertSpec) -> list[Way]:
    """The ways to try, best first. The two captures fail on different models, so both are tried."""
    captures: list[Capture] = ["torch.export", "torch.jit.trace"]
    batches = [True, False] if spec.dynamic_batch else [False]
    return [Way(capture, open_batch) for open_batch in batches for capture in captures]


def capture(module: nn.Module, example: Tensor, way: Way) -> Any:
    """The module's graph, an ExportedProgram or a ScriptModule; `example` holds one sample."""
    sample = torch.cat([example, example]) if way.open_batch else example
    with quiet(), torch.no_grad(), plain_attention():
        if way.capture == "torch.jit.trace":
            return torch.jit.trace(module, (sample,))  # type: ignore[no-untyped-call]
        shapes = ({0: torch.export.Dim.DYNAMIC},) if way.open_batch else None
        # coremltools takes the ATEN dialect; torch gives TRAINING until the program is decomposed.
        return torch.export.export(module, (sample,), dynamic_shapes=shapes).run_decompositions({})


def convert(
    graph: Any, example: Tensor, way: Way, precision: CorePrecision, path: Path, spec: ConvertSpec, say: Callable[[str], None]
) -> None:
    """Write `graph`, computing in `precision`, as a package at `path`; phases are named to `say`. The graph can be used again."""
    ct = coremltools()
    batch = ct.RangeDim(1, MAX_BATCH, default=1) if way.open_batch else 1
    dtype = None if example.is_floating_point() else np.int32
    with quiet(_Phases(say)), _noted():
        model = ct.convert(
            graph,
            # Made afresh for every call: ct.convert changes the types that it is given.
            inputs=[ct.TensorType(name=spec.input_name, shape=(batch, *example.shape[1:]), dtype=dtype)],
            outputs=[ct.TensorType(name=spec.output_name)],
            convert_to="mlprogram",
            minimum_deployment_target=getattr(ct.target, spec.deployment_target),
            compute_precision=ct.precision.FLOAT16 if precision == "float16" else ct.precision.FLOAT32,
            skip_model_load=True,
        )
        model.short_description = f"converted by explorer from {spec.source}"
        model.save(str(path))


class _Phases(StringIO):
    """Receives the converter's progress bars and says the name of each phase once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._phase = ""

    def write(self, text: str) -> int:
        match = re.search(r"((?:Converting|Running) [\w =>]+?):", text)
        if match and match.group(1) != self._phase:
            self._phase = match.group(1)
            self._say(self._phase)
        return len(text)


class _Messages(logging.Handler):
    """Keeps what the converter logs: the place of an error is told there only."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().strip())


@contextmanager
def _noted() -> Iterator[None]:
    """Add what coremltools logs to an error that leaves the block."""
    logger, messages = logging.getLogger("coremltools"), _Messages()
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(messages)
    try:
        yield
    except Exception as error:
        for line in messages.lines:
            error.add_note(line)
        # The converter's frames hold a temporary folder, which warns when it is dropped later.
        traceback.clear_frames(error.__traceback__)
        raise
    finally:
        logger.removeHandler(messages)
        logger.propagate = propagate
