"""What the Hardware screen shows: a machine's readings, its live values and its measured limits; no widget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.schemas.readings import Inventory, Reading
from screens.live import Live, number_of, rows_of
from screens.roofline_rows import Curve, roofs
from screens.text import NONE

if TYPE_CHECKING:
    from explorer.schemas.results import CeilingsResult


@dataclass(frozen=True)
class Usable:
    """Whether programs can compute with a part: yes, no, not known yet or (a dash) not told; `reason` says why not."""

    word: str
    reason: str = ""

    @property
    def style(self) -> str:
        return {"yes": "$success", "denied": "$warning"}.get(self.word, "$muted")


@dataclass
class Machine:
    """One machine. A recorded one (`folder` is set) has neither live values nor limits."""

    inventory: Inventory
    live: Live = field(default_factory=Live)
    ceilings: CeilingsResult | None = None
    folder: str = ""

    def get(self, name: str) -> Reading:
        return self.inventory.get(name)

    @property
    def is_mac(self) -> bool:
        """Whether its GPU is reached through MPS."""
        return self.get("os.name").known and str(self.get("os.name").value).startswith("macOS")

    @property
    def memory_bytes(self) -> float | None:
        """What this process may use: the smaller of the machine's memory and its limit."""
        found = [number_of(self.get(name)) for name in ("memory.total_bytes", "memory.limit_bytes")]
        return min((value for value in found if value is not None), default=None)

    @property
    def published_bytes_per_s(self) -> float | None:
        """The published memory bandwidth; its reading is in GB/s."""
        value = number_of(self.get("memory.bandwidth"))
        return None if value is None else value * 1e9

    def usable(self, part: str) -> Usable:
        """Whether programs here can compute with a part."""
        if part == "cpu":
            return Usable("yes")
        if part == "gpu":
            return self._gpu()
        if part == "ane" and self.get("ane.cores").state == "estimated":
            return Usable(NONE)  # published for the chip, not seen on this machine
        return self._usable(part if part != "ane" else "ane.cores")

    def torch_device(self, part: str) -> str:
        """The name that torch and the measured limits give a part."""
        if part == "gpu":
            return "mps" if self.is_mac else "cuda"
        return part if part in ("cpu", "cuda") else ""

    def roofs(self, part: str) -> list[Curve]:
        """The measured roofs of a part, of the CPU for parts that have none of their own.

        The published bandwidth is that of the machine's memory, which is not the memory of a GPU with its own.
        """
        device = self.torch_device(part) or "cpu"
        return roofs(self.ceilings, device, self.published_bytes_per_s if device != "cuda" else None)

    def _gpu(self) -> Usable:
        """Through MPS on a Mac; elsewhere through CUDA (ROCm says the same) or XPU, when there is a GPU at all."""
        if self.is_mac:
            return self._usable("mps.usable")
        if not rows_of(self.get("gpu")):
            return self._usable("gpu")
        xpu = self._usable("xpu")
        return xpu if xpu.word == "yes" else self._usable("cuda")

    def _usable(self, name: str) -> Usable:
        reading = self.get(name)
        if reading.state == "pending":
            return Usable("asking…", reading.reason)
        if reading.state == "denied":
            return Usable("denied", reading.reason)
        if reading.known and reading.value not in (False, 0, []):
            return Usable("yes")
        # What a recording does not hold is not known to be missing.
        return Usable(NONE if self.folder and reading.state == "absent" else "no", reading.reason or "not read")
