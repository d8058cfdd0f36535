"""GPUs of Linux machines from made-up sysfs trees and device files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.hardware import device_files, gpus, pci
from explorer.hardware.answers import known, missing
from explorer.hardware.readers import tree_of

NO_NVIDIA = missing("no NVIDIA GPU (NVML Shared Library Not Found)", "NVML")
RADEON, ARC, H100 = ("0x1002", "0x744c"), ("0x8086", "0x56a0"), ("0x10de", "0x2330")
ALL_FILES = ("nvidia0", "nvidiactl", "kfd", "dri/renderD128")


def card(ids: tuple[str, str], driver: str = "", kind: str = "0x030000", at: str = "0000:03:00.0", **more: str) -> dict[str, str]:
    """The files of one PCI device."""
    files = {
        "vendor": ids[0],
        "device": ids[1],
        "class": kind,
        "uevent": f"DRIVER={driver}\nPCI_CLASS=30000" if driver else "",
        **more,
    }
    return {f"/sys/bus/pci/devices/{at}/{name}": text for name, text in files.items() if text}


def node(number: int, **properties: int) -> dict[str, str]:
    """One node of AMD's compute driver."""
    text = "\n".join(f"{name} {value}" for name, value in properties.items())
    return {f"/sys/class/kfd/kfd/topology/nodes/{number}/properties": text}


NAVI31 = node(1, simd_count=192, simd_per_cu=2, gfx_target_version=110000, location_id=768, domain=0)


def test_amd_card_with_its_compute_node() -> None:
    tree = {**card(RADEON, "amdgpu", mem_info_vram_total="25753026560"), **node(0, cpu_cores_count=16, simd_count=0), **NAVI31}
    assert gpus.of_sysfs(tree, ALL_FILES) == [
        {
            "vendor": "AMD",
            "name": "AMD GPU 0x744c (gfx1100)",
            "cores": 96,
            "memory_bytes": 25753026560,
            "pci": "0000:03:00.0",
            "driver": "amdgpu",
            "usable_through": "torch's ROCm build",
        }
    ]


def test_amd_instinct_is_an_accelerator_with_a_name() -> None:
    tree = {
        **card(("0x1002", "0x74a1"), "amdgpu", "0x120000", "0002:c1:00.0", product_name="AMD Instinct MI300X"),
        **node(2, simd_count=1216, simd_per_cu=4, gfx_target_version=90402, location_id=0xC100, domain=2),
    }
    (row,) = gpus.of_sysfs(tree, ALL_FILES)
    assert (row["name"], row["cores"], row["usable_through"]) == ("AMD Instinct MI300X (gfx942)", 304, "torch's ROCm build")


@pytest.mark.parametrize(("version", "name"), [(90010, "gfx90a"), (90402, "gfx942"), (110501, "gfx1151"), (120001, "gfx1201")])
def test_compiler_names_of_amd_gpus(version: int, name: str) -> None:
    tree = {**card(RADEON, "amdgpu"), **node(1, simd_count=8, gfx_target_version=version, location_id=768)}
    assert gpus.of_sysfs(tree, ALL_FILES)[0]["name"] == f"AMD GPU 0x744c ({name})"


@pytest.mark.parametrize(
    ("ids", "driver", "files", "words"),
    [
        (RADEON, "", ALL_FILES, "nothing until the amdgpu driver is loaded (now none)"),
        (RADEON, "radeon", ALL_FILES, "nothing until the amdgpu driver is loaded (now radeon)"),
        (RADEON, "amdgpu", (), "there is no /dev/kfd or /dev/dri"),
        (RADEON, "amdgpu", ALL_FILES, "AMD's compute driver does not list it"),
        (RADEON, "vfio-pci", ALL_FILES, "kept for a virtual machine"),
        (ARC, "xe", ALL_FILES, "torch's XPU build"),
        (ARC, "i915", (), "there is no /dev/dri"),
        (ARC, "", ALL_FILES, "nothing until the i915 or xe driver"),
        (H100, "nouveau", ALL_FILES, "nothing until NVIDIA's driver is loaded (now nouveau)"),
        (H100, "nvidia", (), "there is no /dev/nvidia*, as in a container"),
        (H100, "nvidia", ALL_FILES, "torch's CUDA build, if NVML answers"),
    ],
)
def test_what_torch_can_use_a_card_through(ids: tuple[str, str], driver: str, files: tuple[str, ...], words: str) -> None:
    (row,) = gpus.of_sysfs(card(ids, driver), files)
    assert words in row["usable_through"]


def test_nvidia_without_a_driver_says_so() -> None:
    found = gpus.readings(NO_NVIDIA, card(H100, kind="0x030200"), ())
    assert found["gpu"].value[0]["name"] == "NVIDIA GPU without a driver"
    assert found["gpu"].source == "sysfs"
    assert found["gpu.driver"].reason == "no GPU driver"
    (row,) = gpus.of_sysfs(card(H100, "nvidia"), ALL_FILES)
    assert row["name"] == "NVIDIA GPU 0x2330"


