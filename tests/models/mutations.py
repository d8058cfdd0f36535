"""Samples of every format, and seeded damage to them."""

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
from safetensors.torch import save

from tests.models.files import Evil, Net, exported, field, gguf_bytes, gguf_text, integer_field, pickled, torchscript
from tests.models.test_inspect_onnx import small_model

TELLING = (
    b"\xff" * 4,
    b"\xff" * 8,
    b"\0" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\x80" * 9,
    b"..",
    b"R",
    b"\x80\x02",
    b"{",
    b"[",
    b"-1",
    b"1e999",
)


def saved(value: object, zipped: bool = True) -> bytes:
    stream = io.BytesIO()
    torch.save(value, stream, _use_new_zipfile_serialization=zipped)
    return stream.getvalue()


def checkpoint(marker: Path) -> dict[str, object]:
    """A model, an optimizer, plain values, and an object that would run a command."""
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "net": net, "evil": Evil(marker)}


def external_model() -> bytes:
    model = small_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    tensor.external_data.add(key="offset", value="16")
    data: bytes = model.SerializeToString()
    return data


def network() -> bytes:
    """A Core ML neural network of a convolution and of a branch with a layer inside."""
    weights = field(1, struct.pack("<12f", *range(12)))
    convolution = integer_field(1, 4) + integer_field(2, 3) + integer_field(20, 1) + integer_field(20, 1) + field(90, weights)
    inner = field(1, field(1, b"inner") + field(250, field(2, weights)))
    layers = field(1, field(1, b"conv") + field(100, convolution)) + field(1, field(1, b"if") + field(605, field(1, inner)))
    port = field(1, b"x") + field(3, field(5, integer_field(1, 3) + integer_field(2, 65568)))
    return integer_field(1, 4) + field(2, field(1, port) + field(10, port)) + field(500, layers)


def program() -> bytes:
    """A Core ML ML Program of one const in a weight file."""
    dimension = field(3, field(1, integer_field(1, 4)))
    kind = field(2, field(1, integer_field(1, 11) + integer_field(2, 1) + dimension))
    place = field(5, field(1, b"@model_path/weights/weight.bin") + integer_field(2, 64))
    attribute = field(5, field(1, b"val") + field(2, kind + place))
    operation = field(3, field(1, b"const") + field(3, field(1, b"w")) + attribute)
    block = field(3, field(1, b"CoreML8") + field(2, operation))
    return integer_field(1, 9) + field(502, field(2, field(1, b"main") + field(2, block)))


def gguf() -> bytes:
    keys = {
        "general.alignment": (4, struct.pack("<I", 32)),
        "tokens": (9, struct.pack("<IQ", 8, 3) + gguf_text("a") + gguf_text("bb") + gguf_text("")),
        "nested": (9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 5, 2) + b"\0" * 8),
    }
    return gguf_bytes(keys, [("w", [64, 3], 8, 0), ("b", [5], 0, 224)], b"\0" * 244)


SAMPLES: dict[str, Callable[[Path], bytes]] = {
    "torch_zip": lambda folder: saved(checkpoint(folder / "ran")),
    "torch_legacy": lambda folder: saved(checkpoint(folder / "ran"), zipped=False),
    "pickle": lambda folder: pickled(checkpoint(folder / "ran"), 4),
    "torchscript": lambda folder: torchscript(folder / "sample").read_bytes(),
    "exported_program": lambda folder: with_member(exported(folder / "sample.pt2"), saved({"evil": Evil(folder / "ran")})),
    "safetensors": lambda folder: save({"a": torch.zeros(20, 30), "b": torch.zeros(4)}, metadata={"format": "pt"}),
    "sharded": lambda folder: json.dumps(
        {"metadata": {"total_size": 4}, "weight_map": {"a": "x.safetensors", "b": "y"}}
    ).encode(),
    "onnx": lambda folder: small_model().SerializeToString(),
    "onnx with external data": lambda folder: external_model(),
    "mlmodel": lambda folder: network(),
    "ml program": lambda folder: program(),
    "gguf": lambda folder: gguf(),
}


def with_member(path: Path, data: bytes) -> bytes:
    """The archive with sample inputs that name a command."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    root = next(iter(members)).partition("/")[0]
    return zipped({**members, f"{root}/data/sample_inputs/model.pt": data})


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Damaged bytes; half of the archives are damaged inside a member, so that checksums do not catch it."""
    if data.startswith(b"PK") and chance.random() < 0.5:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = chance.choice([name for name in members if members[name]])
        return zipped({**members, name: damaged(members[name], chance)})
    return damaged(data, chance)


def damaged(data: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(out) + 1)
        match chance.randrange(6):
            case 0:
                out[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                out[place : place + 8] = chance.choice(TELLING)
            case 2:
                out[place:place] = chance.choice(TELLING)
            case 3:
                del out[place : place + chance.randint(1, 16)]
            case 4:
                start = chance.randrange(len(out) + 1)
                out[place:place] = out[start : start + chance.randint(1, 64)]
            case _:
                if place < len(out):
                    out[place] ^= 1 << chance.randrange(8)
    return bytes(out[: chance.randrange(len(out) + 1)] if chance.random() < 0.1 else out)
