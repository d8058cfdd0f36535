"""Core tiers, caches and NUMA nodes of Linux, from sysfs files given as `{path: text}` and the CPUs of /proc/cpuinfo."""

import re
from dataclasses import dataclass, replace
from typing import Any

from explorer.hardware import arm_parts, cpu_list
from explorer.hardware.linux_cpu import Cpu

CPU_PATH = re.compile(r"/sys/devices/system/cpu/cpu([0-9]{1,6})/(.+)")
POLICY_PATH = re.compile(r"(/sys/devices/system/cpu/cpufreq/policy[0-9]{1,6})/affected_cpus")
NODE_PATH = re.compile(r"/sys/devices/system/node/node[0-9]{1,6}/(cpulist|cpumap)")
CACHE_SIZE = re.compile(r"([0-9]{1,9})([KM]?)")
TOP_SPEED = "cpufreq/cpuinfo_max_freq"
PATTERNS = (
    "devices/system/cpu/cpu[0-9]*/cpu_capacity",
    "devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
    "devices/system/cpu/cpu[0-9]*/regs/identification/midr_el1",
    "devices/system/cpu/cpu[0-9]*/topology/core_id",
    "devices/system/cpu/cpu[0-9]*/topology/physical_package_id",
    "devices/system/cpu/cpu[0-9]*/cache/index*/level",
    "devices/system/cpu/cpu[0-9]*/cache/index*/type",
    "devices/system/cpu/cpu[0-9]*/cache/index*/size",
    "devices/system/cpu/online",
    "devices/system/node/node*/cpulist",
    "devices/cpu_core/cpus",
    "devices/cpu_atom/cpus",
)
# Cores of one kind boost a few percent apart; kinds differ by more (Core Ultra 9 185H: 5.1 and 4.8, 3.8, 2.5 GHz).
SAME_TIER_RATIO = 0.85
RANKS = {1: ("All cores",), 2: ("Performance", "Efficiency"), 3: ("Performance", "Efficiency", "Low-power")}


@dataclass(frozen=True)
class _Place:
    """One logical CPU with what tells its tier apart; `core` is None where nothing says which core it is of."""

    index: int
    kind: str
    speed: int
    khz: int
    core: tuple[int, int] | None
    caches: tuple[tuple[str, int], ...]


def tiers(sysfs: dict[str, str], cpus: list[Cpu], ranked: bool = False) -> list[dict[str, Any]]:
    """Tiers, fastest first; empty when no CPU is known. Each is
    `{name, cores, threads, l1d_bytes, l2_bytes, l3_bytes, max_mhz, cpus}`, None where not told.

    A tier is a kind of core (Arm part, Intel core or atom), split again where its top speeds lie far apart. Arm tiers
    have their part's name; x86 ones, or all where `ranked`, are named by their rank.
    """
    groups: list[list[_Place]] = []
    places = _places(sysfs, cpus)
    for kind in dict.fromkeys(place.kind for place in places):
        groups += _split_by_speed([place for place in places if place.kind == kind])
    groups.sort(key=lambda group: -group[0].speed)
    names = _names(groups, ranked or "/sys/devices/cpu_atom/cpus" in sysfs)
    return [_tier(name, group) for name, group in zip(names, groups, strict=True)]


def numa_nodes(sysfs: dict[str, str]) -> int:
    """NUMA nodes that have CPUs; firmware may show more without any (a Raspberry Pi 5 shows 8)."""
    return sum(1 for path, text in sysfs.items() if (match := NODE_PATH.fullmatch(path)) and _any_cpu(match[1], text))


def _any_cpu(form: str, text: str) -> bool:
    return bool(text.strip("0, \n") if form == "cpumap" else text.strip())


def _names(groups: list[list[_Place]], ranked: bool) -> list[str]:
    kinds = [arm_parts.core(group[0].kind) for group in groups]
    if ranked or not all(kinds):
        return list(RANKS.get(len(groups)) or (f"Tier {rank + 1}" for rank in range(len(groups))))
    twice = {kind for kind in kinds if kinds.count(kind) > 1}
    return [
        f"{kind} {_max_mhz(group)} MHz" if kind in twice and _max_mhz(group) else kind
        for kind, group in zip(kinds, groups, strict=True)
    ]