def test_nvidia_tools_stand_for_their_gpus_and_others_come_after() -> None:
    told = known([{"vendor": "NVIDIA", "name": "NVIDIA H100", "driver": "580.65.06", "cuda": "13.0"}], "NVML")
    found = gpus.readings(told, {**card(H100, "nvidia"), **card(ARC, "xe", at="0000:00:02.0")}, ALL_FILES)
    assert [row["name"] for row in found["gpu"].value] == ["NVIDIA H100", "Intel GPU 0x56a0"]
    assert found["gpu"].source == "NVML and sysfs"
    assert found["gpu.driver"].value == "NVIDIA 580.65.06 (CUDA 13.0), Intel xe"


@pytest.mark.parametrize(
    ("ids", "name"),
    [
        (("0x1af4", "0x1050"), "virtio"),
        (("0x1234", "0x1111"), "Bochs"),
        (("0x15ad", "0x0405"), "VMware"),
        (("0x1b36", "0x0100"), "QXL"),
        (("0x1a03", "0x2000"), "ASPEED"),
    ],
)
def test_displays_that_do_not_compute_are_no_gpus(ids: tuple[str, str], name: str) -> None:
    found = gpus.readings(NO_NVIDIA, card(ids, "some"), ())
    assert found["gpu"].value is None
    assert f"the {name} display does not compute" in found["gpu"].reason


def test_intel_npus_and_network_cards_are_no_gpus() -> None:
    tree = {
        **card(("0x8086", "0x7d1d"), "intel_vpu", "0x120000"),
        **card(("0x8086", "0x1533"), "igb", "0x020000", "0000:05:00.0"),
    }
    assert gpus.of_sysfs(tree, ALL_FILES) == []


def test_the_reason_names_what_is_missing() -> None:
    nothing = gpus.readings(NO_NVIDIA, {}, ())["gpu"].reason
    assert nothing == "no NVIDIA GPU (NVML Shared Library Not Found); no /dev/nvidia*; no AMD or Intel GPU on the PCI bus"
    library_only = gpus.readings(NO_NVIDIA, {}, ("nvidia0", "nvidiactl"))["gpu"].reason
    assert "/dev/nvidia" not in library_only


def test_garbage_in_every_file_gives_rows_without_figures() -> None:
    tree = {
        **card(RADEON, "amdgpu", mem_info_vram_total="-1"),
        **dict.fromkeys(NAVI31, "simd_count x\nlocation_id 99999999999999999999"),
    }
    (row,) = gpus.of_sysfs(tree, ALL_FILES)
    assert (row["cores"], row["memory_bytes"]) == (None, None)


def test_trees_and_device_files_are_read_where_the_system_keeps_them(tmp_path: Path) -> None:
    for name in ("bus/pci/devices/0000:03:00.0/class", "class/kfd/kfd/topology/nodes/1/properties"):
        (tmp_path / "sys" / name).parent.mkdir(parents=True)
        (tmp_path / "sys" / name).write_text("0x030000\n")
    assert len(tree_of(tmp_path / "sys", pci.PATTERNS)) == 2
    for name in ("nvidia0", "dri/renderD128", "dri/card0", "tty0", "vfio/12", "accel/accel0", "accel0"):
        (tmp_path / "dev" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dev" / name).touch()
    assert device_files.read(tmp_path / "dev") == {"nvidia0", "dri/renderD128", "vfio/12", "accel0"}
    assert device_files.read(tmp_path / "none") == frozenset()


def test_a_tpu_counts_as_usable_with_its_device_file() -> None:
    tree = card(("0x1ae0", "0x0063"), kind="0x088000")
    assert pci.tpu(tree, {"vfio/0"}).value == [{"name": "TPU v5e", "count": 1, "memory_bytes": 16 << 30}]
    assert pci.tpu(tree, {"vfio/0"}).reason == pci.tpu(tree, {"accel0"}).reason == ""
    assert "no /dev/accel*" in pci.tpu(tree, ()).reason
    assert pci.tpu({}, ()).reason == "no Google TPU on the PCI bus"


@given(
    st.dictionaries(
        st.sampled_from([*card(RADEON, "amdgpu", mem_info_vram_total="1", product_name="x", subsystem_device="0x0"), *NAVI31]),
        st.one_of(
            st.text(),
            st.sampled_from(["0x1002", "0x030000", "DRIVER=amdgpu"]),
            st.from_regex(r"\A(simd_count|gfx_target_version|location_id) \d{1,19}\Z"),
        ),
    )
)
def test_no_text_makes_it_raise(tree: dict[str, str]) -> None:
    found = gpus.readings(NO_NVIDIA, tree, ALL_FILES)
    assert all(reading.known or reading.reason for reading in found.values())
    assert pci.tpu(tree, ()).reason
