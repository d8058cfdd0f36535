"""The CPU of a Linux machine, from the account of the kernel, of lscpu and of sbc-bench, whichever tells most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from explorer.hardware import arm_parts, linux_cpu, linux_topology, lscpu, sbc_bench

KERNEL = "/proc/cpuinfo and sysfs"
FILLED = ("cores", "threads", "l1d_bytes", "l2_bytes", "l3_bytes", "max_mhz")


@dataclass(frozen=True)
class Account:
    """Tiers as one source tells them; `logical` is 0 where it does not tell how many CPUs there are."""

    source: str
    tiers: Sequence[dict[str, Any]]
    logical: int


class Processor:
    """`excerpt` says that the text of /proc/cpuinfo holds only some of the CPUs."""

    def __init__(self, cpuinfo: str, sysfs: Mapping[str, str], summary: str, table: str, excerpt: bool = False) -> None:
        self._sysfs = dict(sysfs)
        self._cpus = linux_cpu.parse(cpuinfo)
        self.summary = lscpu.parse(summary)
        kernel = self._kernel(excerpt)
        accounts = [
            kernel,
            _account("sbc-bench's table", sbc_bench.tiers(table)),
            Account("lscpu", self.summary.tiers, self.summary.logical or 0),
        ]
        best = max(accounts, key=lambda account: (account.logical, len(account.tiers)))
        self.source = best.source
        self.logical = best.logical or None
        self.tiers = [_filled(tier, rank, best, accounts) for rank, tier in enumerate(best.tiers)]
        if self.summary.cores and self.summary.logical == self.logical:
            _share_cores(self.tiers, self.summary.cores)

    @property
    def cores(self) -> int | None:
        counts = [tier["cores"] for tier in self.tiers]
        return sum(counts) if counts and all(counts) else None

    @property
    def numa_nodes(self) -> tuple[int | None, str]:
        """NUMA nodes with CPUs, and what told so."""
        by_files = linux_topology.numa_nodes(self._sysfs)
        return (by_files, "sysfs node") if by_files else (self.summary.numa_nodes, "lscpu")

    @cached_property
    def flags(self) -> list[str]:
        """Flags that every CPU has, so that no tier is promised what only another can do."""
        told = [set(cpu.flags) for cpu in self._cpus if cpu.flags]
        return sorted(set.intersection(*told)) if told else list(self.summary.flags)

    @property
    def matrix_flags(self) -> list[str]:
        """The flags without AMD's `sme`, which is memory encryption: Arm calls its matrix extension so."""
        return [flag for flag in self.flags if not (self.x86 and flag == "sme")]

    @property
    def flags_source(self) -> str:
        return "/proc/cpuinfo" if any(cpu.flags for cpu in self._cpus) else "lscpu"

    @property
    def name(self) -> tuple[str, str]:
        """Model of an x86 processor, or the chip or cores of an Arm one, and what told so."""
        cores = [cpu.core_name for cpu in reversed(self._cpus) if cpu.core_name]
        told = arm_parts.chip(cores) or next((cpu.model for cpu in self._cpus if cpu.model), "")
        return " ".join((told or self.summary.model).split()), "/proc/cpuinfo" if told else "lscpu"

    @property
    def x86(self) -> bool:
        """x86 alone says in its flags whether it is virtual."""
        return "fpu" in self.flags

    def _kernel(self, excerpt: bool) -> Account:
        tiers = linux_topology.tiers(self._sysfs, self._cpus)
        if not excerpt:
            return _account(KERNEL, tiers)
        package = next((cpu for cpu in self._cpus if cpu.package_threads > 0 and cpu.package_cores > 0), None)
        threads = package.package_threads if package else None
        counts = {"cores": package.package_cores if package else None, "threads": threads}
        return Account("/proc/cpuinfo", [{**tier, **counts, "cpus": None} for tier in tiers[:1]], threads or 0)


def _account(source: str, tiers: Sequence[dict[str, Any]]) -> Account:
    return Account(source, tiers, sum(tier["threads"] for tier in tiers))


def _filled(tier: dict[str, Any], rank: int, best: Account, accounts: list[Account]) -> dict[str, Any]:
    """The tier with what only another account of as many tiers tells of it."""
    for account in accounts:
        if account is best or len(account.tiers) != len(best.tiers) or account.logical not in (0, best.logical):
            continue
        twin = next((other for other in account.tiers if other["name"] == tier["name"]), account.tiers[rank])
        tier = {**tier, **{key: twin.get(key) for key in FILLED if tier.get(key) is None and key in tier}}
    return tier


def _share_cores(tiers: list[dict[str, Any]], cores: int) -> None:
    """Cores of tiers whose threads alone are known, when one way only leads to the sum: one tier, or all, have two threads."""
    if any(tier["cores"] for tier in tiers):
        return
    doubled = sum(tier["threads"] for tier in tiers) - cores
    twos = [tier for tier in tiers if tier["threads"] == 2 * doubled]
    if doubled == 0 or len(twos) == 1:
        for tier in tiers:
            tier["cores"] = doubled if tier in twos else tier["threads"]
    elif doubled == cores:
        for tier in tiers:
            tier["cores"] = tier["threads"] // 2
