"""Machines for the Hardware screen's tests: live samples and measured limits as the engine gives them."""

from __future__ import annotations

from typing import Literal

from explorer.schemas.events import Event, Result
from explorer.schemas.jobs import JobSummary
from explorer.schemas.readings import HardwareSample, Inventory, Reading
from explorer.schemas.results import Ceiling, CeilingsResult
from tests.fakes import EPOCH, a_job

GIB = 2**30
Quantity = Literal["matmul", "bandwidth", "copy_to_device", "copy_from_device", "call_latency"]
Unit = Literal["FLOP/s", "OP/s", "B/s", "s"]


def known(value: object, unit: str = "", source: str = "test") -> Reading:
    return Reading(value=value, unit=unit, source=source)


def missing(reason: str) -> Reading:
    return Reading(state="unsupported", source="test", reason=reason)


def a_full_mac() -> Inventory:
    """An M4 Max with every reading of the contract."""
    tiers = [
        {"name": "Performance", "cores": 12, "threads": 12, "l1d_bytes": 131_072, "l2_bytes": 16 * 2**20, "max_mhz": 4512}
        | {"cores_per_l2": 6},
        {"name": "Efficiency", "cores": 4, "threads": 4, "l1d_bytes": 65_536, "l2_bytes": 4 * 2**20, "max_mhz": 2592}
        | {"cores_per_l2": 4},
    ]
    uses = [
        {"name": "SME2", "speeds_up": "matrix products in float32 and int8"},
        {"name": "BF16", "speeds_up": "dot products in bfloat16"},
        {"name": "I8MM", "speeds_up": "int8 matrix products"},
        {"name": "FP16", "speeds_up": "float16 arithmetic without conversion"},
    ]
    no_cuda = Reading(state="unsupported", source="torch", reason="CUDA does not exist on macOS")
    sysctl, ioreg = "sysctl hw.perflevel0.*", "ioreg AGXAccelerator"
    return Inventory(
        readings={
            "host.name": known("mac-mini", source="gethostname"),
            "chip.name": known("Apple M4 Max", source="sysctl machdep.cpu.brand_string"),
            "os.name": known("macOS 15.6", source="sw_vers"),
            "machine.model": known("Mac16,5", source="sysctl hw.model"),
            "cpu.tiers": known(tiers, source=sysctl),
            "cpu.logical": known(16, "CPUs", "sysctl hw.logicalcpu"),
            "cpu.isa": known(["SME2", "BF16", "I8MM", "FP16"], source="sysctl hw.optional.arm.FEAT_*"),
            "cpu.isa_uses": known(uses, source="sysctl hw.optional.arm.FEAT_*"),
            "dtypes.cpu": known(["float32", "float16", "bfloat16", "float64", "int8"], source="a small matmul in a child"),
            "gpu": known(
                [{"name": "Apple M4 Max", "cores": 40, "memory_bytes": None, "vendor": "Apple", "metal": "Metal 3"}]
            ).model_copy(update={"source": ioreg}),
            "mps.usable": known(True, source="a 1 KiB tensor in a child"),
            "mps.memory_limit_bytes": known(48 * GIB, "B", "torch.mps.recommended_max_memory"),
            "dtypes.mps": known(["float32", "float16", "bfloat16"], source="a small matmul in a child"),
            "ane.cores": known(16, "cores", "ioreg H11ANEIn"),
            "ane.architecture": known("h16g", source="ioreg H11ANEIn"),
            "ane.tops": Reading(
                value=38, unit="TOPS", source="Apple, May 2024", state="estimated", reason="precision not stated"
            ),
            "cuda": no_cuda,
            "cuda.version": no_cuda,
            "tpu": Reading(state="absent", source="PCI", reason="no TPU on the PCI bus"),
            "memory.total_bytes": known(64 * GIB, "B", "sysctl hw.memsize"),
            "memory.type": known("LPDDR5X", source="system_profiler SPMemoryDataType"),
            "memory.bandwidth": Reading(
                value=546, unit="GB/s", source="Apple, October 2024", state="estimated", reason="not measured"
            ),
            "swap.total_bytes": known(2 * GIB, "B", "sysctl vm.swapusage"),
            "framework.python": known("3.12.7", source="platform"),
            "framework.torch": known("2.13.0", source="metadata of torch"),
            "framework.coremltools": known("9.0", source="metadata of coremltools"),
            "framework.onnxruntime": known("1.23.2", source="metadata of onnxruntime"),
            "onnxruntime.providers": known(["CoreMLExecutionProvider", "CPUExecutionProvider"], source="onnxruntime in a child"),
        }
    )


