"""`torch.load` for weights: torch's own allowlist, and beyond it only names that make plain values."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explorer.models.allowlist import HARMLESS, is_harmless

# Other versions of numpy and Python have these elsewhere; files name either place.
MOVED = {"numpy.core.multiarray": "numpy._core.multiarray", "__builtin__": "builtins", "pathlib._local": "pathlib"}
RENAMED = {"xrange": "range"}  # what Python 3 calls it; old pickle protocols keep the former name


def load_weights(path: Path, device: str = "cpu") -> Any:
    """What a pickled file holds, loaded with `weights_only=True`; raises what `torch.load` raises."""
    allowed: list[Any] = [*harmless_globals()]
    with torch.serialization.safe_globals(allowed):
        return torch.load(path, map_location=device, weights_only=True)


def harmless_globals() -> list[tuple[Any, str]]:
    """The objects behind the harmless names, each with the name that files give it."""
    dtypes = [f"numpy.dtypes.{name}" for name in dir(np.dtypes) if is_harmless(f"numpy.dtypes.{name}")]
    return [(found, name) for name in sorted({*HARMLESS, *dtypes}) if (found := _object(name)) is not None]


def _object(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(MOVED.get(module, module)), RENAMED.get(attribute, attribute), None)
