"""The clock of the CPUs now, where the system really tells it.

Linux: `cpufreq/scaling_cur_freq` in kHz (kernel Documentation/admin-guide/pm/cpufreq.rst). The "cpu MHz" of /proc/cpuinfo is
left alone: in a virtual machine it is a constant. macOS: root (powermetrics) or the private IOReport only, and
psutil.cpu_freq() is 1000 times too small on M4 and raises on M5 (psutil issues 2642 and 2841).
"""

from pathlib import Path

from explorer.hardware.live_tiers import LiveTiers
from explorer.hardware.readers import text_of

SOURCE = "cpufreq scaling_cur_freq"
NOT_ON_MAC = "macOS tells the clock of the CPUs to root only"
# Kernels before 5.18 take up to 20 ms for one CPU of x86, so a large machine is asked in part.
MAX_ASKED_IN_TIER = 16


class LinuxClock:
    """Clocks by CPU number, from the cpufreq files that exist below `root`."""

    def __init__(self, tiers: LiveTiers, root: Path = Path("/sys"), virtual: bool = False) -> None:
        self._files = {cpu: path for cpu in _asked(tiers) if (path := _file(root, cpu)).exists()}
        self.no_clock = f"this system shows no clock: {'virtual machine' if virtual else 'no cpufreq'}"
        self.caveat = f"mean of {len(self._files)} of {len(tiers.cpus)} CPUs" if len(self._files) < len(tiers.cpus) else ""

    def mhz(self) -> dict[int, float]:
        """MHz of each CPU that tells one now."""
        texts = {cpu: text_of(path).text.strip() for cpu, path in self._files.items()}
        return {cpu: int(text) / 1000 for cpu, text in texts.items() if text.isascii() and text.isdigit() and int(text) > 0}


class NoClock:
    """A system that tells no clock."""

    def __init__(self, reason: str) -> None:
        self.no_clock = reason
        self.caveat = ""

    def mhz(self) -> dict[int, float]:
        """Nothing."""
        return {}


def _asked(tiers: LiveTiers) -> list[int]:
    """Every CPU of a small tier, evenly spread ones of a large tier."""
    asked: list[int] = []
    for _, cpus in tiers.rows:
        step = -(-len(cpus) // MAX_ASKED_IN_TIER)
        asked += cpus[:: max(1, step)]
    return asked


def _file(root: Path, cpu: int) -> Path:
    return root / f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
