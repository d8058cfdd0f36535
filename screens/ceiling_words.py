"""Measured limits in words, and how close a figure came to them; no widget."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.schemas import roofline
from explorer.schemas.results import Ceiling, CeilingsResult, Variant
from screens.text import percent, rate

NAMES = {
    "bandwidth": "memory copy",
    "copy_to_device": "copy to device",
    "copy_from_device": "copy from device",
    "call_latency": "smallest call",
}
SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "float8": "f8"}


def of_device(result: CeilingsResult | None, device: str, quantity: str = "") -> list[Ceiling]:
    """The limits of a device, of one kind of work or all."""
    found = result.ceilings if result is not None else []
    return [item for item in found if item.device == device and quantity in ("", item.quantity)]


def fastest(result: CeilingsResult | None, device: str) -> Ceiling | None:
    """The highest floating-point matmul rate of a device; its integer rate when there is no other."""
    found = of_device(result, device, "matmul")
    floats = [item for item in found if item.unit == "FLOP/s"]
    return max(floats or found, key=lambda item: item.value, default=None)


def bandwidth(result: CeilingsResult | None, device: str) -> Ceiling | None:
    """The measured memory bandwidth of a device."""
    return max(of_device(result, device, "bandwidth"), key=lambda item: item.value, default=None)


def value_of(item: Ceiling) -> str:
    """A limit with its unit, such as `2.94 TFLOP/s`."""
    return rate(item.value, item.unit)


def short_dtype(dtype: str) -> str:
    """`float32` as `f32`; names without a short form as they are."""
    return SHORT.get(dtype, dtype)


def name_of(item: Ceiling) -> str:
    """The kind of work in words, such as `float32 matmul`."""
    return f"{item.dtype} matmul".strip() if item.quantity == "matmul" else NAMES[item.quantity]


def said(item: Ceiling) -> str:
    """A limit in a few words, such as `float32 2.94 TFLOP/s` or `memory copy 398 GB/s`."""
    return f"{item.dtype if item.quantity == 'matmul' else NAMES[item.quantity]} {value_of(item)}".strip()


def spread(item: Ceiling) -> str:
    """Where the middle 80 % of the repeats lay, and what was run."""
    unit = item.unit
    return f"[{rate(item.low, unit)}, {rate(item.high, unit)}] in {item.repeats} repeats" + (
        f", {item.detail}" if item.detail else ""
    )


def ceiling_facts(result: CeilingsResult) -> list[tuple[str, str]]:
    """Labels and values of a measurement, a device after the other."""
    rows = [(f"{item.device} {name_of(item)}", f"{value_of(item)}  {spread(item)}") for item in result.ceilings]
    skipped = [(f"{name} skipped", reason) for name, reason in result.skipped.items()]
    threads = f"{result.threads} thread{'' if result.threads == 1 else 's'}"
    return [*rows, *skipped, ("measured with", f"{result.chip}, {threads}, load {result.load_average:.1f}")]


def of_limit(per_s: float, result: CeilingsResult | None, device: str, dtype: str) -> str:
    """A rate against the measured one, such as `12 % of the measured float32 rate`; empty when that was not measured.

    Of a CPU the threads of the measurement are named, since the rate may have been reached with fewer.
    """
    peak = roofline.peak(result.ceilings, device, dtype) if result is not None else None
    if peak is None or result is None:
        return ""
    share = per_s / peak
    threads = f" of {result.threads} thread{'' if result.threads == 1 else 's'}" if device == "cpu" else ""
    return f"{percent(share, 1 if share < 0.1 else 0)} of the measured {dtype} rate{threads}"


def variant_limit(variant: Variant, result: CeilingsResult | None, int8: bool) -> str:
    """The rate of a compared variant, and how close it comes to the CPU's limit; empty when either is not known."""
    if not variant.flops or variant.p50_ms <= 0:
        return ""
    per_s = variant.flops / variant.p50_ms * 1e3
    share = of_limit(per_s, result, "cpu", "int8" if int8 else "float32")
    return f"{rate(per_s, 'OP/s' if int8 else 'FLOP/s')}, {share}" if share else ""


def training_limit(result: Mapping[str, object], ceilings: CeilingsResult | None) -> str:
    """How close a training came to its device's limit, from the fields of its result; empty when it is not known."""
    flops, speed = result.get("flops_per_sample"), result.get("samples_per_s")
    if not isinstance(flops, int | float) or not isinstance(speed, int | float) or flops <= 0:
        return ""
    return of_limit(flops * speed, ceilings, str(result.get("device")).partition(":")[0], "float32")
