"""Measures the most that this machine does: matmul rates, memory bandwidth, copies to and from a device, the smallest call."""

import os
import platform
import resource
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch

from explorer.hardware import inventory
from explorer.inference import ceilings_matmul, ceilings_memory
from explorer.inference.ceilings_devices import Device, host_budget_bytes, usable
from explorer.inference.ceilings_timing import Stopwatch
from explorer.inference.findings import Findings
from explorer.inference.torch_settings import torch_threads
from explorer.reporter import Reporter
from explorer.schemas.readings import Inventory
from explorer.schemas.results import Ceiling, CeilingsResult
from explorer.schemas.specs import CeilingsSpec

# Asking looks at a file; between samples of some milliseconds this often is enough to stop at once for a person.
CONTROL_INTERVAL_S = 0.1
BUSY_SHARE = 0.5
# How often a second the system takes a CPU away for another program: some 30 times on an idle machine, hundreds on a busy one.
BUSY_SWITCHES_PER_S = 100
UNSTEADY = 1.25
MUCH_SLOWER = 2.0


@dataclass(frozen=True)
class Figure:
    """One thing to measure; `name` is its place in `skipped`, such as "cpu int8 matmul"."""

    name: str
    device: Device
    measure: Callable[[Stopwatch], Ceiling]


def run(spec: CeilingsSpec, report: Reporter) -> CeilingsResult:
    """Measure each figure for `spec.seconds` after warming up, on every device asked for; synchronised, in medians.

    What cannot be measured is in `skipped` with its reason. Raises `ExplorerError` when a device was named that torch cannot use.
    """
    started, load_average = time.perf_counter(), os.getloadavg()[0]
    facts = inventory.collect()
    devices, skipped = usable(spec.devices, host_budget_bytes(facts))
    with torch_threads(spec.threads or _allowed_threads(facts)), torch.inference_mode():
        threads, before, begin = torch.get_num_threads(), _switches(), time.perf_counter()
        ceilings, failed = _measured(devices, spec.seconds, report)
        switches_per_s = (_switches() - before) / (time.perf_counter() - begin)
    findings = Findings(report)
    _say_busy(load_average, switches_per_s, facts, findings)
    _say_unsteady(ceilings, findings)
    _say_slower(ceilings, findings)
    return CeilingsResult(
        chip=_chip(facts, devices),
        threads=threads,
        load_average=load_average,
        seconds=time.perf_counter() - started,
        ceilings=ceilings,
        skipped={**skipped, **failed},
        findings=findings.found,
    )


def figures(device: Device) -> list[Figure]:
    """All that is measured on a device, in the order of the result."""
    measured: dict[str, Callable[[Stopwatch], Ceiling]] = {}
    for dtype in ceilings_matmul.DTYPES:
        measured[f"{dtype} matmul"] = lambda watch, dtype=dtype: ceilings_matmul.matmul(device, dtype, watch)  # type: ignore[misc]
    measured["bandwidth"] = lambda watch: ceilings_memory.bandwidth(device, watch)
    if device.has_own_memory:
        measured["copy_to_device"] = lambda watch: ceilings_memory.copy_to_device(device, watch)
        measured["copy_from_device"] = lambda watch: ceilings_memory.copy_from_device(device, watch)
    measured["call_latency"] = lambda watch: ceilings_matmul.call_latency(device, watch)
    return [Figure(f"{device.name} {name}", device, measure) for name, measure in measured.items()]


def _measured(devices: Sequence[Device], seconds: float, report: Reporter) -> tuple[list[Ceiling], dict[str, str]]:
    planned = [figure for device in devices for figure in figures(device)]
    ceilings: list[Ceiling] = []
    failed: dict[str, str] = {}
    for index, figure in enumerate(planned):
        report.control()
        report.progress(index, len(planned), figure.name.replace("_", " "), "figures")
        watch = Stopwatch(figure.device.synchronize, seconds, _seldom(report.control))
        try:
            ceilings.append(figure.measure(watch))
        except (RuntimeError, MemoryError, TypeError, AttributeError) as error:
            failed[figure.name] = _reason(error)
        # After a fault a GPU refuses this as well.
        with suppress(RuntimeError):
            figure.device.release()
    report.progress(len(planned), len(planned), "", "figures")
    return ceilings, failed


def _seldom(control: Callable[[], object]) -> Callable[[], None]:
    """`control` at most once in `CONTROL_INTERVAL_S`."""
    due = time.perf_counter() + CONTROL_INTERVAL_S

    def ask() -> None:
        nonlocal due
        if time.perf_counter() >= due:
            control()
            due = time.perf_counter() + CONTROL_INTERVAL_S

    return ask


def _allowed_threads(facts: Inventory) -> int:
    """As many as torch chose, within the CPUs that affinity and control group allow."""
    limit = facts.get("cpu.limit")
    allowed = int(limit.value) if limit.known else os.cpu_count() or 1
    return max(1, min(torch.get_num_threads(), allowed))


def _chip(facts: Inventory, devices: Sequence[Device]) -> str:
    found = facts.get("chip.name")
    chip = str(found.value) if found.known else platform.processor() or platform.machine()
    return " + ".join([chip, *(device.label for device in devices if device.label)])


def _reason(error: Exception) -> str:
    """The first line of an error; the rest is the place in torch's source."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _switches() -> int:
    """How often the system took a CPU from this process for another."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _say_busy(load_average: float, switches_per_s: float, facts: Inventory, findings: Findings) -> None:
    cpus = facts.get("cpu.logical")
    count = int(cpus.value) if cpus.known else os.cpu_count() or 1
    if load_average > BUSY_SHARE * count or switches_per_s > BUSY_SWITCHES_PER_S:
        findings.add(
            "warning",
            "the machine was busy: its limits may be higher than measured",
            f"load average {load_average:.1f} on {count} CPUs at the start, "
            f"other programs took a CPU {switches_per_s:.0f} times a second",
            "measure again when nothing else runs",
        )


def _say_unsteady(ceilings: Sequence[Ceiling], findings: Findings) -> None:
    rates = [item for item in ceilings if item.quantity != "call_latency"]
    unsteady = [f"{_name(item)} {item.high / item.low:.1f}x" for item in rates if item.high > UNSTEADY * item.low > 0]
    if unsteady:
        findings.add(
            "warning",
            "some figures strayed while they were measured",
            "90th over 10th percentile: " + ", ".join(unsteady),
            "measure again when the machine is idle, or longer with --seconds",
        )


def _say_slower(ceilings: Sequence[Ceiling], findings: Findings) -> None:
    """A narrow dtype that is slower than float32 has no instructions of its own in what torch runs."""
    full = {item.device: item.value for item in ceilings if item.quantity == "matmul" and item.dtype == "float32"}
    for item in ceilings:
        if item.quantity == "matmul" and item.value * MUCH_SLOWER < full.get(item.device, 0.0):
            findings.add(
                "info",
                f"{_name(item)} is {full[item.device] / item.value:.0f} times slower than float32",
                "torch has no fast path for it here",
                f"do not compute in {item.dtype} on {item.device}",
            )


def _name(item: Ceiling) -> str:
    return " ".join(filter(None, (item.device, item.dtype, item.quantity.replace("_", " "))))
