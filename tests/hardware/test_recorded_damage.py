"""Recordings with a file gone, cut short or filled with noise: no error, and what that file told is absent with a reason."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.errors import ExplorerError
from explorer.hardware import recorded as recordings
from explorer.schemas.readings import Reading
from tests.hardware.recorded import FOLDER

FOLDERS = sorted(path for path in FOLDER.iterdir() if path.is_dir())
TEXTS = {folder.name: {path.name: path.read_text() for path in sorted(folder.iterdir())} for folder in FOLDERS}
FILES = sorted((machine, name) for machine, texts in TEXTS.items() for name in texts)
DAMAGE = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BY_KIND = ("os.name", "process.machine", "mps.usable")  # also told by the mere kind of the files


def readings(machine: str, texts: dict[str, str]) -> dict[str, Reading]:
    """Readings, or none when nothing is recognised any more."""
    try:
        return recordings.readings(texts, machine)
    except ExplorerError:
        return {}


def check(found: dict[str, Reading]) -> None:
    for name, reading in found.items():
        assert reading.known or reading.reason, name
        assert reading.state != "pending", name


@pytest.mark.parametrize(("machine", "name"), FILES)
def test_a_file_gone(machine: str, name: str) -> None:
    whole = readings(machine, TEXTS[machine])
    left = readings(machine, {other: text for other, text in TEXTS[machine].items() if other != name})
    check(left)
    assert not left or set(left) == set(whole)
    if len(TEXTS[machine]) == 1:
        assert left == {}


@pytest.mark.parametrize(("machine", "name"), FILES)
@DAMAGE
@given(data=st.data())
def test_a_file_cut_short(machine: str, name: str, data: st.DataObject) -> None:
    text = TEXTS[machine][name]
    check(readings(machine, {**TEXTS[machine], name: text[: data.draw(st.integers(0, len(text)))]}))


@pytest.mark.parametrize(("machine", "name"), FILES)
@DAMAGE
@given(data=st.data())
def test_a_file_with_a_hole(machine: str, name: str, data: st.DataObject) -> None:
    """Characters in the middle replaced by others: lines keep their form and lose their sense."""
    text = TEXTS[machine][name]
    start = data.draw(st.integers(0, len(text)))
    filling = data.draw(st.text(max_size=8) | st.just("9" * 5000))
    check(readings(machine, {**TEXTS[machine], name: text[:start] + filling + text[start + data.draw(st.integers(0, 9)) :]}))


@pytest.mark.parametrize(("machine", "name"), FILES)
@DAMAGE
@given(noise=st.binary(max_size=400))
def test_a_file_of_noise(machine: str, name: str, noise: bytes) -> None:
    check(readings(machine, {**TEXTS[machine], name: noise.decode(errors="replace")}))


@pytest.mark.parametrize("machine", sorted(TEXTS))
@DAMAGE
@given(noise=st.binary(max_size=100))
def test_a_machine_of_noise_has_no_values(machine: str, noise: bytes) -> None:
    text = "\x00\ufffd" + noise.decode(errors="replace").translate({ord(digit): "x" for digit in "0123456789"})
    found = readings(machine, dict.fromkeys(TEXTS[machine], text))
    check(found)
    assert [name for name, reading in found.items() if reading.known and name not in BY_KIND] == []


@pytest.mark.parametrize(
    ("machine", "name", "lost"),
    [
        ("mac-m4max-sequoia", "sysctl.txt", ["cpu.isa", "cpu.isa_uses"]),
        ("mac-m4max-sequoia", "SPHardwareDataType.json", ["machine.model"]),
        ("mac-m5-macos26", "SPDisplaysDataType.json", ["gpu"]),
        ("mac-m5-macos26", "SPMemoryDataType.json", ["memory.type"]),
        ("mac-vm-github-macos26", "sw_vers.txt", ["os.build"]),
        ("mac-m1-bigsur", "system_profiler-text-excerpt.txt", ["gpu", "memory.total_bytes", "machine.model"]),
        ("linux-amd-ryzen-ai-max-395", "lscpu.txt", ["chip.name", "cpu.isa", "cpu.cores", "cpu.numa_nodes", "process.machine"]),
        ("linux-arm-a510-a710-a715-x3", "proc-cpuinfo.txt", []),
        ("container-cgroup2-48of96cpu-96gib", "cpu.max", []),
        ("container-cgroup2-48of96cpu-96gib", "memory.max", ["memory.limit_bytes"]),
        ("container-cgroup1-docker", "cpu.cfs_quota_us", ["cpu.limit"]),
        ("ane-device-identity", "m6-ioreg-ane-summary.md", ["ane.cores", "ane.architecture", "chip.name"]),
    ],
)
@pytest.mark.parametrize("damage", ["gone", "empty", "noise"])
def test_what_a_file_alone_told_is_absent_with_a_reason(machine: str, name: str, lost: list[str], damage: str) -> None:
    whole, texts = readings(machine, TEXTS[machine]), dict(TEXTS[machine])
    del texts[name]
    damaged = {"gone": {}, "empty": {name: ""}, "noise": {name: "\x00\x01 noise : \ufffd"}}[damage]
    left = readings(machine, {**texts, **damaged})
    for reading in lost:
        assert whole[reading].known
        assert left[reading].state == "absent"
        assert left[reading].reason


@pytest.mark.parametrize(
    ("machine", "name", "reading"),
    [
        ("mac-m5-macos26", "SPDisplaysDataType.json", "gpu"),
        ("mac-m5-macos26", "SPMemoryDataType.json", "memory.type"),
        ("mac-vm-github-macos26", "sw_vers.txt", "os.build"),
        ("mac-m4max-sequoia", "sysctl.txt", "cpu.isa"),
        ("linux-amd-epyc-7451", "proc-cpuinfo.txt", "chip.name"),
        ("linux-meminfo-16g", "proc-meminfo.txt", "memory.total_bytes"),
        ("nvidia-a10g", "nvidia-smi-q-x.xml", "gpu"),
    ],
)
def test_reasons_name_the_file(machine: str, name: str, reading: str) -> None:
    empty, noise = (readings(machine, dict.fromkeys(TEXTS[machine], text))[reading].reason for text in ("", "noise"))
    assert name in empty
    assert "empty" in empty
    assert name in noise
    assert "empty" not in noise


def test_a_pod_without_its_quota_may_use_its_set() -> None:
    machine = "container-cgroup2-48of96cpu-96gib"
    texts = {name: text for name, text in TEXTS[machine].items() if name != "cpu.max"}
    assert readings(machine, texts)["cpu.limit"].value == 96


def test_undecodable_bytes_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "sysctl.txt").write_bytes(b"hw.memsize: 1024\n\xff\xfe\x00\x80")
    assert recordings.inventory(tmp_path).get("memory.total_bytes").value == 1024
