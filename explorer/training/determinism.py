"""torch's deterministic mode for the length of a training."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from explorer.errors import ExplorerError

REFUSAL = re.compile(r"(\S+) does not have a deterministic implementation")


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Use deterministic algorithms only, then restore the settings. Raises `ExplorerError` naming an operator without one."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    try:
        yield
    except (RuntimeError, ExplorerError) as error:
        if found := REFUSAL.search(str(error)):
            raise ExplorerError(
                f"operator {found[1]} has no deterministic form on this device",
                "leave deterministic off, or use another operator",
            ) from error
        raise
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn
