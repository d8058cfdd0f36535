"""A batch, however it is nested, as tensors on a device."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from explorer.reporter import Reporter

NARROWER = {torch.float64: torch.float32, torch.complex128: torch.complex64}
# NumPy kinds that are numbers or truth values: bool, signed and unsigned integer, float, complex.
NUMERIC_KINDS = "biufc"


class Placer:
    """Walks through nested data and moves each tensor or array with `transfer`; halves 64-bit floats and says so once."""

    def __init__(self, device: str, transfer: Callable[[torch.Tensor], torch.Tensor], report: Reporter) -> None:
        self._device = device
        self._transfer = transfer
        self._report = report
        self._said = False

    def place(self, data: Any) -> Any:
        """`data` with its tensors and arrays on the device, in the same nesting; objects with a method `to` move themselves."""
        if isinstance(data, torch.Tensor):
            return self._tensor(data)
        if isinstance(data, np.ndarray | np.generic):
            return self._tensor(_from_numpy(data)) if data.dtype.kind in NUMERIC_KINDS else data
        if callable(getattr(data, "to", None)):
            return data.to(self._device)
        if isinstance(data, tuple | list):
            return self._sequence(data)
        if isinstance(data, Mapping):
            return {key: self.place(value) for key, value in data.items()}
        return data

    def _sequence(self, data: "tuple[Any, ...] | list[Any]") -> Any:
        values = [self.place(value) for value in data]
        # A named tuple takes its fields one by one.
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        narrower = NARROWER.get(tensor.dtype)
        if narrower is None:
            return self._transfer(tensor)
        if not self._said:
            self._said = True
            self._report.log(f"{_name(tensor.dtype)} data trains as {_name(narrower)}")
        return self._transfer(tensor.to(narrower))


def _from_numpy(array: "np.ndarray[Any, Any] | np.generic") -> torch.Tensor:
    """A tensor over the array's memory, or over a copy where torch cannot share it: read-only, or in another byte order."""
    whole = np.asarray(array)
    native = np.ascontiguousarray(whole, whole.dtype.newbyteorder("=")).reshape(whole.shape)
    return torch.from_numpy(native if native.flags.writeable else native.copy())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
