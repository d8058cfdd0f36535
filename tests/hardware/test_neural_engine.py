"""The Neural Engine as its driver registers it, and what is published of chips."""

import plistlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.hardware import chips
from explorer.hardware.neural_engine import NAMES, engines, neural_engine, published_bandwidth
from explorer.hardware.readers import Text
from tests.hardware import recorded

PREFIX = "ANEDeviceProperty"
EMPTY = Text("", "ioreg printed nothing (exit code 0)")


def registry(*nodes: dict[str, Any]) -> Text:
    named = [{"DeviceProperties": {f"{PREFIX}{name}": value for name, value in node.items()}} for node in nodes]
    return Text(plistlib.dumps(named).decode(), "")


def of_table() -> list[dict[str, Any]]:
    """Both engines of the recorded M6, from its table of properties."""
    lines = recorded.text("ane-device-identity", "m6-ioreg").text.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    cells = {row[0]: row[1:] for row in rows}
    versions = [value.split("/") for value in cells["ANEVersion / Minor"]]
    return [
        {
            "NumANECores": int(cells["NumANECores"][index]),
            "TypeANEArchitectureTypeStr": cells["ArchitectureTypeStr"][index],
            "ANEVersion": int(versions[index][0]),
            "ANEMinorVersion": int(versions[index][1]),
            "ANEHWBoardType": int(cells["HWBoardType"][index]),
        }
        for index in (0, 1)
    ]


def test_both_engines_of_an_m6() -> None:
    text = registry(*of_table())
    assert len(engines(text.text)) == 2
    found = neural_engine(text, "Apple M6", virtual=False)
    values = [found[name].value for name in NAMES]
    assert values == [32, 2, "H18", "h18g", "240.17", 784, None]
    assert found["ane.tops"].reason == "no published figure for Apple M6"


@pytest.mark.parametrize(
    ("architecture", "generation"), [("h16g", "H16"), ("h17", "H17"), ("h17c", "H17"), ("t1", None), ("", None)]
)
def test_generation_from_the_architecture(architecture: str, generation: str | None) -> None:
    found = neural_engine(registry({"NumANECores": 16, "TypeANEArchitectureTypeStr": architecture}), "Apple M4", virtual=False)
    assert found["ane.generation"].value == generation
    assert (found["ane.version"].state, found["ane.board"].state) == ("absent", "absent")


def test_an_engine_that_tells_no_number_is_present_without_cores() -> None:
    found = neural_engine(registry({"NumANECores": "many"}), "Apple M99", virtual=False)
    assert (found["ane.engines"].value, found["ane.cores"].state) == (1, "absent")


def test_an_m5_says_where_its_neural_accelerators_are() -> None:
    published = neural_engine(EMPTY, "Apple M5 Max", virtual=False)
    read = neural_engine(registry({"NumANECores": 16, "TypeANEArchitectureTypeStr": "h17"}), "Apple M5", virtual=False)
    for found in (published, read):
        assert found["ane.cores"].value == 16
        assert "Neural Accelerators of an M5 are in the GPU cores" in found["ane.cores"].reason
        assert "Neural Accelerators" in found["ane.tops"].reason
    assert "Neural Accelerators" not in neural_engine(EMPTY, "Apple M4", virtual=False)["ane.cores"].reason


def test_every_name_is_answered_in_every_case() -> None:
    for text, chip, virtual in ((EMPTY, "Apple M4", False), (EMPTY, "Apple M4", True), (EMPTY, "Intel(R) Core(TM) i7", False)):
        found = neural_engine(text, chip, virtual)
        assert set(found) == set(NAMES)
        assert all(reading.known or reading.reason for reading in found.values())
    assert "Intel Macs" in neural_engine(EMPTY, "Intel(R) Core(TM) i7", virtual=False)["ane.cores"].reason


def test_published_tops_say_that_the_precision_is_not_stated() -> None:
    tops = neural_engine(EMPTY, "Apple M4", virtual=False)["ane.tops"]
    assert (tops.value, tops.state, tops.reason) == (38, "estimated", "published for the chip, precision not stated")


@pytest.mark.parametrize(
    ("chip", "cores", "bandwidth"),
    [
        *(("Apple M1", None, 68), ("Apple M1 Max", 24, 400), ("Apple M1 Ultra", 48, 800), ("Apple M2", 8, 100)),
        *(("Apple M3 Max", 30, 300), ("Apple M3 Max", 40, 400), ("Apple M3 Max", None, None), ("Apple M3 Ultra", 60, 819)),
        *(("Apple M4 Max", 32, 410), ("Apple M4 Max", 40, 546), ("Apple M5", 10, 153), ("Apple M5 Pro", 20, 307)),
        *(("Apple M5 Max", 32, 460), ("Apple M5 Max", 40, 614), ("Apple M6", 10, None), ("Apple A18 Pro", 5, None)),
    ],
)
def test_published_bandwidth(chip: str, cores: int | None, bandwidth: int | None) -> None:
    reading = published_bandwidth(chip, cores)
    assert (reading.value, reading.unit) == (bandwidth, "GB/s")
    assert reading.source if bandwidth else reading.reason


def test_the_table_of_chips_is_whole() -> None:
    assert len(chips.BY_NAME) == len(chips.CHIPS)
    assert {f"Apple M{number}" for number in range(1, 7)} | {"Apple A18 Pro"} <= set(chips.BY_NAME)
    assert all(chip.source and chip.ane_cores % 16 == 0 and chip.ane_generation.startswith("H") for chip in chips.CHIPS)
    assert not any(chip.ane_tops for chip in chips.CHIPS if chip.name.startswith(("Apple M5", "Apple M6")))


@given(
    st.dictionaries(
        st.sampled_from(sorted(of_table()[0])), st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.just("x"), st.booleans())
    )
)
def test_no_registry_makes_it_raise(node: dict[str, Any]) -> None:
    found = neural_engine(registry(node), "Apple M4", virtual=False)
    assert set(found) == set(NAMES)
    assert all(reading.known or reading.reason for reading in found.values())
