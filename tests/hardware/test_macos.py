"""Recorded Macs: what each is, from its own text."""

import plistlib
from dataclasses import replace

import pytest

from explorer.hardware import macos
from explorer.hardware.readers import UNREAD, Text
from explorer.schemas.readings import Inventory
from tests.hardware import recorded

GIB = 1 << 30
MAX_CORES = {"l1d_bytes": 131072, "l2_bytes": 16777216}
EFFICIENCY = {"l1d_bytes": 65536, "l2_bytes": 4194304}


def inventory(texts: macos.MacTexts) -> Inventory:
    return Inventory(readings=macos.readings(texts))


def tiers(found: Inventory) -> list[tuple[str, int]]:
    return [(tier["name"], tier["cores"]) for tier in found.get("cpu.tiers").value or []]


def engines(*architectures: str) -> Text:
    """The registry's answer as `ioreg -a` prints it; property names from the recorded identity table."""
    prefix = "ANEDeviceProperty"
    nodes = [
        {"DeviceProperties": {f"{prefix}NumANECores": 16, f"{prefix}TypeANEArchitectureTypeStr": name}} for name in architectures
    ]
    return Text(plistlib.dumps(nodes).decode(), "")


@pytest.mark.parametrize(
    ("machine", "chip", "expected_tiers", "memory_gib"),
    [
        ("mac-m1pro-monterey", "Apple M1 Pro", [("Performance", 6), ("Efficiency", 2)], 16),
        ("mac-m3max-sequoia", "Apple M3 Max", [("Performance", 10), ("Efficiency", 4)], 36),
        ("mac-m4max-sequoia", "Apple M4 Max", [("Performance", 12), ("Efficiency", 4)], 64),
        ("mac-m5-macos26", "Apple M5", [("Super", 4), ("Efficiency", 6)], 24),
        ("mac-m5max-macos26", "Apple M5 Max", [("Super", 6), ("Performance", 12)], 128),
        ("mac-vm-github-macos26", "Apple M1 (Virtual)", [("Standard", 3)], 7),
        ("mac-intel-github-macos15", "Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz", [("Standard", 4)], 14),
    ],
)
def test_chip_tiers_and_memory(machine: str, chip: str, expected_tiers: list[tuple[str, int]], memory_gib: int) -> None:
    found = inventory(recorded.mac(machine))
    assert found.get("chip.name").value == chip
    assert tiers(found) == expected_tiers
    assert found.get("cpu.logical").value == found.get("cpu.limit").value == sum(count for _, count in expected_tiers)
    assert found.get("memory.total_bytes").value == found.get("memory.limit_bytes").value == memory_gib * GIB


def test_m1_on_big_sur_has_one_tier_since_the_system_tells_none() -> None:
    found = inventory(recorded.mac("mac-m1-bigsur"))
    assert tiers(found) == [("All cores", 8)]
    glpi = inventory(replace(recorded.mac("mac-m1-bigsur"), sysctl=recorded.text("mac-m1-bigsur", "sysctl.txt")))
    assert recorded.values(glpi, "chip.name", "cpu.isa", "cpu.logical") == ["Apple processor", ["NEON", "FP16", "FHM", "AMX"], 8]


def test_caches_are_those_of_each_tier() -> None:
    for machine in ("mac-m3max-sequoia", "mac-m4max-sequoia"):
        fast, slow = inventory(recorded.mac(machine)).get("cpu.tiers").value
        assert fast.items() >= MAX_CORES.items()
        assert slow.items() >= EFFICIENCY.items()
        assert slow["cores_per_l2"] == 4


def test_instruction_sets() -> None:
    isa = {name: inventory(recorded.mac(f"mac-{name}")).get("cpu.isa").value for name in ("m1pro-monterey", "m3max-sequoia")}
    assert isa["m1pro-monterey"] == ["NEON", "FP16", "FHM", "DotProd"]
    assert isa["m3max-sequoia"] == ["NEON", "FP16", "FHM", "DotProd", "I8MM", "BF16"]
    m4 = inventory(recorded.mac("mac-m4max-sequoia")).get("cpu.isa").value
    assert m4 == [*isa["m3max-sequoia"], "SME", "SME2"]


def test_gpu_from_old_and_new_display_keys() -> None:
    old = inventory(recorded.mac("mac-m1pro-monterey")).get("gpu").value
    new = inventory(recorded.mac("mac-m5-macos26")).get("gpu").value
    assert old == [
        {"name": "Apple M1 Pro", "vendor": "Apple", "cores": 14, "memory_bytes": None, "metal": "Metal family Apple 7"}
    ]
    assert new == [{"name": "Apple M5", "vendor": "Apple", "cores": 10, "memory_bytes": None, "metal": "Metal 4"}]
    assert inventory(recorded.mac("mac-m5-macos26")).get("memory.type").value == "LPDDR5"


def test_gpu_cores_of_the_registry_win() -> None:
    gpu = Text(plistlib.dumps([{"gpu-core-count": 16, "model": "Apple M1 Pro"}]).decode(), "")
    assert inventory(recorded.mac("mac-m1pro-monterey", gpu=gpu)).get("gpu").value[0]["cores"] == 16


