"""Memory of the process and of the device, against what they may take."""

import time

import psutil

from explorer.hardware import cgroup
from explorer.reporter import Reporter
from explorer.training.accelerator import Accelerator

READ_INTERVAL_S = 1.0


def memory_limit_bytes() -> int:
    """What this process may take: the machine's memory, or its control group's limit when smaller."""
    total = int(psutil.virtual_memory().total)
    limit = cgroup.limits(cgroup.read_groups()).memory_bytes
    return total if limit is None else min(total, limit)


class MemoryWatch:
    """Reads and says `rss_bytes` and `device_bytes` at most once a second; keeps the peaks."""

    def __init__(self, report: Reporter, accelerator: Accelerator) -> None:
        self._report = report
        self._accelerator = accelerator
        self._process = psutil.Process()
        self._limit_bytes = memory_limit_bytes()
        self.peak_rss_bytes: int | None = None
        self.peak_device_bytes: int | None = None
        self.next_s = 0.0

    def read(self, step: int) -> dict[str, float]:
        """Say both at `step`, and give the share of its limit that each takes, by what it is."""
        self.next_s = time.perf_counter() + READ_INTERVAL_S
        rss = int(self._process.memory_info().rss)
        self.peak_rss_bytes = max(rss, self.peak_rss_bytes or 0)
        values, shares = {"rss_bytes": [float(rss)]}, {"this process": rss / self._limit_bytes}
        device = self._accelerator.memory()
        if device is not None:
            self.peak_device_bytes = max(device.allocated_bytes, self.peak_device_bytes or 0)
            values["device_bytes"] = [float(device.allocated_bytes)]
            if device.limit_bytes:
                shares[self._accelerator.name] = device.allocated_bytes / device.limit_bytes
        self._report.metric([step], values)
        return shares
