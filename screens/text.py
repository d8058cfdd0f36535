"""How numbers are written on every screen: short, with units, and "–" where there is none."""

import math
import os
import time

from explorer.schemas import quantities

NONE = "–"


def count(value: float | None) -> str:
    """A whole number with thousands separators, such as `12,400`."""
    return NONE if value is None or not math.isfinite(value) else f"{value:,.0f}"


def short_count(value: float | None) -> str:
    """A count to three digits with K, M or G, such as `56.1 K`."""
    if value is None or not math.isfinite(value):
        return NONE
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {sign}"
    return f"{value:.0f}"


def bytes_(value: float | None) -> str:
    """Bytes in the decimal units of file systems, such as `269 KB`."""
    if value is None or not math.isfinite(value):
        return NONE
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if abs(value) >= limit:
            return f"{_three_digits(value / limit)} {unit}"
    return f"{value:.0f} B"


def memory(value: float | None) -> str:
    """Bytes of memory in binary units, such as `7.7 GiB`."""
    if value is None or not math.isfinite(value):
        return NONE
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(value) >= 1024**power:
            return f"{_three_digits(value / 1024**power)} {unit}"
    return f"{value:.0f} B"


def rate(value: float | None, unit: str) -> str:
    """A rate in three digits with a prefix, such as `2.94 TFLOP/s`; "s" is a short time, such as `12.0 µs`."""
    return NONE if value is None or not math.isfinite(value) else quantities.quantity(value, unit)


def duration(seconds: float | None) -> str:
    """A span of time, such as `0.3 s`, `41 s`, `3:05`, `2:10:00` or `4 d 02 h`."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return NONE
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24:02d} h"
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share of 0..1 as a percentage, such as `98.1 %`."""
    return NONE if share is None or not math.isfinite(share) else f"{share * 100:.{digits}f} %"


def number(value: float | None) -> str:
    """A measured number to four significant digits; NaN and infinities by name."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def clock(unix_s: float | None) -> str:
    """The local time of day of a Unix time, such as `12:41`."""
    return NONE if unix_s is None else time.strftime("%H:%M", time.localtime(unix_s))


def quantity(value: object, unit: str) -> str:
    """A reading's value with its unit, for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _numeric(value, unit)
    if isinstance(value, list):
        return ", ".join(quantity(item, "") for item in value) or "none"
    if isinstance(value, dict):
        return _named(value)
    return f"{value} {unit}".strip() if value is not None else NONE


def ascii_only() -> bool:
    """Whether the user's locale names an encoding without braille; an unset locale is taken for UTF-8."""
    locale = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    return bool(locale) and "utf" not in locale.lower()


def _numeric(value: float, unit: str) -> str:
    if unit in ("bytes", "B"):
        return memory(value)
    if unit in ("percent", "%"):
        return f"{value:.0f} %"
    if unit in ("share", "ratio"):
        return percent(value)
    text = count(value) if isinstance(value, int) else number(value)
    return f"{text} {unit}".strip()


def _named(value: dict[str, object]) -> str:
    parts = [str(value["name"])] if value.get("name") else []
    for key, item in value.items():
        if key == "name" or item is None:
            continue
        if key.endswith("_bytes") and isinstance(item, int | float):
            parts.append(f"{key.removesuffix('_bytes').replace('_', ' ')} {memory(item)}")
        else:
            parts.append(f"{quantity(item, '')} {key.replace('_', ' ')}")
    return " ".join(parts)


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
