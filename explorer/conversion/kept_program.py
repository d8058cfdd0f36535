"""The program as coremltools holds it right before it makes values half: what a float16 conversion is proven on in float32.

A float16 package stores its weights rounded, so even an exact evaluation of it differs from the source and proves nothing about
the graph. One pass of our own, put in front of the one that casts, keeps a copy; so one conversion serves both proofs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from explorer.inference.coreml.program import Program, program_in_memory

PASS = "explorer::keep_program"
CASTING = "common::add_fp16_cast"


@dataclass
class Kept:
    """`program` is there once the pipeline ran; `pipeline` is what ct.convert takes."""

    pipeline: Any
    name: str
    program: Program | None = None


_receivers: list[Kept] = []


@contextmanager
def keeping_program(ct: Any, name: str) -> Iterator[Kept]:
    """A pass pipeline for one conversion, whose float32 program is kept; `name` stands for it in messages."""
    _register()
    pipeline = ct.PassPipeline()
    pipeline.insert_pass(list(pipeline.passes).index(CASTING), PASS)
    kept = Kept(pipeline, name)
    _receivers.append(kept)
    try:
        yield kept
    finally:
        _receivers.remove(kept)


def _register() -> None:
    from coremltools.converters.mil.mil.passes.graph_pass import AbstractGraphPass
    from coremltools.converters.mil.mil.passes.pass_registry import PASS_REGISTRY, register_pass

    if PASS in PASS_REGISTRY:
        return

    class KeepProgram(AbstractGraphPass):  # type: ignore[misc]
        """Changes nothing."""

        def apply(self, prog: Any) -> None:
            if _receivers:
                _receivers[-1].program = program_in_memory(prog.functions["main"], _receivers[-1].name)

    namespace, _, name = PASS.partition("::")
    register_pass(namespace=namespace, name=name)(KeepProgram)
