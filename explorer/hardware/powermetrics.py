"""`powermetrics` recordings: the property list of `-f plist`, or pieces of its text."""

import plistlib
import re
from dataclasses import dataclass, field
from typing import Any

from explorer.hardware import core_tiers

MAX_MHZ = 20_000
CPU_LINE = re.compile(r"^CPU ([0-9]{1,4}) (?:frequency|\w+ residency):(.*)$|^([A-Z])[0-9]*-Cluster ", re.MULTILINE)
STATE = re.compile(r"([0-9]{3,5}) MHz:")
GPU_LINE = re.compile(r"^GPU (?:HW )?active residency:(.*)$", re.MULTILINE)
HEADERS = {"model": r"Machine model: (\S+)", "build": r"OS version: (\S+)"}


@dataclass(frozen=True)
class Facts:
    """What a tool's output says of a Mac; empty where it does not. `caveat` says what its tiers leave out."""

    chip: str = ""
    model: str = ""
    os_version: str = ""
    build: str = ""
    tiers: list[dict[str, Any]] = field(default_factory=list)
    gpu_mhz: int | None = None
    caveat: str = ""


def parse(text: str) -> Facts:
    """Facts of either form; the tiers' top speeds are the highest states that their cores have."""
    document = _document(text)
    return _of_plist(document) if document else _of_text(text)


def _document(text: str) -> dict[str, Any]:
    try:
        document = plistlib.loads(text.strip("\0\n ").partition("\0")[0].encode(), fmt=plistlib.FMT_XML)
    except Exception:  # the parser raises a dozen classes on what is no property list
        return {}
    return document if isinstance(document, dict) else {}


def _of_plist(document: dict[str, Any]) -> Facts:
    processor = document.get("processor")
    clusters = _dicts(processor, "clusters") or [
        cluster for package in _dicts(processor, "packages") for cluster in _dicts(package, "clusters")
    ]
    rows = [
        (str(cluster.get("name", ""))[:1], [cpu["cpu"] for cpu in _dicts(cluster, "cpus") if _whole(cpu.get("cpu"))], cluster)
        for cluster in clusters
    ]
    return Facts(
        model=str(document.get("hw_model", "")),
        build=str(document.get("kern_osversion", "")),
        tiers=_tiers([(letter, cpus, _top(_states(cluster))) for letter, cpus, cluster in rows if cpus]),
        gpu_mhz=_top(_states(document.get("gpu"))),
    )


def _of_text(text: str) -> Facts:
    """A piece cut from the middle starts without its cluster's name: those CPUs are named by their numbers."""
    rows: list[tuple[str, list[int], int | None]] = []
    letter, seen = "", ""
    for match in CPU_LINE.finditer(text):
        if match[3]:
            letter, seen = match[3], seen + match[3]
        elif rows and rows[-1][0] == letter:
            rows[-1] = (letter, sorted({*rows[-1][1], int(match[1])}), _top([rows[-1][2], *_mhz(match[2])]))
        else:
            rows.append((letter, [int(match[1])], _top(_mhz(match[2]))))
    gpu = GPU_LINE.search(text)
    headers = {name: found[1] for name, pattern in HEADERS.items() if (found := re.search(pattern, text))}
    bare = sorted(set(seen) - {row[0] for row in rows})
    parts = ["the text is cut: it starts within a cluster"] if rows and not rows[0][0] else []
    parts += [f"it names {core_tiers.LETTERS.get(letter, letter)} cores and lists none" for letter in bare]
    tiers = _tiers(rows)
    return Facts(tiers=tiers, gpu_mhz=_top(_mhz(gpu[1])) if gpu else None, caveat="; ".join(parts), **headers)


def _tiers(rows: list[tuple[str, list[int], int | None]]) -> list[dict[str, Any]]:
    """Clusters of one letter are one tier."""
    merged: dict[str, tuple[list[int], int | None]] = {}
    for letter, cpus, mhz in rows:
        before, top = merged.get(letter, ([], None))
        merged[letter] = (sorted({*before, *cpus}), _top([top, mhz]))
    return core_tiers.ranked(
        [core_tiers.tier(_name(letter, cpus), len(cpus), mhz, cpus=cpus) for letter, (cpus, mhz) in merged.items()]
    )


def _name(letter: str, cpus: list[int]) -> str:
    return core_tiers.LETTERS.get(letter, letter) or f"CPUs {cpus[0]}-{cpus[-1]}"


def _dicts(parent: Any, key: str) -> list[dict[str, Any]]:
    items = parent.get(key) if isinstance(parent, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _states(parent: Any) -> list[Any]:
    return [state.get("freq") for state in _dicts(parent, "dvfm_states")]


def _mhz(text: str) -> list[int]:
    return [int(state) for state in STATE.findall(text)]


def _top(values: list[Any]) -> int | None:
    return max((value for value in values if _whole(value) and 0 < value < MAX_MHZ), default=None)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
