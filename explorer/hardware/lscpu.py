"""`lscpu` text: what a recording without /proc and /sys files still tells about a Linux CPU."""

import re
from typing import Any

LINE = re.compile(r"^([A-Z][^:]{0,60}):\s+(.+)$")


def parse(text: str) -> dict[str, Any]:
    """`{logical, cores, model, flags, numa_nodes, tiers}`, each None or empty where not told; one tier per `Model name`."""
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
    tiers = [tier for block in blocks if (tier := _tier({**general, **block}, len(blocks)))]
    name = general.get("Model name", "")
    return {
        "logical": _integer(general.get("CPU(s)")),
        "cores": sum(tier["cores"] for tier in tiers) or None,
        "model": "" if name == "-" else name,
        "flags": general.get("Flags", "").split(),
        "numa_nodes": _integer(general.get("NUMA node(s)")),
        "tiers": tiers[::-1],
    }


def _tier(fields: dict[str, str], count: int) -> dict[str, Any] | None:
    per_socket, sockets = _integer(fields.get("Core(s) per socket")), _integer(fields.get("Socket(s)"))
    if not per_socket:
        return None
    cores = per_socket * (sockets or 1)
    threads = cores * (_integer(fields.get("Thread(s) per core")) or 1)
    if count == 1:
        threads = _integer(fields.get("CPU(s)")) or threads
    name = fields["Model name"] if count > 1 and fields["Model name"] != "-" else "All cores"
    return {"name": name, "cores": cores, "threads": threads, "l1d_bytes": None, "l2_bytes": None}


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,7}", text) else None
