"""Names of Arm cores by the implementer and part of their MIDR register (Arm's and the makers' reference manuals)."""

import re
from collections.abc import Iterable

ARM, FUJITSU, NVIDIA, QUALCOMM, APPLE, AMPERE = 0x41, 0x46, 0x4E, 0x51, 0x61, 0xC0
NAMES = {
    (ARM, 0xD03): "Cortex-A53",
    (ARM, 0xD05): "Cortex-A55",
    (ARM, 0xD07): "Cortex-A57",
    (ARM, 0xD08): "Cortex-A72",
    (ARM, 0xD09): "Cortex-A73",
    (ARM, 0xD0A): "Cortex-A75",
    (ARM, 0xD0B): "Cortex-A76",
    (ARM, 0xD0C): "Neoverse-N1",
    (ARM, 0xD0D): "Cortex-A77",
    (ARM, 0xD40): "Neoverse-V1",
    (ARM, 0xD41): "Cortex-A78",
    (ARM, 0xD44): "Cortex-X1",
    (ARM, 0xD46): "Cortex-A510",
    (ARM, 0xD47): "Cortex-A710",
    (ARM, 0xD48): "Cortex-X2",
    (ARM, 0xD49): "Neoverse-N2",
    (ARM, 0xD4D): "Cortex-A715",
    (ARM, 0xD4E): "Cortex-X3",
    (ARM, 0xD4F): "Neoverse-V2",
    (ARM, 0xD80): "Cortex-A520",
    (ARM, 0xD81): "Cortex-A720",
    (ARM, 0xD82): "Cortex-X4",
    (ARM, 0xD84): "Neoverse-V3",
    (ARM, 0xD85): "Cortex-X925",
    (ARM, 0xD87): "Cortex-A725",
    (ARM, 0xD8E): "Neoverse-N3",
    (FUJITSU, 0x001): "A64FX",
    (NVIDIA, 0x004): "Carmel",
    (QUALCOMM, 0x001): "Oryon",
    (APPLE, 0x022): "Icestorm (M1)",
    (APPLE, 0x023): "Firestorm (M1)",
    (APPLE, 0x024): "Icestorm (M1 Pro)",
    (APPLE, 0x025): "Firestorm (M1 Pro)",
    (APPLE, 0x028): "Icestorm (M1 Max)",
    (APPLE, 0x029): "Firestorm (M1 Max)",
    (APPLE, 0x032): "Blizzard (M2)",
    (APPLE, 0x033): "Avalanche (M2)",
    (APPLE, 0x034): "Blizzard (M2 Pro)",
    (APPLE, 0x035): "Avalanche (M2 Pro)",
    (APPLE, 0x038): "Blizzard (M2 Max)",
    (APPLE, 0x039): "Avalanche (M2 Max)",
    (AMPERE, 0xAC3): "Ampere-1",
    (AMPERE, 0xAC4): "Ampere-1a",
}

OF_CHIP = re.compile(r"(.+) \((M\d[^)]*)\)")


def name(implementer: int, part: int) -> str:
    """The core's name, or its numbers when this table does not know it."""
    return NAMES.get((implementer, part), f"Arm core {implementer:#04x}:{part:#05x}")


def of_midr(text: str) -> str:
    """The core's name from the text of `regs/identification/midr_el1`; nothing when it is no such number."""
    if not re.fullmatch(r"0x[0-9a-f]{8,16}", text):
        return ""
    register = int(text, 16)
    return name(register >> 24 & 0xFF, register >> 4 & 0xFFF)


def core(full_name: str) -> str:
    """The core's name without its chip: "Icestorm (M1)" as "Icestorm"."""
    match = OF_CHIP.fullmatch(full_name)
    return match[1] if match else full_name


def chip(full_names: Iterable[str]) -> str:
    """The Apple chip that these cores are of, or the cores' names together, such as "Cortex-X3 + Cortex-A510"."""
    names = list(dict.fromkeys(full_names))
    chips = {match[2] for item in names if (match := OF_CHIP.fullmatch(item))}
    return f"Apple {chips.pop()}" if len(chips) == 1 else " + ".join(names)
