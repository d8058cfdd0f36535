"""torch to Core ML through coremltools: one way to capture the graph, one call to convert it."""

import copy
import dataclasses
import logging
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from explorer.conversion.core_types import core_inputs, core_states, deployment_target, described
from explorer.conversion.declared import read_labels
from explorer.conversion.flat import Flat
from explorer.conversion.half_repair import keeps_float32
from explorer.conversion.kept_program import keeping_program
from explorer.conversion.ports import Traced, exported
from explorer.conversion.rewrites import decompositions
from explorer.inference.coreml.program import Program, program_in_memory
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.specs import ConvertSpec

Capture = Literal["torch.export", "torch.jit.trace"]
CorePrecision = Literal["float16", "float32"]
CAPTURES: tuple[Capture, ...] = ("torch.export", "torch.jit.trace")


@dataclass(frozen=True)
class Way:
    """One way to convert: how the graph is captured, and of which ports; `with_rules` decomposes operators by our rules too."""

    capture: Capture
    traced: Traced
    with_rules: bool = True

    def __str__(self) -> str:
        if any(not port.is_fixed for port in self.traced.inputs) and not self.traced.open_batch:
            return f"{self.capture}, declared shapes"
        return f"{self.capture}, {'open' if self.traced.open_batch else 'fixed'} batch"


def prepared(traced: Traced) -> Traced:
    """The ports as the converter takes them: scaling of pixels that Core ML does itself is left out of the module."""
    flat = traced.module
    if not isinstance(flat, Flat) or not any(port.image and port.image.is_scalar for port in traced.inputs):
        return traced
    twin = copy.copy(flat)
    scaled = [port.image is not None and port.image.is_scalar for port in traced.inputs]
    pairs = list(zip(flat.adapters, scaled, strict=True))
    twin.adapters = [dataclasses.replace(adapter, image=None) if by_core_ml else adapter for adapter, by_core_ml in pairs]
    examples = tuple(
        dataclasses.replace(adapter, dtype=None).apply(example) if by_core_ml else example
        for (adapter, by_core_ml), example in zip(pairs, traced.examples, strict=True)
    )
    return dataclasses.replace(traced, module=twin, examples=examples)


def capture(module: nn.Module, way: Way) -> Any:
    """The graph of a flat module, an ExportedProgram or a ScriptModule."""
    with quiet(), torch.no_grad(), plain_attention():
        if way.capture == "torch.jit.trace":
            # The proof compares with the source; torch's own check would only run the model twice more.
            return torch.jit.trace(module, way.traced.examples, check_trace=False)  # type: ignore[no-untyped-call]
        program = exported(way.traced, module, dynamic_shapes(way.traced))
        # coremltools takes the ATEN dialect; torch gives TRAINING until the program is decomposed.
        return program.run_decompositions(decompositions("coreml") if way.with_rules else {})


def dynamic_shapes(traced: Traced) -> Any:
    """torch.export's words for the open dimensions; None when all are fixed."""
    if all(port.is_fixed for port in traced.inputs):
        return None
    found = []
    for port in traced.inputs:
        axes = [
            axis
            for axis, sizes in enumerate(zip(*port.shapes, strict=True))
            if len(set(sizes)) > 1 or isinstance(sizes[0], tuple)
        ]
        found.append(dict.fromkeys(axes, torch.export.Dim.DYNAMIC))
    return (tuple(found),)


def convert(
    graph: Any,
    traced: Traced,
    precision: CorePrecision,
    path: Path | None,
    spec: ConvertSpec,
    say: Callable[[str], None],
    keep_float32: Sequence[str] = (),
) -> Program | None:
    """Write `graph` as a package at `path`, computing in `precision`; phases are named to `say`. The graph can be used again.

    Gives the program as it was in float32, right before its values became half; with `path` None only that is made.
    """
    ct = coremltools()
    options: dict[str, Any] = {"compute_precision": ct.precision.FLOAT32}
    if precision == "float16" and path is not None:
        options["compute_precision"] = _half(ct, keep_float32)
    if spec.labels and path is not None:
        options["classifier_config"] = ct.ClassifierConfig(
            read_labels(spec.labels), predicted_probabilities_output=traced.outputs[0]
        )
    if spec.state:
        options["states"] = core_states(ct, spec, traced)
    with quiet(_Phases(say)), _noted(), keeping_program(ct, spec.source) as kept:
        model = ct.convert(
            graph,
            # Made afresh for every call: ct.convert changes the types that it is given.
            inputs=core_inputs(ct, traced),
            outputs=[ct.TensorType(name=name) for name in traced.outputs],
            convert_to="milinternal" if path is None else "mlprogram",
            minimum_deployment_target=getattr(ct.target, deployment_target(spec)),
            pass_pipeline=kept.pipeline,
            **({} if path is None else {"skip_model_load": True}),
            **options,
        )
        if path is None:
            return program_in_memory(model.functions["main"], spec.source)
        described(model, spec)
        model.save(str(path))
        return kept.program


def _half(ct: Any, keep_float32: Sequence[str]) -> Any:
    if not keep_float32:
        return ct.precision.FLOAT16
    keeps = keeps_float32(keep_float32)
    return ct.transform.FP16ComputePrecision(op_selector=lambda operation: not keeps(operation))


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
