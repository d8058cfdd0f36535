"""Recording this machine, and what is taken out of a recording."""

import json
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.hardware import cgroup, isa, linux, lscpu, record, recorded, recorded_linux, redact
from explorer.hardware.recorded_files import Files
from tests.hardware.recorded import FOLDER, group

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="records /proc and /sys")
NAMES = redact.Names(("janes-box.example.com", "janes-box", "janes-box.local"), ("jane",))
SERIAL, UUID = "C02ABC123XYZ", "12345678-9ABC-DEF0-1234-56789ABCDEF0"


@LINUX
def test_a_recording_of_this_machine_reads_as_this_machine(tmp_path: Path) -> None:
    files = record.record(tmp_path / "box")
    found, here = recorded.inventory(tmp_path / "box"), linux.readings(linux.read())
    for name in ("chip.name", "cpu.tiers", "cpu.logical", "cpu.cores", "cpu.isa", "cpu.numa_nodes", "cpu.limit", "os.name"):
        assert found.get(name).value == here[name].value, name
    for name in ("memory.total_bytes", "memory.limit_bytes", "swap.total_bytes", "machine.virtual", "machine.model", "os.kernel"):
        assert found.get(name).value == here[name].value, name
    assert {"proc-cpuinfo.txt", "proc-meminfo.txt", "sysfs-flat.txt", "proc-self-status.txt"} <= set(files)
    assert files == sorted(path.name for path in (tmp_path / "box").iterdir())


@pytest.mark.parametrize("what", ["full", "file"])
def test_a_folder_with_files_is_left_alone(what: str, tmp_path: Path) -> None:
    target = tmp_path / what
    if what == "full":
        target.mkdir()
        (target / "notes.txt").write_text("mine")
    else:
        target.write_text("mine")
    with pytest.raises(ExplorerError) as raised:
        record.record(target)
    assert str(target) in raised.value.message
    assert raised.value.remedy
    assert (target / "notes.txt" if what == "full" else target).read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError):
        record.write(tmp_path / "file" / "below", {"a.txt": "text"}, NAMES)


def test_limiting_groups_alone_give_the_same_limits(tmp_path: Path) -> None:
    inner = {"cpu.max": "max 100000", "memory.max": "4096", "memory.stat": "inactive_file 1", "memory.current": "100"}
    groups = {"/pod/inner": inner, "/pod": {"cpu.max": "150000 100000", "memory.max": "8192"}}
    for name, text in record.limit_files(groups).items():
        (tmp_path / name).write_text(text)
    found = recorded.inventory(tmp_path)
    assert (found.get("cpu.limit").value, found.get("memory.limit_bytes").value) == (1.5, 4096)
    assert found.get("memory.available_bytes").value == 4096 - 99


def test_limiting_files_of_a_recorded_pod_are_its_own() -> None:
    pod = {name: text for name, text in group("container-cgroup2-48of96cpu-96gib").items() if name in cgroup.FILES}
    assert record.limit_files({"/pod": pod}) == pod
    assert record.limit_files({"/free": {"cpu.max": "max 100000"}}) == {}


def test_flat_files_read_as_they_were() -> None:
    sysfs = {
        "/sys/bus/pci/devices/0000:00:1e.0/uevent": "DRIVER=nvidia\nPCI_CLASS=30200",
        "/sys/devices/system/cpu/online": "0-1",
    }
    assert recorded_linux.flat([record.flat(sysfs)]) == sysfs


def test_recorded_gpu_of_the_pci_bus_needs_its_device_file() -> None:
    folder = "/sys/bus/pci/devices/0000:03:00.0"
    flat = record.flat({f"{folder}/vendor": "0x1002", f"{folder}/class": "0x030000", f"{folder}/uevent": "DRIVER=amdgpu"})
    (row,) = recorded_linux.gpu(Files({"sysfs-flat.txt": flat, "device-files.txt": "kfd\ndri/renderD128\n"}))["gpu"].value
    assert (row["vendor"], row["driver"]) == ("AMD", "amdgpu")


def test_mac_profile_without_what_names_the_mac_and_its_owner() -> None:
    item = {
        "serial_number": SERIAL,
        "platform_UUID": UUID,
        "provisioning_UDID": "00008103-001A2B3C4D5E6F70",
        "machine_name": "jane's MacBook Pro on janes-box.local",
        "physical_memory": "16 GB",
        "number_processors": "proc 8:4:4",
    }
    found = redact.redacted(json.dumps({"SPHardwareDataType": [item]}, indent=1), NAMES)
    kept = json.loads(found)["SPHardwareDataType"][0]
    assert (kept["physical_memory"], kept["number_processors"]) == ("16 GB", "proc 8:4:4")
    assert kept["machine_name"] == "user's MacBook Pro on host"
    for secret in (SERIAL, UUID, "001A2B3C4D5E6F70", "jane"):
        assert secret not in found


