"""Makers of model files, sound and broken, for the tests of this folder."""

import io
import json
import os
import pickle
import struct
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from explorer.models.inspect import run
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import InspectResult
from explorer.schemas.specs import InspectSpec


class Net(nn.Module):
    """4 x 3 weights, 4 biases, a tied copy of the weights and a buffer of 2."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(3, 4, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.first(x) + self.second(x)
        return output


class Evil:
    """Its pickle calls os.system when loaded."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def inspect(path: Path) -> InspectResult:
    return run(InspectSpec(source=str(path)), QuietReporter(path.parent))


def pickled(value: object, protocol: int = 2) -> bytes:
    stream = io.BytesIO()
    pickle.Pickler(stream, protocol).dump(value)
    return stream.getvalue()


def safetensors_file(path: Path, header: object, data: bytes = b"") -> Path:
    """A file of any header, sound or not."""
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    """A protocol buffer field of bytes, text or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def gguf_text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_bytes(
    keys: dict[str, tuple[int, bytes]], tensors: list[tuple[str, list[int], int, int]], data: bytes = b"", version: int = 3
) -> bytes:
    """A GGUF file: keys as (type, value bytes), tensors as (name, dimensions as ggml has them, type, offset)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for key, (kind, value) in keys.items():
        out += gguf_text(key) + struct.pack("<I", kind) + value
    for name, shape, kind, offset in tensors:
        out += gguf_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
    return out + b"\0" * (-len(out) % 32) + data


def torchscript(path: Path) -> Path:
    """`Net` as a traced archive."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(Net(), torch.ones(1, 3))  # type: ignore[no-untyped-call]
        torch.jit.save(traced, path)
    return path


def exported(path: Path) -> Path:
    """`Net` as a .pt2 archive with a free batch dimension."""
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(Net(), (torch.ones(2, 3),), dynamic_shapes={"x": {0: batch}})
    torch.export.save(program, path)
    return path
