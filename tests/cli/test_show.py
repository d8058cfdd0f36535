import pytest

from explorer.cli.ceilings_lines import roofline_lines
from explorer.cli.show import result_lines
from explorer.schemas.events import Finding
from explorer.schemas.results import BenchmarkResult, Ceiling, CeilingsResult, Ratio, TrainResult, Variant


def ceiling(quantity: str, value: float, unit: str, dtype: str = "", detail: str = "", device: str = "cpu") -> Ceiling:
    words = {"device": device, "quantity": quantity, "dtype": dtype, "unit": unit, "detail": detail}
    return Ceiling.model_validate({**words, "value": value, "low": value * 0.9, "high": value * 1.1, "repeats": 97})


MEASURED = CeilingsResult(
    chip="Chip 9",
    threads=2,
    load_average=0.31,
    seconds=5.2,
    ceilings=[
        ceiling("matmul", 142.3e9, "FLOP/s", "float32", "1024 x 1024 x 1024"),
        ceiling("matmul", 860e9, "OP/s", "int8", "512 x 512 x 512"),
        ceiling("bandwidth", 18e9, "B/s", detail="copy of 256 MiB"),
        ceiling("call_latency", 2.4e-6, "s"),
        ceiling("matmul", 10e12, "FLOP/s", "float16", device="cuda"),
    ],
    skipped={"mps": "this torch is built without MPS"},
    findings=[Finding(severity="warning", title="the machine was busy", evidence="load 2.0")],
)


def test_ceilings_are_a_table_with_rooflines_and_what_is_missing() -> None:
    assert result_lines(MEASURED) == [
        "device  work              dtype          median                    p10–p90   n  measured on",
        "cpu     matmul            float32   142 GFLOP/s    128 GFLOP/s–157 GFLOP/s  97  1024 x 1024 x 1024",
        "cpu     matmul            int8        860 GOP/s        774 GOP/s–946 GOP/s  97  512 x 512 x 512",
        "cpu     memory bandwidth              18.0 GB/s        16.2 GB/s–19.8 GB/s  97  copy of 256 MiB",
        "cpu     smallest call                   2.40 µs            2.16 µs–2.64 µs  97",
        "cuda    matmul            float16  10.0 TFLOP/s  9.00 TFLOP/s–11.0 TFLOP/s  97",
        "cpu float32 roofline: 18.0 GB/s x intensity up to 7.91 FLOP/B, then 142 GFLOP/s",
        "cpu int8 roofline: 18.0 GB/s x intensity up to 47.8 OP/B, then 860 GOP/s",
        "skipped mps: this torch is built without MPS",
        "warning: the machine was busy: load 2.0",
        "Chip 9, 2 threads, load 0.3, measured in 5.2 s",
    ]


def test_no_roofline_without_bandwidth() -> None:
    assert roofline_lines(MEASURED.ceilings, "cuda") == []


def test_nothing_measured_still_says_why() -> None:
    nothing = MEASURED.model_copy(update={"ceilings": [], "findings": [], "threads": 1})
    assert result_lines(nothing) == [
        "skipped mps: this torch is built without MPS",
        "Chip 9, 1 thread, load 0.3, measured in 5.2 s",
    ]


@pytest.mark.parametrize(("flops", "shown"), [(3_000_000, "1.50 GFLOP/s"), (None, "–")])
def test_a_comparison_shows_the_rate_of_each_variant(flops: int | None, shown: str) -> None:
    one = Ratio(value=1, low=1, high=1)
    variant = Variant(
        name="a", source="a.onnx", bytes=9, size_ratio=1, p50_ms=2, p90_ms=None, flops=flops, speed_ratio=one, verdict="baseline"
    )
    result = BenchmarkResult(
        runtime="ONNX Runtime",
        threads=1,
        batch_size=1,
        rounds=20,
        samples=0,
        load_average=0,
        null_ratio=one,
        variants=[variant],
    )
    head, row, _ = result_lines(result)
    end = head.index("rate") + len("rate")
    assert row[:end].endswith(f" {shown}")


def test_a_training_shows_its_speed() -> None:
    result = TrainResult(
        device="cpu", device_reason="the CPU", steps=540, seconds=3, parameters=9, metrics={"loss": 0.5}, model="m"
    )
    assert result_lines(result)[1] == "540 steps in 3.0 s"
    timed = result.model_copy(update={"samples_per_s": 12_000.4})
    assert result_lines(timed)[1] == "540 steps in 3.0 s, 12,000 samples/s"
    counted = timed.model_copy(update={"flops_per_sample": 1e6})
    assert result_lines(counted)[1] == "540 steps in 3.0 s, 12,000 samples/s, 12.0 GFLOP/s"
