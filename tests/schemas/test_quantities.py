import math

import pytest

from explorer.schemas.quantities import quantity


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (142.3e9, "FLOP/s", "142 GFLOP/s"),
        (2.941e12, "FLOP/s", "2.94 TFLOP/s"),
        (18.02e9, "B/s", "18.0 GB/s"),
        (12.3, "FLOP/s", "12.3 FLOP/s"),
        (2.47e-6, "s", "2.47 µs"),
        (0.0123, "s", "12.3 ms"),
        (0.0, "s", "0.00 s"),
        (math.nan, "B/s", "– B/s"),
    ],
)
def test_three_digits_with_a_prefix(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text
