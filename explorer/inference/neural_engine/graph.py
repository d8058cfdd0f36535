"""An ML Program with shapes, types, producers and consumers at hand: what the rules look at."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from explorer.inference.coreml.program import Name, Program, Step
from explorer.inference.coreml.quiet import coremltools
from explorer.inference.coreml.ranges import OpRange

ITEM_BYTES = {"fp16": 2, "fp32": 4, "fp64": 8, "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
Shape = tuple[int | None, ...]


def shape_of(variable: Name) -> Shape | None:
    """A value's shape with None for an open dimension; None for what is no tensor."""
    shape = getattr(variable, "shape", None)
    if shape is None:
        return None
    return tuple(int(size) if isinstance(size, int | np.integer) else None for size in shape)


def dtype_of(variable: Name) -> str:
    """MIL's name of a value's type, such as fp16 or int4; empty for what is no tensor."""
    from coremltools.converters.mil.mil import types

    dtype = getattr(variable, "dtype", None)
    return "" if dtype is None else str(types.builtin_to_string(dtype))


def elements(variable: Name) -> int:
    """How many numbers a value holds, open dimensions counted as 1."""
    count = 1
    for size in shape_of(variable) or ():
        count *= size or 1
    return count


def size_bytes(variable: Name) -> int:
    """Bytes of a value, open dimensions counted as 1."""
    return elements(variable) * ITEM_BYTES.get(dtype_of(variable), 4)


def listed(value: Name | tuple[Name, ...] | None) -> tuple[Name, ...]:
    """The variables of one argument."""
    return () if value is None else value if isinstance(value, tuple) else (value,)


@dataclass
class Graph:
    """A program as the rules see it; `ranges` are those of an evaluation, when there was one."""

    program: Program
    asked_target: str = ""
    ranges: list[OpRange] = field(default_factory=list)

    @cached_property
    def steps(self) -> list[Step]:
        """What computes, in order, nested blocks too; decoding stored weights is done once and left out."""
        return [step for step in self.program.steps() if not step.op_type.startswith("constexpr_")]

    @cached_property
    def target(self) -> str:
        """The oldest system that must run it, such as iOS17: what was asked for, else what the package declares."""
        return self.asked_target or _declared_target(self.program.path)

    @cached_property
    def weights(self) -> list[Step]:
        """How stored weights are decoded."""
        return [step for step in self.program.steps() if step.op_type.startswith("constexpr_")]

    @cached_property
    def producers(self) -> dict[Name, Step]:
        """The step that makes a value."""
        return {result.variable: step for step in self.program.steps() for result in step.results}

    @cached_property
    def consumers(self) -> dict[Name, list[Step]]:
        """The steps that take a value."""
        found: dict[Name, list[Step]] = {}
        for step in self.program.steps():
            for value in step.inputs.values():
                for variable in listed(value):
                    found.setdefault(variable, []).append(step)
        return found

    def of_type(self, *op_types: str) -> list[Step]:
        """The steps of these types, in order."""
        return [step for step in self.steps if step.op_type in op_types]

    def is_constant(self, variable: Name) -> bool:
        """Whether a value is stored in the file, compressed or not."""
        producer = self.producers.get(variable)
        return variable in self.program.constants or (producer is not None and producer.op_type.startswith("constexpr_"))

    def constant(self, step: Step, key: str) -> Any:
        """A constant argument as Python numbers or text; None when it is absent or computed."""
        value = self.program.constants.get(step.inputs.get(key))
        return value.tolist() if isinstance(value, Tensor) else value

    def next_steps(self, step: Step) -> list[Step]:
        """The steps that take a result of this one."""
        return [after for result in step.results for after in self.consumers.get(result.variable, [])]

    def source(self, step: Step, key: str = "x") -> Step | None:
        """The step that makes an argument; None for inputs and constants."""
        return next((self.producers.get(variable) for variable in listed(step.inputs.get(key))), None)


def input_shape(step: Step, key: str = "x") -> Shape:
    """The shape of an argument; empty for a scalar and where it is absent."""
    return next((shape_of(variable) or () for variable in listed(step.inputs.get(key))), ())


def output_shape(step: Step) -> Shape:
    """The shape of the first result."""
    return (shape_of(step.results[0].variable) or ()) if step.results else ()


def _declared_target(package: Path) -> str:
    """From the specification's version: 6 came with iOS 15, 10 with iOS 26. Empty for a program that lies in no package."""
    if not package.exists():
        return ""
    version = int(coremltools().utils.load_spec(str(package)).specificationVersion)
    return {6: "iOS15", 7: "iOS16", 8: "iOS17", 9: "iOS18"}.get(version, "iOS26")
