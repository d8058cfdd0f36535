"""/proc/cpuinfo of Linux, on x86 and Arm, one processor a block."""

from dataclasses import dataclass

from explorer.hardware import arm_parts


@dataclass(frozen=True)
class Cpu:
    """One logical CPU; numbers are -1 where the text does not say, `core_name` is empty on x86.

    `package_cores` and `package_threads` count the whole package that it is in (x86 only).
    """

    index: int
    model: str
    core_name: str
    package: int
    core: int
    flags: tuple[str, ...]
    package_cores: int = -1
    package_threads: int = -1


def parse(text: str) -> list[Cpu]:
    """Every processor in the text, in its order; the first block of a number counts."""
    cpus: dict[int, Cpu] = {}
    for block in _blocks(text):
        if (cpu := _cpu(block)) is not None:
            cpus.setdefault(cpu.index, cpu)
    return list(cpus.values())


def board(text: str) -> str:
    """The `Model` line that Arm kernels may end with, or the `Hardware` line of older ones, or nothing."""
    blocks = _blocks(text)
    return next((fields[key] for key in ("Model", "Hardware") for fields in blocks if fields.get(key)), "")


def _blocks(text: str) -> list[dict[str, str]]:
    """Split at `processor`, not at empty lines: some kernels leave those out or share one Features line at the end."""
    blocks: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        key, found, value = line.partition(":")
        key = key.strip()
        if key == "processor" and "processor" in blocks[-1]:
            blocks.append({})
        if found and key:
            blocks[-1].setdefault(key, value.strip())
    return blocks


def _cpu(fields: dict[str, str]) -> Cpu | None:
    index = _integer(fields.get("processor", ""))
    if index is None or index < 0:
        return None
    implementer, part = _integer(fields.get("CPU implementer", "")), _integer(fields.get("CPU part", ""))
    return Cpu(
        index=index,
        model=fields.get("model name", ""),
        core_name=arm_parts.name(implementer, part) if implementer is not None and part is not None else "",
        package=_or_unknown(fields.get("physical id", "")),
        core=_or_unknown(fields.get("core id", "")),
        flags=tuple((fields.get("flags") or fields.get("Features") or "").split()),
        package_cores=_or_unknown(fields.get("cpu cores", "")),
        package_threads=_or_unknown(fields.get("siblings", "")),
    )


def _or_unknown(text: str) -> int:
    number = _integer(text)
    return -1 if number is None else number


def _integer(text: str) -> int | None:
    try:
        return int(text, 0) if len(text) < 20 else None
    except ValueError:
        return None
