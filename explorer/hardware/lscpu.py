"""`lscpu` text: what a recording without /proc and /sys files still tells about a Linux CPU."""

import re
from dataclasses import dataclass
from typing import Any

from explorer.hardware.linux_topology import RANKS

LINE = re.compile(r"^([A-Z][^:]{0,60}):\s+(.+)$")
CACHE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([KMG])(?:i?B)?(?: \(([0-9]{1,5}) instances?\))?")
UNIT_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
X86_VENDORS = ("GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls")
SHARED_L2 = ("Cortex-A35", "Cortex-A53", "Cortex-A57", "Cortex-A72", "Cortex-A73")
UNNAMED = ("", "-")
UNTOLD = RANKS[1][0]


@dataclass(frozen=True)
class Summary:
    """What lscpu told; None, empty or 0 where it did not. `virtual` is True where it names a hypervisor."""

    logical: int | None = None
    cores: int | None = None
    model: str = ""
    vendor: str = ""
    architecture: str = ""
    virtual: bool | None = None
    flags: tuple[str, ...] = ()
    numa_nodes: int | None = None
    tiers: tuple[dict[str, Any], ...] = ()


def parse(text: str) -> Summary:
    """The summary above the rows of `lscpu -p`; one tier for each `Model name`, fastest first."""
    general, blocks = _fields(text)
    logical = _integer(general.get("CPU(s)"))
    single = len(blocks) == 1
    tiers = [tier for block in reversed(blocks) if (tier := _tier({**general, **block} if single else block, single))]
    tiers.sort(key=lambda tier: -(tier["max_mhz"] or 0))
    if not single and all(tier["name"] == UNTOLD for tier in tiers):
        for tier, name in zip(tiers, RANKS.get(len(tiers), ()), strict=False):
            tier["name"] = name
    cores = [tier["cores"] for tier in tiers if tier["cores"]]
    names = [name for block in blocks if (name := block.get("Model name", "")) not in UNNAMED]
    flags = [set(words.split()) for block in blocks if (words := {**general, **block}.get("Flags"))]
    return Summary(
        logical=logical,
        cores=sum(cores) if len(cores) == len(blocks) else None,
        model=names[0] if single and names else " + ".join(tier["name"] for tier in tiers if tier["name"] in names),
        vendor=general.get("Vendor ID", ""),
        architecture=general.get("Architecture", ""),
        virtual=True if "Hypervisor vendor" in general else None,
        flags=tuple(sorted(set.intersection(*flags))) if flags else (),
        numa_nodes=_integer(general.get("NUMA node(s)")),
        tiers=tuple(tiers),
    )


def _fields(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The first value of every field, and the fields that follow each `Model name` (one empty block without any)."""
    general: dict[str, str] = {}
    blocks: list[dict[str, str]] = []
    for line in text.splitlines():
        if not (match := LINE.match(line)):
            continue
        if match[1] == "Model name":
            blocks.append({})
        general.setdefault(match[1], match[2].strip())
        if blocks:
            blocks[-1].setdefault(match[1], match[2].strip())
    return general, blocks or [{}]


def _tier(fields: dict[str, str], single: bool) -> dict[str, Any] | None:
    cores = _cores(fields)
    per_core = _integer(fields.get("Thread(s) per core")) or 1
    threads = (_integer(fields.get("CPU(s)")) if single else None) or (cores * per_core if cores else None)
    if threads is None:
        return None
    model = fields.get("Model name", "")
    generic = (single and fields.get("Vendor ID", "") in X86_VENDORS) or model in UNNAMED
    caches = _caches(fields, cores, model) if single else {}
    mhz = re.fullmatch(r"([0-9]{1,6})(?:\.[0-9]{1,6})?", fields.get("CPU max MHz", ""))
    return {
        "name": UNTOLD if generic else model,
        "cores": cores,
        "threads": threads,
        "l1d_bytes": caches.get("l1d"),
        "l2_bytes": caches.get("l2"),
        "l3_bytes": caches.get("l3"),
        "max_mhz": round(float(mhz[0])) if mhz else None,
    }


def _cores(fields: dict[str, str]) -> int | None:
    """Cores of all sockets; newer releases count clusters where Arm firmware tells no sockets."""
    for each, group in (("Core(s) per socket", "Socket(s)"), ("Core(s) per cluster", "Cluster(s)")):
        if (cores := _integer(fields.get(each))) and (groups := _integer(fields.get(group))):
            return cores * groups
    return None


def _caches(fields: dict[str, str], cores: int | None, model: str) -> dict[str, int]:
    """Bytes of one L1d, L2 and L3 of a CPU with one kind of core.

    Since 2.37 lscpu prints the sum and the number of instances, since 2.34 the sum alone, and before that one
    instance as `32K`. A sum alone is shared out only where the number is certain: an L1d for every core, an L2 for
    every core but the Arm kinds that share it, an L3 for every socket on Arm.
    """
    private = cores if model not in SHARED_L2 and fields.get("Vendor ID") != "Apple" else None
    meshes = _integer(fields.get("Socket(s)")) if fields.get("Vendor ID") == "ARM" else None
    wanted = {"l1d": ("L1d cache", cores), "l2": ("L2 cache", private), "l3": ("L3 cache", meshes)}
    return {name: size for name, (field, count) in wanted.items() if (size := _instance_bytes(fields.get(field, ""), count))}


def _instance_bytes(text: str, count: int | None) -> int | None:
    match = CACHE.fullmatch(text)
    if match is None:
        return None
    size = float(match[1]) * UNIT_BYTES[match[2]]
    instances = int(match[3]) if match[3] else 1 if text[-1] in "KMG" else count
    if not instances or size % (instances << 10):
        return None  # cores of several kinds have caches of several sizes
    return int(size) // instances


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,7}", text) else None
