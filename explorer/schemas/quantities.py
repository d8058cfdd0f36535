"""Rates and short times in words."""

import math

RATE_STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))
TIME_STEPS = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def quantity(value: float, unit: str) -> str:
    """A value in about three digits with a decimal prefix, such as `142 GFLOP/s`, `18.0 GB/s` or, for "s", `12.1 µs`."""
    if not math.isfinite(value):
        return f"– {unit}"
    steps = TIME_STEPS if unit == "s" else RATE_STEPS
    scale, prefix = next(((scale, prefix) for scale, prefix in steps if abs(value) >= scale), (1.0, ""))
    return f"{_digits(value / scale)} {prefix}{unit}"


def _digits(value: float) -> str:
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{decimals}f}"