def _places(sysfs: dict[str, str], cpus: list[Cpu]) -> list[_Place]:
    files = _files(sysfs)
    known = {cpu.index: cpu for cpu in cpus}
    indices = known or dict.fromkeys(cpu_list.parse(sysfs.get("/sys/devices/system/cpu/online", "")) or files)
    atoms = set(cpu_list.parse(sysfs.get("/sys/devices/cpu_atom/cpus", "")))
    speed_file = _speed_file(files)
    places = [_place(index, files.get(index, {}), known.get(index), speed_file) for index in sorted(indices)]
    if not atoms:
        return places
    return [replace(place, kind="atom" if place.index in atoms else "core") for place in places]


def _files(sysfs: dict[str, str]) -> dict[int, dict[str, str]]:
    """Files of each CPU, with the top speed of its frequency policy where that alone has it."""
    files: dict[int, dict[str, str]] = {}
    for path, text in sysfs.items():
        if match := CPU_PATH.fullmatch(path):
            files.setdefault(int(match[1]), {})[match[2]] = text
    for path, text in sysfs.items():
        if (match := POLICY_PATH.fullmatch(path)) and (speed := sysfs.get(f"{match[1]}/cpuinfo_max_freq")):
            for cpu in cpu_list.parse(",".join(text.split())):
                files.setdefault(cpu, {}).setdefault(TOP_SPEED, speed)
    return files


def _speed_file(files: dict[int, dict[str, str]]) -> str:
    """Capacity where the kernel tells CPUs apart by it, else top frequency: all alike (1024) also means "not known"."""
    capacities = {values.get("cpu_capacity", "") for values in files.values()}
    return "cpu_capacity" if len(capacities) > 1 else TOP_SPEED


def _place(index: int, files: dict[str, str], cpu: Cpu | None, speed_file: str) -> _Place:
    package = _integer(files.get("topology/physical_package_id"), cpu.package if cpu else -1)
    core = _integer(files.get("topology/core_id"), cpu.core if cpu else -1)
    return _Place(
        index=index,
        kind=(cpu.core_name if cpu else "") or arm_parts.of_midr(files.get("regs/identification/midr_el1", "")),
        speed=_integer(files.get(speed_file), 0),
        khz=_integer(files.get(TOP_SPEED), 0),
        core=(package, core) if core >= 0 else None,
        caches=tuple(_caches(files)),
    )


def _split_by_speed(places: list[_Place]) -> list[list[_Place]]:
    groups: list[list[_Place]] = []
    for place in sorted(places, key=lambda item: (-item.speed, item.index)):
        if groups and place.speed >= SAME_TIER_RATIO * groups[-1][0].speed:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _tier(name: str, group: list[_Place]) -> dict[str, Any]:
    caches = dict(next((place.caches for place in group if place.caches), ()))
    return {
        "name": name,
        "cores": _cores(group),
        "threads": len(group),
        "l1d_bytes": caches.get("l1d"),
        "l2_bytes": caches.get("l2"),
        "l3_bytes": caches.get("l3"),
        "max_mhz": _max_mhz(group),
        "cpus": sorted(place.index for place in group),
    }


def _cores(group: list[_Place]) -> int | None:
    """Cores by their numbers; without any, one for each CPU on Arm, where a core runs one thread (SMT parts tell numbers)."""
    told = [place.core for place in group if place.core is not None]
    if len(told) == len(group):
        return len(set(told))
    return len(group) if not told and all(place.kind for place in group) else None


def _max_mhz(group: list[_Place]) -> int | None:
    return round(max(place.khz for place in group) / 1000) or None


def _caches(files: dict[str, str]) -> list[tuple[str, int]]:
    """Such as `("l1d", 32768)`, one for each cache of data that tells its size."""
    found = []
    for number in range(8):
        prefix = f"cache/index{number}/"
        size = CACHE_SIZE.fullmatch(files.get(prefix + "size", ""))
        level, kind = files.get(prefix + "level", ""), files.get(prefix + "type", "")
        if size and level and kind != "Instruction":
            name = "l1d" if level == "1" else f"l{level}"
            found.append((name, int(size[1]) << {"": 0, "K": 10, "M": 20}[size[2]]))
    return found


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,12}", text) else default