def test_registry_nodes_without_serial_numbers() -> None:
    node = {
        "IOPlatformSerialNumber": SERIAL,
        "IOPlatformUUID": UUID,
        "IOMACAddress": b"\x0c\x42\xa1\x00\x11\x22",
        "mac-address": b"\x0c\x42\xa1\x00\x11\x22",
        "gpu-core-count": 10,
    }
    found = redact.redacted(plistlib.dumps([node]).decode(), NAMES)
    assert SERIAL not in found
    assert UUID not in found
    assert "DEKhABEi" not in found  # the address in the list's own form
    assert plistlib.loads(found.encode(), fmt=plistlib.FMT_XML)[0]["gpu-core-count"] == 10


def test_nvidia_without_serials_and_what_runs() -> None:
    gpu = f"<serial>1320921004455</serial><uuid>GPU-{UUID.lower()}</uuid><pdi>0x1a2b3c4d5e6f7081</pdi>"
    process = "<process_info><process_name>/home/jane/secret.py</process_name></process_info>"
    name = "<product_name>NVIDIA A100</product_name><pci><pci_bus_id>00000000:01:00.0</pci_bus_id></pci>"
    found = redact.redacted(f"<nvidia_smi_log><gpu>{name}{gpu}{process}</gpu></nvidia_smi_log>", NAMES)
    for secret in ("1320921004455", UUID.lower(), "1a2b3c4d5e6f7081", "jane", "secret.py"):
        assert secret not in found
    assert "NVIDIA A100" in found
    assert "00000000:01:00.0" in found


def test_lines_of_text() -> None:
    text = (
        f"      Serial Number (system): {SERIAL}\n      Hardware UUID: {UUID}\nSerial\t\t: 00000000deadbeef\n"
        "hw.serialdebugmode: 0\nHardware\t: BCM2709\nlink/ether 0c:42:a1:00:11:22\n0::/docker/"
        + "ab12"
        * 16
        + "\nunique_id 123456789\n"
        "overlay /Users/jane/x /home/jane kern.hostname: janes-box.example.com\n"
    )
    found = redact.redacted(text, NAMES)
    for secret in (SERIAL, UUID, "deadbeef", "0c:42", "ab12", "123456789", "jane"):
        assert secret not in found
    assert "hw.serialdebugmode: 0\nHardware\t: BCM2709" in found
    assert "/Users/user/x /home/user kern.hostname: host" in found


@pytest.mark.parametrize("folder", ["mac-m4max-sequoia", "linux-amd-epyc-7451", "nvidia-a100-sxm4-v12", "mac-m5-macos26"])
def test_readings_survive_being_redacted(folder: str, tmp_path: Path) -> None:
    texts = {path.name: path.read_text() for path in (FOLDER / folder).iterdir()}
    record.write(tmp_path / folder, texts, NAMES)
    assert recorded.inventory(tmp_path / folder) == recorded.inventory(FOLDER / folder)


def test_names_of_every_machine_are_no_secret() -> None:
    generic = redact.Names(("vm", "m1"), ("root", "apple"))
    assert (
        redact.redacted("vm.swapusage: 0\n/root vm\nApple M1 (Virtual)\n", generic)
        == "vm.swapusage: 0\n/root vm\nApple M1 (Virtual)\n"
    )


@LINUX
def test_this_machine_as_lscpu_and_the_kernel_tell_it() -> None:
    """With lscpu, its own summary; without, the counts of /proc/cpuinfo: never nothing."""
    here = linux.readings(linux.read())
    blocks = Path("/proc/cpuinfo").read_text().strip().split("\n\n")
    assert here["cpu.logical"].value == len(blocks)
    if shutil.which("lscpu"):
        facts = lscpu_json()
        assert here["cpu.logical"].value == int(facts["CPU(s)"])
        cores = int(facts["Core(s) per socket"]) * int(facts["Socket(s)"])
        assert here["cpu.cores"].value == cores
        assert here["chip.name"].value == facts["Model name"]
        assert here["cpu.numa_nodes"].value == int(facts.get("NUMA node(s)", 1))
        assert here["cpu.isa"].value == isa.of_linux(facts["Flags"].split())
        (tier,), (told,) = (
            here["cpu.tiers"].value,
            lscpu.parse("".join(f"{field}: {data}\n" for field, data in facts.items())).tiers,
        )
        for level in ("l1d_bytes", "l2_bytes", "l3_bytes"):
            assert tier[level] == told[level]
    total = next(line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert here["memory.total_bytes"].value == int(total) << 10
    limits = cgroup.limits(cgroup.read_groups())
    assert here["memory.limit_bytes"].value == min(int(total) << 10, limits.memory_bytes or 1 << 62)
    assert here["cpu.limit"].value == min(len(blocks), limits.cpus or len(blocks), linux.read().affinity_cpus or len(blocks))


def lscpu_json() -> dict[str, str]:
    """`lscpu --json` as a flat table; newer releases nest their fields."""
    printed = subprocess.run(
        ["lscpu", "--json"], capture_output=True, check=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    )
    facts: dict[str, str] = {}
    waiting = json.loads(printed.stdout)["lscpu"]
    while waiting:
        row = waiting.pop(0)
        facts.setdefault(row["field"].strip(":"), str(row["data"]))
        waiting += row.get("children", [])
    return facts
