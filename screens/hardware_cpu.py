"""The CPU's page: core tiers, the use of each, and what its instruction sets speed up."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from screens.hardware_readings import LABEL_ROOM, cut, fact, line
from screens.live import levels, number_of, rows_of, spark
from screens.machine import Machine
from screens.result_words import wrapped
from screens.text import NONE, count, memory

CACHES = (("L1d", "l1d_bytes"), ("L2", "l2_bytes"), ("L3", "l3_bytes"))
WIDE = 90


def cpu_rows(machine: Machine, width: int) -> list[Content]:
    """Tiers with their use now, the limit of this process, and every CPU's use."""
    tiers = rows_of(machine.get("cpu.tiers"))
    room = 14 if any(tier.get("max_mhz") for tier in tiers) else 5
    rows = [_tier(machine, tier, width, room) for tier in tiers]
    if not rows:
        rows += fact("cores", machine.get("cpu.tiers"), width)
    limit, logical = number_of(machine.get("cpu.limit")), number_of(machine.get("cpu.logical"))
    if limit is not None and limit != logical:
        found = machine.get("cpu.limit")
        of = f" of {count(logical)}" if logical is not None else ""
        rows += line("limit", f"{limit:g}{of} CPUs, by {found.source or 'the system'}", width)
    each = machine.live.get("cpu.per_core")
    if each.known and isinstance(each.value, list):
        rows += line("each CPU", levels(each.value), width)
    return rows


def _tier(machine: Machine, tier: Mapping[str, object], width: int, room: int) -> Content:
    """Cores and clock of a tier, how busy it is now, and its caches as far as they fit."""
    cores, threads = tier.get("cores"), tier.get("threads")
    name, number = cut(str(tier.get("name") or "cores"), LABEL_ROOM - 1), NONE if cores is None else cores
    clock = tier.get("max_mhz")
    speed = f" × {clock / 1000:.2f} GHz" if isinstance(clock, int | float) else ""
    caches = [_cache(label, tier.get(key)) for label, key in CACHES]
    shared = tier.get("cores_per_l2")
    if caches[1] and isinstance(shared, int) and shared > 1:
        caches[1] += f" for {shared}"
    if threads and threads != cores:
        caches.append(f"{threads} threads")
    words = "  ".join(f"{cache:<12}" for cache in caches if cache)
    first = f"{name:<{LABEL_ROOM}}{f'{number:>2}{speed}':<{room}}"
    return Content.assemble(first, *_tier_now(machine, str(tier.get("name")), wide=width >= WIDE), words)


def _tier_now(machine: Machine, name: str, wide: bool) -> list[str | tuple[str, str]]:
    """Use in percent with its past, and the clock where there is room; nothing before the first sample."""
    live = next((row for row in rows_of(machine.live.get("cpu.per_tier")) if row.get("name") == name), None)
    if live is None:
        return []
    use, mhz = live.get("use"), live.get("mhz")
    busy = f"{use:.0f} %" if isinstance(use, int | float) else NONE
    clock = f"{f'{mhz:,.0f} MHz' if isinstance(mhz, int | float) else '':>10}" if wide else ""
    return [f"{busy:>6} ", (spark(machine.live.past(f"tier:{name}")) if wide else "", "$primary"), f"{clock}  "]


def _cache(name: str, size: object) -> str:
    return f"{name} {memory(size).replace('.0 ', ' ')}" if isinstance(size, int | float) else ""


def speeds_up(machine: Machine, width: int) -> list[Content]:
    """What each instruction set is good for; the bare names where that is not told."""
    uses = rows_of(machine.get("cpu.isa_uses"))
    if not uses:
        return fact("instructions", machine.get("cpu.isa"), width) if "cpu.isa" in machine.inventory.readings else []
    room = max(len(str(row.get("name"))) for row in uses) + 2
    found = []
    for place, row in enumerate(uses):
        label = "speeds up" if place == 0 else ""
        text = Content.assemble(
            (f"{label:<{LABEL_ROOM}}", "$muted"), f"{row.get('name')!s:<{room}}", (f"{row.get('speeds_up')}", "$muted")
        )
        found += wrapped(text, width, " " * (LABEL_ROOM + room))
    return found
