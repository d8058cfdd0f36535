"""The range of each float value of an evaluation, and where half precision breaks."""

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from explorer.inference.coreml.program import Result, Step


@dataclass(frozen=True)
class OpRange:
    """What one float value went through: its finite minimum and maximum, and whether NaN or infinities appeared."""

    name: str
    op: str
    op_type: str
    minimum: float
    maximum: float
    has_nan: bool
    has_inf: bool


def range_of(step: Step, result: Result, value: Tensor) -> OpRange:
    if not value.numel():
        return OpRange(result.name, step.name, step.op_type, 0.0, 0.0, False, False)
    low, high = (float(end) for end in value.aminmax())
    if np.isfinite(low) and np.isfinite(high):
        return OpRange(result.name, step.name, step.op_type, low, high, False, False)
    finite = value[value.isfinite()]
    low, high = (float(end) for end in finite.aminmax()) if finite.numel() else (0.0, 0.0)
    return OpRange(result.name, step.name, step.op_type, low, high, bool(value.isnan().any()), bool(value.isinf().any()))


def merged(old: OpRange, new: OpRange) -> OpRange:
    """The range over both."""
    return replace(
        old,
        minimum=min(old.minimum, new.minimum),
        maximum=max(old.maximum, new.maximum),
        has_nan=old.has_nan or new.has_nan,
        has_inf=old.has_inf or new.has_inf,
    )


def first_broken(half: list[OpRange], reference: list[OpRange]) -> str:
    """The first operation that breaks in half and not in the reference, in words; else the first NaN in half."""
    expected = {item.name: item for item in reference}
    for item in half:
        other = expected.get(item.name)
        problem = _problem(item, other) if other is not None else ""
        if problem:
            return f"{item.op} ({item.op_type}) {problem}"
    lost = next((item for item in half if item.has_nan), None)
    return f"{lost.op} ({lost.op_type}) turns NaN: a constant before it lies beyond float16's 65504" if lost else ""


def _problem(half: OpRange, reference: OpRange) -> str:
    largest = max(abs(reference.minimum), abs(reference.maximum))
    if half.has_inf and not reference.has_inf:
        return f"overflows float16: it reaches {largest:.3g} in float32, float16 ends at 65504"
    if half.has_nan and not reference.has_nan:
        return "turns NaN in float16"
    if half.minimum == half.maximum == 0.0 and not half.has_inf and largest > 0.0:
        return f"underflows to zero in float16: its largest value is {largest:.3g} in float32"
    return ""
