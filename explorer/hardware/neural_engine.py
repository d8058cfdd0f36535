"""What is known of a Mac's Neural Engine: asked of the registry, else published for the chip. No call tells its use."""

from explorer.hardware import ioreg
from explorer.hardware.answers import estimated, found, known, missing
from explorer.hardware.chips import BY_NAME
from explorer.hardware.readers import Text
from explorer.schemas.readings import Reading

NAMES = ("ane.cores", "ane.engines", "ane.generation", "ane.architecture", "ane.tops")
PRECISION = "published for the chip, precision not stated"


def neural_engine(registry: Text, chip_name: str, virtual: bool) -> dict[str, Reading]:
    """`ane.*` readings: cores of all engines together, number of engines, generation, architecture, published TOPS."""
    engines = ioreg.neural_engines(registry.text)
    chip = BY_NAME.get(chip_name)
    tops = estimated(chip.ane_tops, chip.source, "TOPS", PRECISION) if chip and chip.ane_tops else _unpublished(chip_name)
    if engines:
        architecture = engines[0]["architecture"]
        return {
            "ane.cores": found(sum(engine["cores"] or 0 for engine in engines) or None, "ioreg", "ioreg does not say", "cores"),
            "ane.engines": known(len(engines), "ioreg"),
            "ane.generation": found(architecture[:3].upper(), "ioreg", "ioreg does not say"),
            "ane.architecture": found(architecture, "ioreg", "ioreg does not say"),
            "ane.tops": tops,
        }
    if virtual or chip is None:
        return dict.fromkeys(NAMES, missing(_why_none(chip_name, virtual, registry), "ioreg"))
    silent = missing(registry.reason, "ioreg")
    return {
        "ane.cores": estimated(chip.ane_cores, chip.source, "cores", "published for the chip; ioreg does not show it"),
        "ane.engines": silent,
        "ane.generation": estimated(chip.ane_generation, chip.source, reason="published for the chip; ioreg does not show it"),
        "ane.architecture": silent,
        "ane.tops": tops,
    }


def published_bandwidth(chip_name: str, gpu_cores: int | None) -> Reading:
    """The chip's memory bandwidth as published; no system call tells it."""
    chip = BY_NAME.get(chip_name)
    if chip is None or not chip.bandwidth_gb_s:
        return missing(f"no published figure for {chip_name or 'an unnamed chip'}", unit="GB/s")
    if (value := chip.bandwidth(gpu_cores)) is None:
        variants = " or ".join(str(figure) for figure in chip.bandwidth_gb_s.values())
        return missing(f"{chip_name} has {variants} GB/s, by its number of GPU cores", chip.source, "GB/s")
    return estimated(value, chip.source, "GB/s", "published for the chip")


def _unpublished(chip_name: str) -> Reading:
    return missing(f"no published figure for {chip_name or 'an unnamed chip'}", unit="TOPS")


def _why_none(chip_name: str, virtual: bool, registry: Text) -> str:
    if virtual:
        return "a virtual machine has no Neural Engine"
    return "Intel Macs have no Neural Engine" if chip_name.startswith("Intel") else registry.reason
