"""Damaged files: whatever the bytes, the answer is a result or one sentence."""

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file
from torch import nn

from explorer.errors import ExplorerError
from explorer.models import diff, graph, values
from explorer.models.tensor_reader.reading import stored_tensors
from explorer.reporter import QuietReporter
from explorer.schemas.model_specs import DiffSpec, GraphSpec, ValuesSpec

MUTATIONS = 150
STATE = {"w": torch.arange(20.0).reshape(4, 5), "half": torch.ones(3).bfloat16()}


def write_onnx(path: Path) -> None:
    inner = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "inner", [], [helper.make_tensor_value_info("r", 1, None)]
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("If", ["f"], ["z"], then_branch=inner, else_branch=inner),
    ]
    weights = [
        numpy_helper.from_array(np.ones((4, 5), np.float32), "w"),
        helper.make_tensor("t", TensorProto.INT64, [3], [1, -2, 3]),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, ["batch", 4])]
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], weights)), path
    )


def write_gguf(path: Path) -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
    for name, kind, offset in ((b"q", 8, 0), (b"h", 1, 64)):
        head += struct.pack("<Q", 1) + name + struct.pack("<IQIQ", 1, 32, kind, offset)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(128))


WRITERS: dict[str, Callable[[Path], object]] = {
    "a.pt": lambda path: torch.save(STATE, path),
    "legacy.pt": lambda path: torch.save(STATE, path, _use_new_zipfile_serialization=False),
    "a.safetensors": lambda path: save_file(STATE, path),
    "a.pt2": lambda path: torch.export.save(torch.export.export(nn.Linear(3, 2), (torch.ones(1, 3),)), path),
    "a.onnx": write_onnx,
    "a.gguf": write_gguf,
}


def mutated(content: bytes, random_numbers: random.Random) -> bytes:
    """Some bytes changed, or the end cut off, or a number made huge."""
    changed = bytearray(content)
    place = random_numbers.randrange(len(changed))
    kind = random_numbers.random()
    if kind < 0.6:
        for _ in range(random_numbers.choice((1, 2, 5))):
            changed[random_numbers.randrange(len(changed))] = random_numbers.randrange(256)
    elif kind < 0.8:
        del changed[place:]
    else:
        changed[place : place + 8] = random_numbers.choice((b"\xff" * 8, bytes(8), struct.pack("<Q", 1 << 60)))
    return bytes(changed)


@pytest.mark.parametrize("name", list(WRITERS))
def test_damage_is_one_sentence(tmp_path: Path, name: str) -> None:
    sound, broken = tmp_path / name, tmp_path / f"broken-{name}"
    WRITERS[name](sound)
    report = QuietReporter(tmp_path)
    assert values.run(ValuesSpec(source=str(sound)), report).checked == len(stored_tensors(sound))
    numbers, content = random.Random(0), sound.read_bytes()
    for _ in range(MUTATIONS):
        broken.write_bytes(mutated(content, numbers))
        for ask in (
            lambda: values.run(ValuesSpec(source=str(broken)), report),
            lambda: graph.run(GraphSpec(source=str(broken)), report),
            lambda: diff.run(DiffSpec(first=str(sound), second=str(broken)), report),
        ):
            with suppress(ExplorerError):
                ask()
