"""Tiers and caches in the forms that no recorded machine has."""

from typing import Any

import pytest

from explorer.hardware import arm_parts, core_tiers, linux, linux_topology, lscpu, macmon, powermetrics, sbc_bench, sysctl
from explorer.hardware.linux_processor import Processor
from explorer.hardware.readers import Text

CPU = "/sys/devices/system/cpu"


def rows(tiers: Any) -> list[tuple[str, int | None]]:
    return [(tier["name"], tier["cores"]) for tier in tiers]


def summary(*lines: str) -> lscpu.Summary:
    return lscpu.parse("\n".join(lines) + "\n")


def arm_cpu(index: int, part: str) -> str:
    return f"processor : {index}\nCPU implementer : 0x41\nCPU part : {part}\n\n"


def test_two_tiers_of_one_arm_part_are_told_apart_by_their_speeds() -> None:
    cpuinfo = "".join(arm_cpu(index, "0xd0b") for index in range(3))
    speeds = {f"{CPU}/cpu{index}/{linux_topology.TOP_SPEED}": f"{mhz}000" for index, mhz in enumerate((2000, 2000, 2900))}
    found = Processor(cpuinfo, speeds, "", "").tiers
    assert rows(found) == [("Cortex-A76 2900 MHz", 1), ("Cortex-A76 2000 MHz", 2)]


def test_cores_are_unknown_where_only_some_cpus_tell_theirs() -> None:
    sysfs = {f"{CPU}/online": "0-3", f"{CPU}/cpu0/topology/core_id": "0"}
    (tier,) = Processor("", sysfs, "", "").tiers
    assert (tier["cores"], tier["threads"]) == (None, 4)
    text = (
        "CPU(s): 4\nModel name: Some x86\nVendor ID: GenuineIntel\nThread(s) per core: 2\nCore(s) per socket: 2\nSocket(s): 1\n"
    )
    (filled,) = Processor("", sysfs, text, "").tiers
    assert (filled["cores"], filled["threads"]) == (2, 4)


def test_atoms_are_a_tier_even_at_nearly_the_same_speed() -> None:
    sysfs = {f"{CPU}/cpu{index}/{linux_topology.TOP_SPEED}": khz for index, khz in enumerate(("5000000", "4900000"))}
    found = Processor("processor: 0\n\nprocessor: 1\n", {**sysfs, "/sys/devices/cpu_atom/cpus": "1"}, "", "").tiers
    assert [tier["name"] for tier in found] == ["Performance", "Efficiency"]


@pytest.mark.parametrize(
    ("cache", "size"),
    [("32K", 32 << 10), ("128 KiB (4 instances)", 32 << 10), ("128 KiB", 32 << 10), ("1.5 MiB (48 instances)", 32 << 10)],
)
def test_l1d_in_the_forms_of_three_releases_of_lscpu(cache: str, size: int) -> None:
    (tier,) = summary("CPU(s): 4", "Core(s) per socket: 4", "Socket(s): 1", f"L1d cache: {cache}").tiers
    assert tier["l1d_bytes"] == size


def test_a_shared_l2_without_its_number_is_not_shared_out() -> None:
    text = (
        "CPU(s): 4",
        "Model name: Cortex-A72",
        "Core(s) per socket: 4",
        "Socket(s): 1",
        "L1d cache: 128 KiB",
        "L2 cache: 1 MiB",
    )
    (tier,) = summary(*text).tiers
    assert (tier["l1d_bytes"], tier["l2_bytes"]) == (32 << 10, None)


def test_lscpu_names_the_hypervisor() -> None:
    text = Text("Vendor ID: ARM\nCPU(s): 2\nHypervisor vendor: KVM\nFlags: fp asimd\n", "")
    assert linux.readings(linux.LinuxTexts(lscpu=text))["machine.virtual"].value is True


@pytest.mark.parametrize(
    ("model", "virtual"),
    [("KVM Virtual Machine", True), ("linux,dummy-virt", True), ("Raspberry Pi 5", None), ("Virtual Machine", True)],
)
def test_an_arm_machine_is_virtual_when_its_model_says_so(model: str, virtual: bool | None) -> None:
    texts = linux.LinuxTexts(cpuinfo=Text(arm_cpu(0, "0xd0c") + "Features: asimd\n", ""), model=Text(model, ""))
    assert linux.readings(texts)["machine.virtual"].value is virtual


