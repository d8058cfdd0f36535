"""Which CPU belongs to which core tier, for live use by tier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

UNTOLD = "the system does not say which CPU belongs to which tier"


@dataclass(frozen=True)
class LiveTiers:
    """Tiers as (name, CPU numbers), fastest first; `guess` says on what an unsure map rests, `reason` why there is none."""

    rows: tuple[tuple[str, tuple[int, ...]], ...] = ()
    guess: str = ""
    reason: str = UNTOLD

    @property
    def cpus(self) -> list[int]:
        """All CPUs in the order in which the system counts them."""
        return sorted(cpu for _, cpus in self.rows for cpu in cpus)


def of_linux(tiers: Sequence[dict[str, Any]]) -> LiveTiers:
    """From the `cpu.tiers` of Linux, which name their CPUs."""
    rows = tuple((str(tier["name"]), tuple(tier.get("cpus") or ())) for tier in tiers)
    return LiveTiers(rows) if rows and all(cpus for _, cpus in rows) else LiveTiers()


def of_mac(tiers: Sequence[dict[str, Any]], cpu_count: int, chip: str) -> LiveTiers:
    """From the tiers of `sysctl`, which counts CPUs but does not number them.

    The efficiency cores have the lowest numbers on every chip of one die with tiers of that name; nothing is known
    of an Ultra (two dies) and of the tiers of an M5 Pro or Max.
    """
    if not tiers or sum(tier["threads"] for tier in tiers) != cpu_count:
        return LiveTiers(reason="the tiers that sysctl counts do not add up to the CPUs")
    if len(tiers) > 1 and (tiers[-1]["name"] != "Efficiency" or "Ultra" in chip):
        return LiveTiers(reason=f"the order of the CPUs of {chip or 'this chip'} is not known")
    rows: list[tuple[str, tuple[int, ...]]] = []
    first = 0
    for tier in reversed(tiers):
        rows.append((str(tier["name"]), tuple(range(first, first + tier["threads"]))))
        first += tier["threads"]
    guess = "macOS does not say which CPU is which: the efficiency cores are taken to come first" if len(tiers) > 1 else ""
    return LiveTiers(tuple(reversed(rows)), guess)
