"""Hand-kept tables of Neural Engines: one machine's `ioreg` values in columns, or a list of machines in paragraphs."""

import plistlib
import re
from dataclasses import dataclass, field

PREFIX = "ANEDeviceProperty"
TITLE = re.compile(r"^# (M\d+(?: Pro| Max| Ultra)?) ioreg", re.MULTILINE)
SYSTEM = re.compile(r"macOS ([\d.]+)(?: / (\w+))?")
ROW = re.compile(r"^\| *(ArchitectureTypeStr|NumANECores) *\|(.+)\|$", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
CHIP = re.compile(r"\b([MA]\d+(?: Pro| Max| Ultra)?)(?![\w,])")
MODEL = re.compile(r"\b(?:Mac|iPhone|iPad)\d+,\d+\b")
KIND = re.compile(r"h[0-9]{1,3}[a-z]?")
ARCHITECTURE = re.compile(r"(?:aneArchitectureType|ane_architecture|ArchitectureTypeStr)\s*=?\s*(h[0-9]{1,3}[a-z]?)")
CORES = re.compile(r"(?:numANECores|ane_cores)\s*=?\s*([0-9]{1,4})")
ENGINES = re.compile(r"numANEs\s*=?\s*([0-9]{1,2})")
BY_CORES = re.compile(r"([0-9]{1,2}) \S+ × ([0-9]{1,4})")  # "2 engines x 16 cores"


@dataclass(frozen=True)
class Identity:
    """One machine: its chip such as "M6", and `(architecture, cores)` of each engine."""

    chip: str = ""
    model: str = ""
    os_version: str = ""
    build: str = ""
    engines: list[tuple[str, int]] = field(default_factory=list)

    @property
    def registry(self) -> str:
        """The same as `ioreg -a` would print it; nothing without an engine."""
        nodes = [
            {"DeviceProperties": {f"{PREFIX}NumANECores": cores, f"{PREFIX}TypeANEArchitectureTypeStr": name}}
            for name, cores in self.engines
        ]
        return plistlib.dumps(nodes).decode() if nodes else ""


def of_columns(text: str) -> Identity:
    """From the table of one machine, an engine a column."""
    title, system = TITLE.search(text), SYSTEM.search(text)
    rows = {name: [cell.strip() for cell in cells.split("|")] for name, cells in ROW.findall(text)}
    pairs = zip(rows.get("ArchitectureTypeStr", []), rows.get("NumANECores", []), strict=False)
    return Identity(
        chip=title[1] if title else "",
        os_version=system[1] if system else "",
        build=(system[2] or "") if system else "",
        engines=[(name, int(cores)) for name, cores in pairs if KIND.fullmatch(name) and re.fullmatch("[0-9]{1,4}", cores)],
    )


def of_paragraphs(text: str) -> list[Identity]:
    """Every machine of a list."""
    parts = HEADING.split(text)[1:]
    return [identity for heading, body in zip(parts[::2], parts[1::2], strict=True) if (identity := _of(heading, body))]


def _of(heading: str, body: str) -> Identity | None:
    chip, model, architecture = CHIP.search(heading), MODEL.search(heading), ARCHITECTURE.search(body)
    if architecture is None:
        return None
    pair, cores, count = BY_CORES.search(body), CORES.search(body), ENGINES.search(body)
    each = int(pair[2]) if pair else int(cores[1]) if cores else 0
    number = int(pair[1]) if pair else int(count[1]) if count else 1
    engines = [(architecture[1], each)] * number if each else []
    return Identity(chip=chip[1] if chip else "", model=model[0] if model else "", engines=engines)