def test_a_table_of_unnamed_cores_without_their_number() -> None:
    table = "  0        0        0      600    2064       -\n  1        1        2      600    3036       -\n"
    assert rows(sbc_bench.tiers(table)) == [("Performance", None), ("Efficiency", None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("proc 8:4:4", [("Performance", 4), ("Efficiency", 4)]),
        ("proc 10:4:6:0", [("All cores", 10)]),
        ("proc 12:0:8:4", [("All cores", 12)]),
        ("proc 9:4:4", [("All cores", 9)]),
        ("8", [("All cores", 8)]),
        ("8 (4 performance and 4 efficiency)", [("Performance", 4), ("Efficiency", 4)]),
        ("18 (12 Performance and 6 Super)", [("Super", 6), ("Performance", 12)]),
        ("9 (4 performance and 4 efficiency)", []),
        ("proc 0", []),
        ("many", []),
    ],
)
def test_counts_of_system_profiler(text: str, expected: list[tuple[str, int]]) -> None:
    assert rows(core_tiers.of_profile(text)) == expected


def test_three_levels_of_sysctl() -> None:
    levels = {"hw.perflevel0": ("Super", 4), "hw.perflevel1": ("Performance", 6), "hw.perflevel2": ("Efficiency", 2)}
    lines = [f"{level}.name: {name}\n{level}.physicalcpu: {cores}\n" for level, (name, cores) in levels.items()]
    assert rows(sysctl.tiers(sysctl.parse("".join(lines)))) == [("Super", 4), ("Performance", 6), ("Efficiency", 2)]


def test_top_speed_and_caches_of_an_intel_mac() -> None:
    text = "hw.physicalcpu: 6\nhw.logicalcpu: 12\nhw.cpufrequency_max: 3200000000\nhw.l3cachesize: 12582912\n"
    (tier,) = sysctl.tiers(sysctl.parse(text))
    assert (tier["cores"], tier["threads"], tier["max_mhz"], tier["l3_bytes"]) == (6, 12, 3200, 12 << 20)


def test_clusters_of_powermetrics_text() -> None:
    text = (
        "Machine model: Mac17,6\nOS version: 25A1\n\n"
        "P0-Cluster HW active frequency: 1 MHz\nCPU 0 active residency: 9% (1344 MHz: 6% 4380 MHz: 1%)\n"
        "P1-Cluster HW active frequency: 1 MHz\nCPU 6 active residency: 9% (1344 MHz: 6%)\n"
        "S-Cluster HW active frequency: 1 MHz\nCPU 12 active residency: 9% (4608 MHz: 6%)\n"
        "GPU HW active residency: 1% (338 MHz: 1% 1578 MHz: 0%)\n"
    )
    facts = powermetrics.parse(text)
    assert [(tier["name"], tier["cpus"], tier["max_mhz"]) for tier in facts.tiers] == [
        ("Super", [12], 4608),
        ("Performance", [0, 6], 4380),
    ]
    assert (facts.model, facts.build, facts.gpu_mhz, facts.caveat) == ("Mac17,6", "25A1", 1578, "")


@pytest.mark.parametrize(
    ("steps", "mhz"), [("600000000 3228000000", 3228), ("1020000 4512000", 4512), ("702 3696", 3696), ("0 0", None)]
)
def test_frequencies_in_hertz_kilohertz_and_megahertz(steps: str, mhz: int | None) -> None:
    head = "Chip: Apple M4 | Model: Mac16,1 | OS: macOS 15.2 (24C101) | proc 10:4:6\n"
    assert macmon.parse(f"{head}   voltage-states5-sram: (f) {steps}\n").tiers[0]["max_mhz"] == mhz


def test_arm_names() -> None:
    assert arm_parts.of_midr("0x00000000411fd4e0") == "Cortex-X3"
    assert arm_parts.of_midr("nothing") == ""
    assert arm_parts.chip(["Firestorm (M1 Pro)", "Icestorm (M1 Pro)"]) == "Apple M1 Pro"
    assert arm_parts.core("Firestorm (M1 Pro)") == "Firestorm"
    assert arm_parts.chip(["Cortex-X3", "Cortex-A510", "Cortex-X3"]) == "Cortex-X3 + Cortex-A510"
