"""The table of CPUs that sbc-bench prints: cluster, frequency policy, lowest and highest MHz, kind of core."""

import re
from typing import Any

from explorer.hardware import linux_topology
from explorer.hardware.linux_cpu import Cpu

ROW = re.compile(r"^ *([0-9]{1,5}) +[0-9]+ +[0-9]+ +(?:[0-9]+|-) +([0-9]{1,6}|-) +(\S.*)$", re.MULTILINE)
ARM_KIND = re.compile(r"(.+) / r[0-9]+p[0-9]+")
UNNAMED = "-"


def tiers(text: str) -> list[dict[str, Any]]:
    """Tiers as `linux_topology.tiers` gives them. x86 kinds are ranked: "Crestmont" is two tiers of a Core Ultra."""
    sysfs: dict[str, str] = {}
    cpus: list[Cpu] = []
    arm = False
    for row in ROW.finditer(text):
        index, mhz, kind = int(row[1]), row[2], row[3].strip()
        part = ARM_KIND.fullmatch(kind)
        arm = arm or part is not None
        name = part[1] if part else "" if kind == UNNAMED else kind
        cpus.append(Cpu(index, "", name, package=-1, core=-1, flags=()))
        if mhz != UNNAMED:
            sysfs[f"/sys/devices/system/cpu/cpu{index}/{linux_topology.TOP_SPEED}"] = f"{mhz}000"
    found = linux_topology.tiers(sysfs, cpus, ranked=not arm)
    return found if arm else [{**tier, "cores": None} for tier in found]