def test_gpu_without_system_profiler() -> None:
    gpu = Text(plistlib.dumps([{"gpu-core-count": 40}]).decode(), "")
    found = inventory(replace(recorded.mac("mac-m4max-sequoia", gpu=gpu), hardware=UNREAD)).get("gpu").value
    assert found == [{"name": "Apple M4 Max", "vendor": "Apple", "cores": 40, "memory_bytes": None, "metal": ""}]


def test_rosetta_process_learns_so_and_why_mps_is_out() -> None:
    texts = macos.MacTexts(
        hardware=recorded.text("mac-m1-air-monterey", "SPHardwareDataType-under-rosetta"),
        sysctl=Text("machdep.cpu.brand_string: VirtualApple @ 2.50GHz processor\nsysctl.proc_translated: 1\n", ""),
        machine="x86_64",
    )
    found = inventory(texts)
    assert recorded.values(found, "process.rosetta", "machine.model", "memory.total_bytes") == [True, "MacBookAir10,1", 16 * GIB]
    assert "Rosetta" in found.get("mps.usable").reason
    native = inventory(recorded.mac("mac-m1-air-monterey"))
    assert recorded.values(native, "chip.name", "process.rosetta") == ["Apple M1", False]


def test_without_sysctl_under_rosetta_the_chip_is_unknown_with_a_reason() -> None:
    found = inventory(macos.MacTexts(hardware=recorded.text("mac-m1-air-monterey", "SPHardwareDataType-under-rosetta")))
    assert found.get("chip.name").state == "absent"
    assert found.get("chip.name").reason
    assert tiers(found) == [("All cores", 8)]


def test_virtual_machines_have_no_neural_engine() -> None:
    found = inventory(recorded.mac("mac-vm-github-macos26"))
    assert recorded.values(found, "machine.virtual", "os.name", "ane.cores") == [True, "macOS 26.6.2", None]
    assert "virtual" in found.get("ane.cores").reason
    assert found.get("mps.usable").state == "pending"


def test_intel_mac_is_out_of_mps_and_neural_engine() -> None:
    found = inventory(recorded.mac("mac-intel-github-macos15", process="x86_64"))
    assert found.get("gpu").value[0]["name"] == "Apple Paravirtualized Graphics Device"
    assert recorded.values(found, "machine.virtual", "os.name") == [True, "macOS 15.7.9"]
    assert found.get("mps.usable").state == "unsupported"
    assert found.get("ane.cores").state == "absent"


def test_neural_engine_of_the_registry() -> None:
    found = inventory(recorded.mac("mac-m4max-sequoia", neural_engine=engines("h16g")))
    assert recorded.values(found, "ane.cores", "ane.engines", "ane.generation", "ane.architecture") == [16, 1, "H16", "h16g"]
    assert found.get("ane.cores").state == "ok"
    assert (found.get("ane.tops").value, found.get("ane.tops").state) == (38, "estimated")


def test_two_engines_of_an_m6_as_its_recorded_table_says() -> None:
    table = recorded.text("ane-device-identity", "m6-ioreg").text
    row = next(line for line in table.splitlines() if "ArchitectureTypeStr" in line)
    architectures = [cell.strip() for cell in row.strip("|").split("|")[1:]]
    found = inventory(
        macos.MacTexts(sysctl=Text("machdep.cpu.brand_string: Apple M6\n", ""), neural_engine=engines(*architectures))
    )
    assert recorded.values(found, "ane.cores", "ane.engines", "ane.generation", "ane.tops") == [32, 2, "H18", None]


def test_published_values_say_that_they_are() -> None:
    found = inventory(recorded.mac("mac-m5-macos26"))
    for name, value in {"ane.cores": 16, "ane.generation": "H17", "memory.bandwidth": 153}.items():
        reading = found.get(name)
        assert (reading.value, reading.state) == (value, "estimated")
        assert reading.source
    assert found.get("ane.tops").state == "absent"


def test_bandwidth_of_a_binned_chip_waits_for_its_gpu_cores() -> None:
    unknown = inventory(recorded.mac("mac-m4max-sequoia")).get("memory.bandwidth")
    assert (unknown.value, unknown.reason[:30]) == (None, "Apple M4 Max has 410 or 546 GB")
    gpu = Text(plistlib.dumps([{"gpu-core-count": 40}]).decode(), "")
    assert inventory(recorded.mac("mac-m4max-sequoia", gpu=gpu)).get("memory.bandwidth").value == 546


def test_an_unknown_chip_still_shows_what_was_read() -> None:
    text = recorded.text("mac-m4max-sequoia", "sysctl").text.replace("Apple M4 Max", "Apple M99")
    found = inventory(macos.MacTexts(sysctl=Text(text, "")))
    assert tiers(found) == [("Performance", 12), ("Efficiency", 4)]
    assert found.get("memory.bandwidth").reason == "no published figure for Apple M99"
    assert found.get("ane.cores").state == "absent"


def test_available_memory_from_vm_stat() -> None:
    page_counts = "Pages free: 100.\nPages active: 7.\nPages inactive: 50.\nPages speculative: 3.\n"
    text = Text(f"Mach Virtual Memory Statistics: (page size of 16384 bytes)\n{page_counts}", "")
    assert inventory(recorded.mac("mac-m5-macos26", vm_stat=text)).get("memory.available_bytes").value == 150 * 16384
