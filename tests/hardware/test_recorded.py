"""Every recorded machine, read from its folder alone."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import ExplorerError
from explorer.hardware import inventory as live
from explorer.hardware import recorded as recordings
from explorer.schemas.readings import Inventory
from tests.hardware.machines import EXPECTED, LINUX, MACS, NVIDIA, SOURCES
from tests.hardware.recorded import FOLDER

FOLDERS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
TIER_KEYS = ("name", "cores", "threads", "l1d_bytes", "l2_bytes", "max_mhz")
CONTRACT = (
    *("os.name", "os.build", "os.kernel", "machine.model", "machine.virtual", "process.machine", "process.rosetta", "chip.name"),
    *("cpu.logical", "cpu.cores", "cpu.limit", "cpu.numa_nodes", "cpu.tiers", "cpu.isa", "cpu.isa_uses"),
    *("memory.total_bytes", "memory.limit_bytes", "memory.available_bytes", "memory.type", "memory.bandwidth"),
    *("swap.total_bytes", "gpu", "gpu.driver", "mps.usable", "mps.built", "mps.available", "mps.name"),
    *("mps.memory_limit_bytes", "cuda", "cuda.version", "cuda.devices", "ane.cores", "ane.engines", "ane.generation"),
    *("ane.architecture", "ane.tops", "tpu", "dtypes.cpu", "dtypes.mps", "dtypes.cuda", "framework.torch"),
    *("framework.python", "onnxruntime.providers", "torch.threads"),
)


def inventory(machine: str) -> Inventory:
    return recordings.inventory(FOLDER / machine)


def copied(machine: str, target: Path, *names: str) -> Inventory:
    """A folder with only some files of a machine."""
    target.mkdir()
    for name in names:
        shutil.copy(FOLDER / machine / name, target)
    return recordings.inventory(target)


def test_every_folder_is_expected_something_of() -> None:
    assert sorted(EXPECTED) == FOLDERS
    assert len(FOLDERS) == 46


@pytest.mark.parametrize(("machine", "name"), [(machine, name) for machine, facts in EXPECTED.items() for name in facts])
def test_reading_of_a_machine(machine: str, name: str) -> None:
    expected, reading = EXPECTED[machine][name], inventory(machine).get(name)
    if name == "cpu.tiers" and reading.known:
        assert [tuple(tier[key] for key in TIER_KEYS) for tier in reading.value] == expected
    elif name == "gpu" and reading.known:
        assert len(reading.value) == len(expected)
        for row, facts in zip(reading.value, expected, strict=True):
            assert {key: row[key] for key in facts} == facts
    else:
        assert reading.value == expected
    assert reading.known or reading.reason


@pytest.mark.parametrize(("machine", "name"), SOURCES)
def test_source_of_a_reading(machine: str, name: str) -> None:
    assert inventory(machine).get(name).source == SOURCES[machine, name]


@pytest.mark.parametrize("machine", FOLDERS)
def test_every_name_is_there_with_a_value_or_a_reason(machine: str) -> None:
    readings = inventory(machine).readings
    assert set(CONTRACT) <= set(readings)
    assert set(live.collect().readings) <= set(readings)
    for name, reading in readings.items():
        assert reading.state != "pending"
        assert (reading.value is not None) != (reading.state in ("absent", "unsupported")), name
        assert reading.known or reading.reason, name


@pytest.mark.parametrize("machine", FOLDERS)
def test_counts_agree_with_each_other(machine: str) -> None:
    found = inventory(machine)
    tiers: list[dict[str, Any]] = found.get("cpu.tiers").value or []
    if (logical := found.get("cpu.logical").value) is not None:
        assert sum(tier["threads"] for tier in tiers) == logical
        assert found.get("cpu.limit").value <= logical
    if (cores := found.get("cpu.cores").value) is not None:
        assert sum(tier["cores"] for tier in tiers) == cores
    numbers = [cpu for tier in tiers for cpu in tier.get("cpus") or []]
    assert len(numbers) == len(set(numbers))
    uses = found.get("cpu.isa_uses")
    assert [row["name"] for row in uses.value or []] == [name for name in found.get("cpu.isa").value or [] if uses.known]


@pytest.mark.parametrize(
    ("machine", "level", "size"),
    [
        ("linux-amd-epyc-7451", "l3_bytes", 8 << 20),
        ("linux-intel-64cpu-4numa", "l3_bytes", 18 << 20),
        ("linux-amd-ryzen-ai-max-395", "l3_bytes", 32 << 20),
        ("linux-graviton2", "l3_bytes", 32 << 20),
        ("mac-m3max-sequoia", "cores_per_l2", 5),
        ("mac-m5max-macos26", "cores_per_l2", 6),
    ],
)
def test_shared_caches(machine: str, level: str, size: int) -> None:
    assert inventory(machine).get("cpu.tiers").value[0][level] == size


def test_cpus_of_the_tiers() -> None:
    phone = {tier["name"]: tier["cpus"] for tier in inventory("linux-arm-a510-a710-a715-x3").get("cpu.tiers").value}
    assert phone == {"Cortex-X3": [7], "Cortex-A715": [3, 4], "Cortex-A710": [5, 6], "Cortex-A510": [0, 1, 2]}
    laptop = inventory("linux-intel-core-ultra-185h").get("cpu.tiers").value
    assert [(tier["cpus"][0], tier["cpus"][-1]) for tier in laptop] == [(0, 11), (12, 19), (20, 21)]


@pytest.mark.parametrize(
    ("machine", "state", "reason"),
    [
        ("mac-m1-air-monterey", "unsupported", "Rosetta"),
        ("mac-vm-github-macos26", "unsupported", "virtual machine"),
        ("mac-intel-github-macos15", "unsupported", "Apple silicon"),
        ("mac-m2max-ioreport", "unsupported", "macOS 14"),
        ("mac-m4max-sequoia", "absent", "torch was not asked in this recording"),
        ("mac-m5max-macos26", "absent", "torch was not asked in this recording"),
        ("linux-graviton2", "absent", "no Metal on Linux"),
        ("nvidia-a10g", "absent", "torch was not asked in this recording"),
    ],
)
def test_why_mps_is_not_usable(machine: str, state: str, reason: str) -> None:
    found = inventory(machine).get("mps.usable")
    assert found.state == state
    assert reason in found.reason


def test_system_is_told_by_the_kind_of_files() -> None:
    assert {inventory(machine).get("os.name").value.split()[0] for machine in MACS} == {"macOS"}
    assert {inventory(machine).get("os.name").value for machine in LINUX} == {"Linux"}
    assert {inventory(machine).get("os.name").value for machine in NVIDIA} == {None}


def test_a_native_answer_alone_is_no_rosetta(tmp_path: Path) -> None:
    native = copied("mac-m1-air-monterey", tmp_path / "native", "SPHardwareDataType.json")
    assert (native.get("process.rosetta").value, native.get("process.machine").value) == (False, "arm64")
    translated = copied("mac-m1-air-monterey", tmp_path / "translated", "SPHardwareDataType-under-rosetta.json")
    assert (translated.get("process.rosetta").value, translated.get("chip.name").value) == (True, None)
    (tier,) = translated.get("cpu.tiers").value
    assert (tier["name"], tier["cores"]) == ("All cores", 8)


def test_an_m1_on_macos_11_by_sysctl_alone_has_one_tier(tmp_path: Path) -> None:
    found = copied("mac-m1-bigsur", tmp_path / "only", "sysctl.txt")
    (tier,) = found.get("cpu.tiers").value
    assert (tier["name"], tier["cores"], found.get("chip.name").value) == ("All cores", 8, "Apple processor")


def test_core_ultra_without_the_table_has_one_tier(tmp_path: Path) -> None:
    (tier,) = copied("linux-intel-core-ultra-185h", tmp_path / "only", "lscpu.txt").get("cpu.tiers").value
    assert (tier["name"], tier["cores"], tier["threads"], tier["l1d_bytes"]) == ("All cores", 16, 22, None)


def test_phone_by_lscpu_alone(tmp_path: Path) -> None:
    found = copied("linux-arm-a510-a710-a715-x3", tmp_path / "only", "lscpu-plus-parse.txt")
    rows = [(tier["name"], tier["cores"], tier["max_mhz"]) for tier in found.get("cpu.tiers").value]
    assert rows[0] == ("Cortex-X3", 1, 3187)
    assert rows[-1] == ("Cortex-A510", 3, 2016)
    assert found.get("cpu.cores").value == 8


def test_asahi_by_lscpu_alone_is_ranked_by_speed(tmp_path: Path) -> None:
    tiers = copied("linux-asahi-m1pro", tmp_path / "only", "lscpu.txt").get("cpu.tiers").value
    assert [(tier["name"], tier["cores"], tier["max_mhz"]) for tier in tiers] == [
        ("Performance", 8, 3036),
        ("Efficiency", 2, 2064),
    ]


def test_phone_by_sysfs_alone_is_named_by_its_midr(tmp_path: Path) -> None:
    found = copied("linux-arm-a510-a710-a715-x3", tmp_path / "only", "sysfs-flat.txt")
    assert [tier["name"] for tier in found.get("cpu.tiers").value] == ["Cortex-X3", "Cortex-A715", "Cortex-A710", "Cortex-A510"]


def test_both_ioreg_nodes_may_lie_in_one_file_at_any_depth(tmp_path: Path) -> None:
    properties = "<key>ANEDevicePropertyNumANECores</key><integer>16</integer>"
    architecture = "<key>ANEDevicePropertyTypeANEArchitectureTypeStr</key><string>h16g</string>"
    engine = f"<dict><key>DeviceProperties</key><dict>{properties}{architecture}</dict></dict>"
    gpu = "<dict><key>gpu-core-count</key><integer>40</integer></dict>"
    tree = f"<dict><key>IORegistryEntryChildren</key><array>{engine}{gpu}</array></dict>"
    (tmp_path / "ioreg.plist").write_text(f'<plist version="1.0">{tree}</plist>')
    (tmp_path / "sysctl.txt").write_text("machdep.cpu.brand_string: Apple M4 Max\n")
    found = recordings.inventory(tmp_path)
    assert (found.get("ane.cores").value, found.get("ane.architecture").value) == (16, "h16g")
    assert (found.get("gpu").value[0]["cores"], found.get("memory.bandwidth").value) == (40, 546)


def test_a_list_of_engines_identifies_a_machine_only_when_it_is_of_one(tmp_path: Path) -> None:
    several = copied("ane-device-identity", tmp_path / "several", "ane_names.txt")
    assert several.get("ane.cores").value is None
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "ane_names.txt").write_text("## M4（Mac16,x）\naneArchitectureType  h16g\nnumANECores  16\nnumANEs  1\n")
    one = recordings.inventory(tmp_path / "one")
    assert (one.get("ane.cores").value, one.get("ane.engines").value, one.get("chip.name").value) == (16, 1, "Apple M4")


def test_groups_have_exact_names(tmp_path: Path) -> None:
    (tmp_path / "cpu.max.burst").write_text("100000 100000\n")
    with pytest.raises(ExplorerError):
        recordings.inventory(tmp_path)


def test_allowed_cpus_of_a_recorded_process_limit_it(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "linux-graviton2" / "lscpu.txt", tmp_path)
    (tmp_path / "proc-self-status.txt").write_text("Name:\tpython\nCpus_allowed_list:\t0-3,8\n")
    limit = recordings.inventory(tmp_path).get("cpu.limit")
    assert (limit.value, limit.source) == (5, "CPU affinity of this process")


def test_a_later_file_fills_what_an_earlier_one_lacks(tmp_path: Path) -> None:
    (tmp_path / "sysctl-a.txt").write_text("machdep.cpu.brand_string: Apple M1\n")
    (tmp_path / "sysctl-b.txt").write_text("machdep.cpu.brand_string: Apple M2\nhw.memsize: 8589934592\n")
    found = recordings.inventory(tmp_path)
    assert (found.get("chip.name").value, found.get("memory.total_bytes").value) == ("Apple M1", 8 << 30)


def test_amd_memory_encryption_is_no_matrix_extension() -> None:
    assert " sme " in (FOLDER / "linux-amd-zen4" / "proc-cpuinfo-one-cpu.txt").read_text()
    assert "SME" not in inventory("linux-amd-zen4").get("cpu.isa").value


@pytest.mark.parametrize("what", ["missing", "file", "empty", "unknown"])
def test_no_recording_is_an_error_with_a_remedy(what: str, tmp_path: Path) -> None:
    folder = tmp_path / what
    if what == "file":
        folder.write_text("text")
    elif what != "missing":
        folder.mkdir()
    if what == "unknown":
        (folder / "readme.md").write_text("text")
    with pytest.raises(ExplorerError) as raised:
        recordings.inventory(folder)
    assert what in raised.value.message
    assert raised.value.remedy
