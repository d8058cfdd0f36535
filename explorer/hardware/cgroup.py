"""Limits of the Linux control group that this process is in, versions 1 and 2 (kernel Documentation/admin-guide/cgroup-v*)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from explorer.hardware import cpu_list
from explorer.hardware.readers import text_of

FILES = (
    "cpu.max",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpuset.cpus.effective",
    "cpuset.effective_cpus",
    "memory.max",
    "memory.high",
    "memory.current",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "memory.stat",
)
# Version 1 says "no limit" with the largest page-aligned 64-bit number.
UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True)
class Limits:
    """The tightest limits up the tree; None where nothing limits. Groups are named by their folder."""

    cpus: float | None = None
    cpu_group: str = ""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_group: str = ""


def folders(membership: str, mountinfo: str, controller: str = "") -> list[str]:
    """Folders of this process's groups, innermost first, from /proc/self/cgroup and /proc/self/mountinfo.

    With a `controller` such as "memory", only those of its version 1 hierarchy, or else of version 2.
    """
    mounts = _mounts(mountinfo)
    if controller:
        own = [mount for mount in mounts if controller in mount[2]]
        mounts = own or [mount for mount in mounts if "" in mount[2]]
    places: list[str] = []
    for root, mount, controllers in mounts:
        for line in membership.splitlines():
            _, _, rest = line.partition(":")
            names, found, group = rest.partition(":")
            if found and set(names.split(",")) & controllers:
                places += _up_the_tree(root, mount, group)
    return list(dict.fromkeys(places))


def limits(groups: Mapping[str, Mapping[str, str]]) -> Limits:
    """The smallest CPU and memory limits of groups given as `{folder: {file name: text}}`."""
    cpus = [(count, name) for name, files in groups.items() if (count := cpu_count(files)) is not None]
    memory = [(size, name) for name, files in groups.items() if (size := memory_limit_bytes(files)) is not None]
    cpu_limit, cpu_group = min(cpus) if cpus else (None, "")
    memory_limit, memory_group = min(memory) if memory else (None, "")
    return Limits(cpu_limit, cpu_group, memory_limit, memory_used_bytes(groups.get(memory_group, {})), memory_group)


def cpu_count(files: Mapping[str, str]) -> float | None:
    """CPUs that one group may use at once: its quota over its period, or its CPU set when smaller."""
    quota, _, period = files.get("cpu.max", "").strip().partition(" ")
    if not quota:
        quota, period = files.get("cpu.cfs_quota_us", "").strip(), files.get("cpu.cfs_period_us", "").strip()
    share, whole = _integer(quota), _integer(period)
    found = [share / whole] if share and whole else []
    if allowed := cpu_list.parse(files.get("cpuset.cpus.effective", files.get("cpuset.effective_cpus", ""))):
        found.append(float(len(allowed)))
    return min(found, default=None)


def memory_limit_bytes(files: Mapping[str, str]) -> int | None:
    """The hard limit, or the soft one when smaller (above it the kernel slows the group down)."""
    sizes = [_integer(files.get(name, "").strip()) for name in ("memory.max", "memory.high", "memory.limit_in_bytes")]
    return min((size for size in sizes if size and size < UNLIMITED_BYTES), default=None)


def memory_used_bytes(files: Mapping[str, str]) -> int | None:
    """Memory of a group without the file cache that the kernel gives back on demand."""
    used = _integer((files.get("memory.current") or files.get("memory.usage_in_bytes") or "").strip())
    match = re.search(r"^(?:total_)?inactive_file ([0-9]{1,18})$", files.get("memory.stat", ""), re.MULTILINE)
    return None if used is None else max(0, used - (int(match[1]) if match else 0))


def read_groups(proc: Path = Path("/proc/self")) -> dict[str, dict[str, str]]:
    """The files of every group that this process is in; empty outside Linux."""
    names = folders(text_of(proc / "cgroup").text, text_of(proc / "mountinfo").text)
    return {folder: read_group(folder) for folder in names}


def read_group(folder: str, names: Iterable[str] = FILES) -> dict[str, str]:
    """The limit files that exist in one group's folder."""
    return {name: found.text for name in names if (found := text_of(Path(folder) / name))}


def _mounts(mountinfo: str) -> list[tuple[str, str, set[str]]]:
    """(root in the hierarchy, mount point, controllers) of each cgroup mount; version 2 has the one controller ""."""
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        found.append((fields[3], fields[4], {""} if kind[0] == "cgroup2" else set(kind[2].split(","))))
    return found


def _up_the_tree(root: str, mount: str, group: str) -> list[str]:
    """The folder of `group` below a mount of `root` and its parents up to the mount; a group outside it maps to the mount."""
    try:
        inner = PurePosixPath(group).relative_to(root)
    except ValueError:
        inner = PurePosixPath()
    parts = [] if ".." in inner.parts else list(inner.parts)
    return [str(PurePosixPath(mount, *parts[:depth])) for depth in range(len(parts), -1, -1)]


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None
