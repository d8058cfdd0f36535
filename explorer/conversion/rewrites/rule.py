"""What a replacement is: the functions of torch that it stands in for, and what it computes instead."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

Target = Literal["onnx", "coreml"]
Function = Callable[..., Any]
BOTH: tuple[Target, ...] = ("onnx", "coreml")
COREML: tuple[Target, ...] = ("coreml",)


class Constants(nn.Module):
    """Tensors that replacements need, such as the matrix of a resize: made in one plain run, then held as buffers.

    While a graph is captured nothing new can be made, so a replacement that needs more is left out there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.recording = True

    def get(self, key: str, make: Callable[[], Tensor]) -> Tensor | None:
        """The constant of that key (a name without dots), or None where it cannot be made."""
        if self.recording and key not in self._buffers:
            self.register_buffer(key, make().detach().contiguous())
        return self._buffers.get(key)


@dataclass(frozen=True)
class Rule:
    """`replace` takes the constants and a call's arguments and gives its result, or `NotImplemented` to let the call be.

    `words` say what is replaced by what, with the public report.
    """

    functions: tuple[Function, ...]
    words: str
    replace: Callable[..., Any]
    targets: tuple[Target, ...] = COREML


def fixed(size: Any) -> int | None:
    """The size as a number, or None where a capture keeps it open."""
    return None if isinstance(size, torch.SymInt) else int(size)
