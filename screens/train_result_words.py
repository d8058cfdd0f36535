"""The result of a training as labels and values; no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screens.text import bytes_, count, duration, memory, number, percent, rate

if TYPE_CHECKING:
    from explorer.schemas.train_result import TrainResult

Facts = list[tuple[str, str]]


def trained_facts(result: TrainResult) -> Facts:
    """Final metrics, how it ran, what it left, what went wrong; what is not known is left out."""
    metrics = [(name.replace("_", " "), number(value)) for name, value in result.metrics.items()]
    return [*metrics, *_run(result), *_speed(result), *_device(result), *_left(result)]


def _run(result: TrainResult) -> Facts:
    return [
        ("steps", count(result.steps)),
        *([("best step", count(result.best_step))] if result.best_step is not None else []),
        *([("ended early", result.stopped)] if result.stopped else []),
        ("took", duration(result.seconds)),
        ("parameters", count(result.parameters)),
    ]


def _speed(result: TrainResult) -> Facts:
    total = sum(result.step_ms.values())
    parts = ", ".join(f"{name.removesuffix('_ms')} {percent(value / total)}" for name, value in result.step_ms.items() if total)
    return [
        *([("speed", f"{count(result.samples_per_s)} samples/s")] if result.samples_per_s is not None else []),
        *([("work", f"{rate(result.flops_per_sample, 'FLOP')} a sample")] if result.flops_per_sample is not None else []),
        *([("step", f"{number(total)} ms: {parts}")] if parts else []),
        *([("peak memory", memory(result.peak_rss_bytes))] if result.peak_rss_bytes is not None else []),
        *([("peak on device", memory(result.peak_device_bytes))] if result.peak_device_bytes is not None else []),
    ]


def _device(result: TrainResult) -> Facts:
    device = f"{result.device} ({result.device_reason})" if result.device_reason else result.device
    set_before = ", ".join(f"{name}={value}" for name, value in result.environment.items())
    return [
        ("device", device),
        *([("processes", count(result.processes))] if result.processes > 1 else []),
        *([("environment", set_before)] if set_before else []),
        *([("left to the CPU", ", ".join(result.fallback_operators))] if result.fallback_operators else []),
    ]


def _left(result: TrainResult) -> Facts:
    kept = [(f"checkpoint {count(item.step)}", f"{item.name}, {bytes_(item.bytes)}, finite") for item in result.checkpoints]
    return [*kept, *([("alarms", "; ".join(result.alarms))] if result.alarms else [])]
