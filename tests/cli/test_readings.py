"""Readings as text."""

import json

from explorer.cli.readings import reading_lines, readings_json, value_text
from explorer.schemas.readings import Reading

TIERS = [
    {"name": "Performance", "cores": 12, "threads": 12, "l1d_bytes": 131072, "l2_bytes": None},
    {"name": "Efficiency", "cores": 4, "threads": 4, "l1d_bytes": 65536, "l2_bytes": 4194304},
]


def test_parts_take_a_line_each_and_leave_out_what_is_not_known() -> None:
    lines = reading_lines({"cpu.tiers": Reading(value=TIERS, source="sysctl")})
    assert "Performance: cores 12, threads 12, l1d 128 KiB" in lines[0]
    assert lines[0].endswith("sysctl")
    assert lines[1].strip() == "Efficiency: cores 4, threads 4, l1d 64 KiB, l2 4 MiB"


def test_a_missing_value_shows_state_and_reason_and_no_zero() -> None:
    (line,) = reading_lines({"power.cpu": Reading(state="denied", reason="only root may read it")})
    assert line.split(maxsplit=1)[1].startswith("(denied)")
    assert line.endswith("only root may read it")
    assert "0" not in line


def test_the_machine_comes_before_frameworks() -> None:
    lines = reading_lines({"torch.threads": Reading(value=2), "chip.name": Reading(value="Apple M4")})
    assert [line.split()[0] for line in lines] == ["chip.name", "torch.threads"]


def test_values_for_people() -> None:
    assert value_text(Reading(value=64 * 2**30, unit="B")) == "64 GiB"
    assert value_text(Reading(value=True)) == "yes"
    assert value_text(Reading(value=153, unit="GB/s", state="estimated")) == "153 GB/s (estimated)"
    assert value_text(Reading(value=["NEON", "BF16"])) == "NEON, BF16"


def test_json_is_flat_with_five_fields() -> None:
    found = json.loads(readings_json({"chip.name": Reading(value="Apple M4", source="sysctl")}))
    assert found == {"chip.name": {"value": "Apple M4", "unit": "", "source": "sysctl", "state": "ok", "reason": ""}}