def a_busy_second(second: int) -> HardwareSample:
    """A sample with every live reading of the contract; clocks of the tiers are not told on this system."""
    busy = 30 + 25 * ((second // 9) % 3) + second % 5
    per_core = [min(100, busy + (core * 13 + second * 7) % 40) for core in range(12)] + [5, 9, 2, 14]
    tiers = [
        {"name": "Performance", "use": busy + 9.0, "mhz": 4180},
        {"name": "Efficiency", "use": 7.0 + second % 4, "mhz": 1020},
    ]
    return HardwareSample(
        time_s=float(second),
        readings={
            "cpu.use": known(float(busy), "%"),
            "cpu.per_core": known(per_core, "%"),
            "cpu.per_tier": known(tiers, "%"),
            "cpu.frequency": missing("no real clock is reported by this system"),
            "load.average": known([2.31, 2.02, 1.77]),
            "memory.used_bytes": known(30 * GIB + second * 2**25, "B"),
            "memory.available_bytes": known(34 * GIB - second * 2**25, "B"),
            "memory.pressure": known("normal"),
            "swap.used_bytes": known(0, "B"),
            "gpu.use": known(40.0 + (second * 3) % 50, "%"),
            "gpu.memory_used_bytes": known(9 * GIB, "B"),
            "thermal": known("nominal"),
            "temperature.cpu": missing("not reported by this system"),
            "power.cpu": known(21.4 + second % 3, "W"),
            "power.gpu": known(33.0, "W"),
            "power.ane": missing("not reported by this system"),
            "power.dram": missing("not reported by this system"),
            "power.system": known(70.2, "W"),
            "ane.state": known("idle"),
        },
    )


def limits() -> CeilingsResult:
    """Measured limits of that machine."""

    def one(device: str, quantity: Quantity, dtype: str, value: float, unit: Unit, detail: str = "") -> Ceiling:
        return Ceiling(
            device=device, quantity=quantity, dtype=dtype, value=value, low=value * 0.97, high=value * 1.02, unit=unit, repeats=21
        ).model_copy(update={"detail": detail})

    return CeilingsResult(
        chip="Apple M4 Max",
        threads=12,
        load_average=0.4,
        seconds=14.2,
        ceilings=[
            one("cpu", "matmul", "float32", 2.9e12, "FLOP/s", "2048 x 2048 x 2048"),
            one("cpu", "matmul", "float64", 0.72e12, "FLOP/s", "2048 x 2048 x 2048"),
            one("cpu", "matmul", "int8", 5.1e12, "OP/s", "2048 x 2048 x 2048"),
            one("cpu", "bandwidth", "", 398e9, "B/s", "copy of 256 MiB"),
            one("mps", "matmul", "float32", 13.4e12, "FLOP/s", "4096 x 4096 x 4096"),
            one("mps", "matmul", "float16", 14.1e12, "FLOP/s", "4096 x 4096 x 4096"),
            one("mps", "bandwidth", "", 421e9, "B/s", "copy of 256 MiB"),
            one("mps", "call_latency", "", 41e-6, "s"),
        ],
        skipped={"cuda": "CUDA does not exist on macOS"},
    )


def measured_job(**fields: object) -> JobSummary:
    """The finished job whose events are `measured_events`."""
    values: dict[str, object] = {"model": "Apple M4 Max", "state": "done", "ended": EPOCH + 15, "headline": "2.9 TFLOP/s"}
    return a_job("c3f1", "ceilings", **(values | fields))


def measured_events() -> list[Event]:
    return [Result(result=limits().model_dump(mode="json"))]
