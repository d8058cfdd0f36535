"""/proc/cpuinfo of Linux, on x86 and Arm, one processor a block."""

from dataclasses import dataclass

from explorer.hardware import arm_parts


@dataclass(frozen=True)
class Cpu:
    """One logical CPU; `package` and `core` are -1 where the text does not say, `core_name` is empty on x86."""

    index: int
    model: str
    core_name: str
    package: int
    core: int
    flags: tuple[str, ...]


def parse(text: str) -> list[Cpu]:
    """Every processor in the text, in its order."""
    return [cpu for block in _blocks(text) if (cpu := _cpu(block)) is not None]


def board(text: str) -> str:
    """The `Hardware` line that older Arm kernels end with, or nothing."""
    return next((fields["Hardware"] for fields in _blocks(text) if "Hardware" in fields), "")


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
    )


def _or_unknown(text: str) -> int:
    number = _integer(text)
    return -1 if number is None else number


def _integer(text: str) -> int | None:
    try:
        return int(text, 0) if len(text) < 20 else None
    except ValueError:
        return None
