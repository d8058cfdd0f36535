"""`sysctl` text of macOS: one `key: value` a line."""

import re
from typing import Any

SWAP = re.compile(r"(total|used) = ([\d.]+)([KMG])")
UNIT_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse(text: str) -> dict[str, str]:
    """Every key with its first text; also takes the `key = value` form of older recordings."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, found, value = line.partition(":") if ":" in line else line.partition(" = ")
        if found and key.strip() and " " not in key.strip():
            values.setdefault(key.strip(), value.strip())
    return values


def integer(values: dict[str, str], key: str) -> int | None:
    """A key's whole number, or None when absent or not a number."""
    text = values.get(key, "")
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else None


def tiers(values: dict[str, str]) -> list[dict[str, Any]]:
    """Core tiers, fastest first, as `hw.perflevelN` tells them; one unnamed tier on a system that tells none (macOS 11).

    Each is `{name, cores, threads, l1d_bytes, l2_bytes, l3_bytes, max_mhz, cores_per_l2}`, None where not told. Names pass
    through as the system gives them ("Super", "Performance", "Efficiency", "Standard").
    """
    found = [tier for level in range(8) if (tier := _tier(values, level))]
    if len(found) == 2 and not any(f"hw.perflevel{level}.name" in values for level in range(2)):
        found[0]["name"], found[1]["name"] = "Performance", "Efficiency"
    if len(found) == 1:
        found[0].update({key: value for key, value in _whole(values).items() if found[0][key] is None})
    return found or _one_tier(values)


def _one_tier(values: dict[str, str]) -> list[dict[str, Any]]:
    cores = integer(values, "hw.physicalcpu") or integer(values, "machdep.cpu.core_count")
    threads = integer(values, "hw.logicalcpu") or integer(values, "machdep.cpu.thread_count") or cores
    if not cores:
        return []
    return [{"name": "All cores", "cores": cores, "threads": threads, **_whole(values), "cores_per_l2": None}]


def _whole(values: dict[str, str]) -> dict[str, int | None]:
    """Keys that say no tier: of the slowest one where there are several, so of use where there is one."""
    hertz = integer(values, "hw.cpufrequency_max")  # Intel only
    return {
        "l1d_bytes": integer(values, "hw.l1dcachesize"),
        "l2_bytes": integer(values, "hw.l2cachesize"),
        "l3_bytes": integer(values, "hw.l3cachesize"),
        "max_mhz": round(hertz / 1e6) if hertz else None,
    }


def _tier(values: dict[str, str], level: int) -> dict[str, Any] | None:
    prefix = f"hw.perflevel{level}."
    cores = integer(values, prefix + "physicalcpu")
    if not cores:
        return None
    return {
        "name": values.get(prefix + "name") or f"Level {level}",
        "cores": cores,
        "threads": integer(values, prefix + "logicalcpu") or cores,
        "l1d_bytes": integer(values, prefix + "l1dcachesize"),
        "l2_bytes": integer(values, prefix + "l2cachesize"),
        "l3_bytes": integer(values, prefix + "l3cachesize"),
        "max_mhz": None,
        "cores_per_l2": integer(values, prefix + "cpusperl2"),
    }


def swap_used_bytes(text: str) -> int | None:
    """From `vm.swapusage`: `total = 2048.00M  used = 1024.50M  free = 1023.50M`."""
    return _swap(text).get("used")


def swap_total_bytes(text: str) -> int | None:
    """From `vm.swapusage`; macOS makes swap files as it needs them, so that this grows."""
    return _swap(text).get("total")


def _swap(text: str) -> dict[str, int]:
    try:
        return {name: round(float(number) * UNIT_BYTES[unit]) for name, number, unit in SWAP.findall(text)}
    except (ValueError, OverflowError):
        return {}
