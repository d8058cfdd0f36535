"""What is known of a Mac's Neural Engine: asked of the registry, else published for the chip. No call tells its use."""

import re
from dataclasses import dataclass
from typing import Any

from explorer.hardware import ioreg
from explorer.hardware.answers import estimated, found, known, missing
from explorer.hardware.chips import BY_NAME, Chip
from explorer.hardware.readers import Text
from explorer.schemas.readings import Reading

NAMES = (
    *("ane.cores", "ane.engines", "ane.generation", "ane.architecture"),
    *("ane.version", "ane.board", "ane.tops"),
)
PRECISION = "published for the chip, precision not stated"
PUBLISHED = "published for the chip; ioreg does not show it"
SILENT = "ioreg does not say"
PREFIX = "ANEDeviceProperty"
GENERATION = re.compile(r"[hH]\d{1,3}")


@dataclass(frozen=True)
class Engine:
    """One Neural Engine as its driver registers it; "h16g" is generation H16, variant g."""

    cores: int | None
    architecture: str
    version: str
    board: int | None


def engines(text: str) -> list[Engine]:
    """Nodes of class H11ANEIn, one an engine: every chip so far has that class, and an M6 has two such nodes."""
    properties = [node["DeviceProperties"] for node in ioreg.nodes(text) if isinstance(node.get("DeviceProperties"), dict)]
    return [_engine(item) for item in properties if f"{PREFIX}NumANECores" in item]


def neural_engine(registry: Text, chip_name: str, virtual: bool) -> dict[str, Reading]:
    """`ane.*` readings: cores of all engines together, number of engines, what they are, and the published TOPS."""
    nodes, chip = engines(registry.text), BY_NAME.get(chip_name)
    if nodes:
        return {**_of_registry(nodes, chip), "ane.tops": _tops(chip, chip_name)}
    if virtual or chip is None:
        return dict.fromkeys(NAMES, missing(_why_none(chip_name, virtual, registry), "ioreg"))
    return {**_published(chip, registry), "ane.tops": _tops(chip, chip_name)}


def published_bandwidth(chip_name: str, gpu_cores: int | None) -> Reading:
    """The chip's memory bandwidth as published; no system call tells it."""
    chip = BY_NAME.get(chip_name)
    if chip is None or not chip.bandwidth_gb_s:
        return missing(f"no published figure for {chip_name or 'an unnamed chip'}", unit="GB/s")
    if (value := chip.bandwidth(gpu_cores)) is None:
        variants = " or ".join(str(figure) for figure in chip.bandwidth_gb_s.values())
        return missing(f"{chip_name} has {variants} GB/s, by its number of GPU cores", chip.source, "GB/s")
    return estimated(value, chip.source, "GB/s", "published for the chip")


def _engine(properties: dict[str, Any]) -> Engine:
    version, minor = (properties.get(f"{PREFIX}{name}") for name in ("ANEVersion", "ANEMinorVersion"))
    return Engine(
        cores=_integer(properties.get(f"{PREFIX}NumANECores")),
        architecture=str(properties.get(f"{PREFIX}TypeANEArchitectureTypeStr", "")),
        version=".".join(str(part) for part in (version, minor) if _integer(part) is not None),
        board=_integer(properties.get(f"{PREFIX}ANEHWBoardType")),
    )


def _of_registry(nodes: list[Engine], chip: Chip | None) -> dict[str, Reading]:
    first = nodes[0]
    generation = GENERATION.match(first.architecture)
    cores = sum(node.cores or 0 for node in nodes) or None
    remark = chip.remark if chip else ""
    return {
        "ane.cores": known(cores, "ioreg", "cores", remark) if cores else missing(SILENT, "ioreg", "cores"),
        "ane.engines": known(len(nodes), "ioreg", "engines"),
        "ane.generation": found(generation[0].upper() if generation else "", "ioreg", SILENT),
        "ane.architecture": found(first.architecture, "ioreg", SILENT),
        "ane.version": found(first.version, "ioreg", SILENT),
        "ane.board": found(first.board, "ioreg", SILENT),
    }


def _published(chip: Chip, registry: Text) -> dict[str, Reading]:
    silent = missing(_silence(registry), "ioreg")
    return {
        "ane.cores": estimated(chip.ane_cores, chip.source, "cores", _joined(PUBLISHED, chip.remark)),
        "ane.engines": silent,
        "ane.generation": estimated(chip.ane_generation, chip.source, reason=PUBLISHED),
        **dict.fromkeys(("ane.architecture", "ane.version", "ane.board"), silent),
    }


def _tops(chip: Chip | None, chip_name: str) -> Reading:
    if chip and chip.ane_tops:
        return estimated(chip.ane_tops, chip.source, "TOPS", PRECISION)
    reason = f"no published figure for {chip_name or 'an unnamed chip'}"
    return missing(_joined(reason, chip.remark if chip else ""), unit="TOPS")


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _why_none(chip_name: str, virtual: bool, registry: Text) -> str:
    if virtual:
        return "a virtual machine has no Neural Engine"
    return "Intel Macs have no Neural Engine" if chip_name.startswith("Intel") else _silence(registry)


def _silence(registry: Text) -> str:
    return "ioreg shows no Neural Engine" if registry else registry.reason


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
