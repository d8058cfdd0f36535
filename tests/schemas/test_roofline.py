import pytest

from explorer.schemas import roofline
from explorer.schemas.results import Ceiling


def ceiling(quantity: str, value: float, dtype: str = "", device: str = "cpu") -> Ceiling:
    unit = {"matmul": "FLOP/s", "bandwidth": "B/s"}[quantity]
    return Ceiling.model_validate(
        {
            "device": device,
            "quantity": quantity,
            "dtype": dtype,
            "value": value,
            "low": value,
            "high": value,
            "unit": unit,
            "repeats": 9,
        }
    )


MEASURED = [
    ceiling("matmul", 100e9, "float32"),
    ceiling("matmul", 400e9, "int8"),
    ceiling("bandwidth", 20e9),
    ceiling("matmul", 10e12, "float32", "cuda"),
]


def test_peak_bandwidth_and_ridge_of_one_device_and_dtype() -> None:
    assert roofline.peak(MEASURED, "cpu", "float32") == 100e9
    assert roofline.peak(MEASURED, "cuda", "float32") == 10e12
    assert roofline.bandwidth(MEASURED, "cpu") == 20e9
    assert roofline.ridge(MEASURED, "cpu", "float32") == 5
    assert roofline.ridge(MEASURED, "cpu", "int8") == 20


@pytest.mark.parametrize(
    ("intensity", "expected"),
    [
        (0.25, roofline.Roof(5e9, "memory")),
        (4.9, roofline.Roof(98e9, "memory")),
        (5.0, roofline.Roof(100e9, "compute")),
        (80.0, roofline.Roof(100e9, "compute")),
    ],
)
def test_the_lower_roof_holds(intensity: float, expected: roofline.Roof) -> None:
    roof = roofline.attainable(intensity, MEASURED, "cpu", "float32")
    assert roof is not None
    assert roof.bound == expected.bound
    assert roof.flops_per_s == pytest.approx(expected.flops_per_s)


def test_the_least_time_is_the_longer_of_both() -> None:
    assert roofline.limit_seconds(2e9, 1e6, MEASURED, "cpu", "float32") == roofline.Limit(0.02, "compute")
    assert roofline.limit_seconds(2e6, 1e9, MEASURED, "cpu", "float32") == roofline.Limit(0.05, "memory")


def test_share_of_the_limit() -> None:
    assert roofline.share_of_limit(0.02, 2e9, 1e6, MEASURED, "cpu", "float32") == roofline.Share(1.0, "compute")
    assert roofline.share_of_limit(0.5, 2e6, 1e9, MEASURED, "cpu", "float32") == roofline.Share(0.1, "memory")
    assert roofline.share_of_limit(0.0, 2e6, 1e9, MEASURED, "cpu", "float32") is None


def test_nothing_is_said_about_what_was_not_measured() -> None:
    assert roofline.peak(MEASURED, "cpu", "bfloat16") is None
    assert roofline.bandwidth(MEASURED, "cuda") is None
    assert roofline.ridge(MEASURED, "cuda", "float32") is None
    assert roofline.attainable(1.0, MEASURED, "mps", "float32") is None
    assert roofline.limit_seconds(1.0, 1.0, [], "cpu", "float32") is None
    assert roofline.share_of_limit(1.0, 1.0, 1.0, [ceiling("matmul", 0.0, "float32"), MEASURED[2]], "cpu", "float32") is None
