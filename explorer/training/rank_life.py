"""What every process of a data parallel training keeps to, before torch is there."""

import ctypes
import os
import signal
import sys
import threading
import time

from explorer.errors import ExplorerError
from explorer.schemas.train_spec import TrainSpec

WATCH_INTERVAL_S = 0.25
# As after SIGKILL: whoever could have read the code is gone.
EXIT_ORPHANED = 137
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class PeerGoneError(ExplorerError):
    """Another process of the group is gone: never the cause of a failure, only what the others see of it."""


def end_with_parent(parent: int) -> None:
    """From here on this process leaves, without a word, once the process `parent` that started it is gone.

    Ranks lead their own sessions, so a signal to the worker's group does not reach them.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), name="end-with-parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL_S)
    os._exit(EXIT_ORPHANED)


def shared_device(spec: TrainSpec, platform: str = sys.platform) -> TrainSpec:
    """The spec as processes of a group run it: on a Mac `auto` is the CPU, since nothing joins processes on MPS."""
    if platform == "darwin" and spec.device == "auto":
        return spec.model_copy(update={"device": "cpu"})
    return spec
