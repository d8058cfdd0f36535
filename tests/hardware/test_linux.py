"""Recorded Linux machines and containers, and this one."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.hardware import cgroup, inventory, linux, nvidia, pci
from explorer.hardware.readers import Text
from explorer.schemas.readings import Inventory
from tests.hardware import recorded

GIB = 1 << 30


def read(texts: linux.LinuxTexts) -> Inventory:
    return Inventory(readings=linux.readings(texts))


def test_phone_has_four_tiers() -> None:
    found = read(recorded.linux("linux-arm-a510-a710-a715-x3"))
    rows = [(tier["name"], tier["cores"], tier["cpus"]) for tier in found.get("cpu.tiers").value]
    assert rows[0] == ("Cortex-X3", 1, [7])
    assert sorted(rows[1:3]) == [("Cortex-A710", 2, [5, 6]), ("Cortex-A715", 2, [3, 4])]
    assert rows[3] == ("Cortex-A510", 3, [0, 1, 2])
    assert found.get("cpu.isa").value == ["NEON", "FP16", "FHM", "DotProd", "I8MM", "BF16"]


def test_graviton_2() -> None:
    found = read(recorded.linux("linux-graviton2"))
    assert recorded.values(found, "chip.name", "cpu.logical", "cpu.cores", "cpu.limit") == ["Neoverse-N1", 32, 32, 32]
    assert found.get("cpu.isa").value == ["NEON", "FP16", "DotProd"]
    assert [tier["threads"] for tier in found.get("cpu.tiers").value] == [32]


def test_two_epycs_with_eight_numa_nodes() -> None:
    found = read(recorded.linux("linux-amd-epyc-7451"))
    assert recorded.values(found, "cpu.logical", "cpu.cores", "cpu.numa_nodes") == [96, 48, 8]
    assert found.get("chip.name").value == "AMD EPYC 7451 24-Core Processor"
    (tier,) = found.get("cpu.tiers").value
    assert tier.items() >= {"cores": 48, "threads": 96, "l1d_bytes": 32 << 10, "l2_bytes": 512 << 10, "l3_bytes": 8 << 20}.items()
    assert found.get("cpu.isa").value == ["FMA", "F16C", "AVX", "AVX2"]


def test_old_xeon_by_lscpu_with_a_stride_in_its_lists() -> None:
    assert recorded.values(read(recorded.linux("linux-intel-64cpu-4numa")), "cpu.logical", "cpu.numa_nodes") == [64, 3]


@pytest.mark.parametrize(
    ("machine", "chip", "isa"),
    [
        ("linux-graviton3", "Neoverse-V1", ["NEON", "FP16", "FHM", "DotProd", "I8MM", "BF16", "SVE"]),
        ("linux-asahi-m1", "Apple M1", ["NEON", "FP16", "FHM", "DotProd"]),
        ("linux-raspberrypi3", "Cortex-A53", ["NEON"]),
    ],
)
def test_arm_names_and_instruction_sets(machine: str, chip: str, isa: list[str]) -> None:
    assert recorded.values(read(recorded.linux(machine)), "chip.name", "cpu.isa") == [chip, isa]


def test_sapphire_rapids_instruction_sets() -> None:
    isa = read(recorded.linux("linux-intel-spr")).get("cpu.isa").value
    assert {"AVX-512", "AVX512-VNNI", "AVX512-BF16", "AVX512-FP16", "AMX-TILE", "AMX-INT8", "AMX-BF16"} <= set(isa)


def test_an_instruction_set_counts_only_where_every_core_has_it() -> None:
    texts = linux.LinuxTexts(cpuinfo=Text("processor: 0\nflags: avx2 avx512f\n\nprocessor: 1\nflags: avx2\n"))
    assert read(texts).get("cpu.isa").value == ["AVX2"]


def test_an_old_kernel_names_its_board() -> None:
    assert read(recorded.linux("linux-raspberrypi3")).get("machine.model").value == "Raspberry Pi 3 Model B Rev 1.2"


def test_container_of_48_of_96_cpus_and_96_gib() -> None:
    group = recorded.group("container-cgroup2-48of96cpu-96gib")
    host = replace(
        recorded.linux("linux-amd-epyc-7451"), meminfo=Text(f"MemTotal: {512 << 20} kB\nMemAvailable: {500 << 20} kB\n")
    )
    found = read(replace(host, groups={"/sys/fs/cgroup/pod": group}, affinity_cpus=96))
    assert recorded.values(found, "cpu.logical", "cpu.limit") == [96, 48]
    assert recorded.values(found, "memory.total_bytes", "memory.limit_bytes") == [512 * GIB, 96 * GIB]
    for name in ("cpu.limit", "memory.limit_bytes"):
        assert found.get(name).source == "control group /sys/fs/cgroup/pod"
    assert found.get("memory.available_bytes").value == 96 * GIB - (13071106048 - 2935459840)


def test_a_limit_above_the_machine_is_none() -> None:
    host = replace(recorded.linux("linux-meminfo-16g"), groups={"/g": {"memory.max": str(96 * GIB)}})
    limit = read(host).get("memory.limit_bytes")
    assert (limit.value, limit.source) == (15666184 << 10, "/proc/meminfo")


def test_tightest_group_up_the_tree_wins() -> None:
    limits = cgroup.limits({"/a/b": {"cpu.max": "max 100000", "memory.max": "max"}, "/a": {"cpu.max": "150000 100000"}})
    assert (limits.cpus, limits.cpu_group, limits.memory_bytes) == (1.5, "/a", None)


def test_version_1_quota_and_folders() -> None:
    files = recorded.group("container-cgroup1-docker")
    assert cgroup.cpu_count(files) == 6.0
    assert cgroup.folders(files["proc-self-cgroup"], files["proc-self-mountinfo"]) == [
        "/sys/fs/cgroup/cpuset",
        "/sys/fs/cgroup/cpu,cpuacct",
        "/sys/fs/cgroup/memory/large",
        "/sys/fs/cgroup/memory",
    ]
    assert cgroup.folders(files["v2-proc-self-cgroup"], files["v2-proc-self-mountinfo"]) == [
        "/sys/fs/cgroup/Example",
        "/sys/fs/cgroup",
    ]
    assert "/sys/fs/cgroup/memory/docker/large" in cgroup.folders(
        files["proc-self-cgroup"], files["v1-v2-hybrid-proc-self-mountinfo"]
    )


def test_version_1_without_a_memory_limit() -> None:
    assert cgroup.memory_limit_bytes({"memory.limit_in_bytes": "9223372036854771712\n"}) is None
    used = cgroup.memory_used_bytes({"memory.usage_in_bytes": "5000\n", "memory.stat": "cache 1\ntotal_inactive_file 2000\n"})
    assert used == 3000


def test_groups_are_read_from_their_folders(tmp_path: Path) -> None:
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / "memory.max").write_text("1048576\n")
    (tmp_path / "cgroup").write_text("0::/group\n")
    (tmp_path / "mountinfo").write_text(f"34 33 0:29 / {tmp_path} rw - cgroup2 cgroup rw\n")
    groups = cgroup.read_groups(tmp_path)
    assert groups == {f"{tmp_path}/group": {"memory.max": "1048576\n"}, str(tmp_path): {}}
    assert cgroup.limits(groups).memory_bytes == 1 << 20


def test_numa_nodes_without_cpus_do_not_count() -> None:
    node = "/sys/devices/system/node/node"
    texts = linux.LinuxTexts(sysfs={f"{node}0/cpulist": "0", f"{node}1/cpumap": "00000000,00000000", f"{node}2/cpulist": "\n"})
    assert read(texts).get("cpu.numa_nodes").value == 1


def test_tpu_by_device_not_by_vendor_alone() -> None:
    def card(slot: int, device: str, subsystem: str) -> dict[str, str]:
        folder = f"/sys/bus/pci/devices/0000:00:0{slot}.0"
        return {f"{folder}/vendor": "0x1ae0", f"{folder}/device": device, f"{folder}/subsystem_device": subsystem}

    network_card = card(1, "0x0042", "0x0058")
    assert pci.tpus(network_card) == []
    cards = {**network_card, **card(2, "0x0063", "0x004f"), **card(3, "0x0063", "0x004f"), **card(4, "0x0027", "0x004f")}
    assert pci.tpus(cards) == [
        {"name": "TPU v5e", "count": 2, "memory_bytes": 16 * GIB},
        {"name": "TPU v3", "count": 1, "memory_bytes": 16 * GIB},
    ]


def test_a100_with_mig() -> None:
    gpus = nvidia.from_smi_xml(recorded.text("nvidia-a100-sxm4-v12", "nvidia-smi").text)
    assert gpus[0]["name"] == "NVIDIA A100-SXM4-80GB"
    assert (gpus[0]["mig"], gpus[0]["mig_devices"], gpus[0]["memory_bytes"]) == (True, 4, 81920 << 20)


def test_older_card_without_mig() -> None:
    (gpu,) = nvidia.from_smi_xml(recorded.text("nvidia-gtx-1660-ti", "nvidia-smi").text)
    assert (gpu["mig"], gpu["memory_bytes"]) == (None, 5912 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="compares with /proc")
def test_this_machine_agrees_with_the_kernel() -> None:
    found = inventory.collect()
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert found.get("memory.total_bytes").value == total_kib << 10
    assert found.get("memory.limit_bytes").value <= total_kib << 10
    assert found.get("cpu.limit").value <= len(os.sched_getaffinity(0)) <= found.get("cpu.logical").value
    assert found.get("cpu.logical").value == os.cpu_count()
    assert sum(tier["threads"] for tier in found.get("cpu.tiers").value) == os.cpu_count()
    assert found.get("mps.usable").reason == "no Metal on Linux"
