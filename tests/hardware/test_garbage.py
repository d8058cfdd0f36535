"""No parser raises, whatever it is given; what it cannot read is absent with a reason."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.hardware import (
    ane_tables,
    cgroup,
    core_tiers,
    cpu_list,
    ioreg,
    linux,
    linux_cpu,
    lscpu,
    macmon,
    macos,
    meminfo,
    memory_pressure,
    neural_engine,
    nvidia,
    powermetrics,
    probe,
    recorded_linux,
    redact,
    sbc_bench,
    sysctl,
    system_profiler,
    vm_stat,
)
from explorer.hardware.readers import Text
from tests.hardware import recorded

PARSERS: list[Callable[[str], object]] = [
    cpu_list.parse,
    ane_tables.of_columns,
    ane_tables.of_paragraphs,
    core_tiers.of_profile,
    neural_engine.engines,
    ioreg.gpu_cores,
    ioreg.gpu_use,
    linux_cpu.parse,
    linux_cpu.board,
    lscpu.parse,
    macmon.parse,
    meminfo.parse,
    memory_pressure.total_bytes,
    nvidia.from_smi_xml,
    powermetrics.parse,
    probe.parse,
    sbc_bench.tiers,
    sysctl.swap_used_bytes,
    system_profiler.gpus,
    system_profiler.hardware,
    system_profiler.memory_type,
    vm_stat.available_bytes,
    lambda text: sysctl.tiers(sysctl.parse(text)),
    lambda text: system_profiler.merged([text, text]),
    lambda text: recorded_linux.flat([text, text]),
    lambda text: redact.redacted(text, redact.Names(["box"], ["jane"])),
    lambda text: cgroup.folders(text, text),
    lambda text: cgroup.limits({"/": dict.fromkeys(cgroup.FILES, text)}),
]
REAL = [
    recorded.text("mac-m4max-sequoia", "sysctl").text,
    recorded.text("mac-m5-macos26", "SPDisplays").text,
    recorded.text("linux-arm-a510-a710-a715-x3", "proc-cpuinfo").text,
    recorded.text("linux-graviton2", "lscpu").text,
    recorded.text("linux-asahi-m1pro", "sbc-bench").text,
    recorded.text("mac-m5pro-or-max-powermetrics", "powermetrics").text,
    recorded.text("mac-m2max-ioreport", "macmon").text,
    recorded.text("mac-m1-bigsur", "system_profiler").text,
    recorded.text("ane-device-identity", "m6-ioreg-ane").text,
    recorded.text("nvidia-gtx-1660-ti", "nvidia-smi").text,
    recorded.text("container-cgroup1-docker", "proc-self-mountinfo").text,
    '{"cuda": {"value": 1, "state": "ok"}}\n',
]
ODD = ["[" * 100_000, "{" * 50_000, "999999999999999999999999:" * 9, "0-999999,5-1:0", "\x00\ufffd", "٣", "²", "hw.memsize: ²"]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A recorded text cut anywhere with something in the cut."""
    text = draw(st.sampled_from(REAL))
    start = draw(st.integers(0, len(text)))
    return text[:start] + draw(st.text(max_size=20)) + text[start + draw(st.integers(0, 200)) :]


@pytest.mark.parametrize("parse", PARSERS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=300) | damaged())
def test_parsers_take_anything(parse: Callable[[str], object], text: str) -> None:
    parse(text)


@pytest.mark.parametrize("parse", PARSERS)
def test_parsers_take_odd_text(parse: Callable[[str], object]) -> None:
    for text in ODD + REAL:
        parse(text)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=200) | damaged())
def test_whole_machines_of_garbage_have_a_reading_or_a_reason(text: str) -> None:
    piece = Text(text, "nothing was printed")
    mac = macos.MacTexts(**{name: piece for name in vars(macos.MacTexts()) if name != "machine"}, machine="arm64")
    paths = [*recorded.sysfs(recorded.text("linux-arm-a510-a710-a715-x3", "sysfs").text), "/sys/devices/cpu_atom/cpus"]
    sysfs, groups = dict.fromkeys(paths, text), {"/": {"memory.max": text}}
    box = linux.LinuxTexts(piece, piece, piece, piece, piece, piece, sysfs, groups)
    for name, reading in {**macos.readings(mac), **linux.readings(box)}.items():
        assert reading.known or reading.reason, name


@pytest.mark.parametrize("reading", sorted(linux.readings(linux.LinuxTexts())) + sorted(macos.readings(macos.MacTexts())))
def test_nothing_read_gives_reasons_not_zeros(reading: str) -> None:
    found = {**macos.readings(macos.MacTexts()), **linux.readings(linux.LinuxTexts())}[reading]
    assert found.value is None
    assert found.reason
