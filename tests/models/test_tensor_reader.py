"""Values read from every format against what the library that wrote the file says."""

import json
import struct
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.inspect import run as inspect
from explorer.models.tensor_reader.decoding import Array, all_finite, decoded
from explorer.models.tensor_reader.reading import read_values, stored_tensors
from explorer.models.tensor_reader.stored import CHUNK_ELEMENTS
from explorer.reporter import QuietReporter
from explorer.schemas.specs import InspectSpec

BASE = torch.arange(12.0).reshape(3, 4)
SMALL_FLOATS = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def state() -> dict[str, torch.Tensor]:
    """Every layout of a view, and types that both kinds of torch file hold."""
    return {
        "plain": BASE,
        "transposed": BASE.t(),
        "column": BASE[:, 1],
        "row": BASE[1],
        "expanded": torch.ones(1).expand(2, 5),
        "one": BASE[1:2, 2:3],
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 3),
        "bfloat16": BASE.bfloat16(),
        "half": BASE.half(),
        "double": BASE.double() / 3,
        "bool": BASE > 3,
        "int64": BASE.long() - 5,
        "uint8": BASE.byte(),
        "complex": torch.complex(BASE, -BASE),
        "parameter": nn.Parameter(BASE.clone()),
    }


def newer_state() -> dict[str, torch.Tensor]:
    extra = {str(dtype): BASE.to(dtype) for dtype in SMALL_FLOATS}
    return {**state(), **extra, "uint16": torch.tensor([1, 65_535], dtype=torch.uint16)}


def plain(tensor: torch.Tensor) -> Array:
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype in SMALL_FLOATS else tensor).numpy()


def check(path: Path, expected: dict[str, torch.Tensor]) -> None:
    """Names as the description gives them, whole arrays and pieces."""
    tensors = stored_tensors(path)
    assert [tensor.name for tensor in tensors] == list(expected)
    described = inspect(InspectSpec(source=str(path)), QuietReporter(path.parent)).tensors
    assert [(item.name, item.shape, item.dtype) for item in described] == [
        (tensor.name, list(tensor.shape), tensor.dtype) for tensor in tensors
    ]
    for tensor in tensors:
        wanted = plain(expected[tensor.name])
        np.testing.assert_array_equal(tensor.array(), wanted, err_msg=tensor.name)
        assert tensor.array().shape == wanted.shape
        pieces = [piece.copy() for piece in tensor.chunks()]
        np.testing.assert_array_equal(np.concatenate(pieces) if pieces else wanted.reshape(-1), wanted.reshape(-1))


def test_torch_zip(tmp_path: Path) -> None:
    torch.save(newer_state(), tmp_path / "a.pt")
    check(tmp_path / "a.pt", newer_state())


def test_torch_zip_that_was_packed_again_with_compression(tmp_path: Path) -> None:
    torch.save(state(), tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as old, zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    check(tmp_path / "b.pt", state())


def test_legacy_torch_file(tmp_path: Path) -> None:
    torch.save(state(), tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    check(tmp_path / "a.pt", state())


def test_quantized_tensor_gives_its_stored_integers(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        torch.save({"q": torch.quantize_per_tensor(BASE, 0.5, 3, torch.qint8)}, tmp_path / "a.pt")
    np.testing.assert_array_equal(read_values(tmp_path / "a.pt", "q"), (BASE.numpy() / 0.5 + 3).astype(np.int8))


def test_torchscript_is_read_without_loading(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        torch.jit.save(torch.jit.script(module), tmp_path / "m.pt")
    np.testing.assert_array_equal(read_values(tmp_path / "m.pt", "0.weight"), plain(module.state_dict()["0.weight"]))


class Shifted(nn.Module):
    """Has a weight, a buffer and a lifted constant."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.register_buffer("scale", torch.arange(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.layer(x) * self.scale + torch.tensor([5.0, 6.0])
        return output


def test_exported_program_with_its_constants(tmp_path: Path) -> None:
    module = Shifted()
    torch.export.save(torch.export.export(module, (torch.ones(1, 4),)), tmp_path / "m.pt2")
    names = ("layer.weight", "layer.bias", "scale")
    wanted = {name: module.state_dict()[name] for name in names}
    check(tmp_path / "m.pt2", {**wanted, "lifted_tensor_0": torch.tensor([5.0, 6.0])})


def test_safetensors(tmp_path: Path) -> None:
    wanted = {"b": BASE.bfloat16(), "f": BASE, "h": BASE.half(), "i": BASE.long(), "q": BASE.to(torch.float8_e4m3fn)}
    save_file(wanted, tmp_path / "a.safetensors")
    tensors = {tensor.name: tensor.array() for tensor in stored_tensors(tmp_path / "a.safetensors")}
    assert sorted(tensors) == sorted(wanted)
    for name, values in tensors.items():
        np.testing.assert_array_equal(values, plain(wanted[name]))


def test_shards_are_one_model_and_a_missing_one_is_one_sentence(tmp_path: Path) -> None:
    files = {"first": "m-00001-of-00002.safetensors", "second": "m-00002-of-00002.safetensors"}
    for name, file in files.items():
        save_file({name: BASE}, tmp_path / file)
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 96}, "weight_map": files}))
    for source in (index, tmp_path):
        assert [tensor.name for tensor in stored_tensors(source)] == ["first", "second"]
        np.testing.assert_array_equal(read_values(source, "second"), BASE.numpy())
    (tmp_path / files["second"]).unlink()
    with pytest.raises(ExplorerError, match=r"second: m-00002-of-00002.safetensors is missing"):
        read_values(index, "second")


def test_shard_outside_the_folder_is_refused(tmp_path: Path) -> None:
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "../secret.safetensors"}}))
    with pytest.raises(ExplorerError, match="outside its folder"):
        stored_tensors(index)


def gguf(path: Path, tensors: list[tuple[bytes, list[int], int, bytes]]) -> None:
    head, data = b"", b""
    for name, shape, kind, content in tensors:
        head += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0) + head
    path.write_bytes(head + bytes(-len(head) % 32) + data)


def test_gguf_plain_and_simple_blocks(tmp_path: Path) -> None:
    codes = np.arange(-16, 16, dtype=np.int8)
    nibbles = bytes(low | high << 4 for low, high in zip(range(16), range(15, -1, -1), strict=True))
    gguf(
        tmp_path / "m.gguf",
        [
            (b"half", [3, 4], 1, BASE.half().numpy().tobytes()),
            (b"q8", [1, 32], 8, np.float16(0.5).tobytes() + codes.tobytes()),
            (b"q4", [32], 2, np.float16(2).tobytes() + nibbles),
            (b"q4_K", [256], 12, bytes(144)),
        ],
    )
    np.testing.assert_array_equal(read_values(tmp_path / "m.gguf", "half"), BASE.numpy())
    np.testing.assert_array_equal(read_values(tmp_path / "m.gguf", "q8"), 0.5 * codes.astype(np.float32)[None])
    expected = [*range(-16, 16, 2), *range(14, -18, -2)]
    np.testing.assert_array_equal(read_values(tmp_path / "m.gguf", "q4"), np.array(expected, np.float32))
    with pytest.raises(ExplorerError, match="q4_K is a quantized type"):
        read_values(tmp_path / "m.gguf", "q4_K")


@pytest.mark.parametrize("dtype", [*SMALL_FLOATS[1:], torch.float8_e8m0fnu])
def test_every_code_of_small_floats_as_torch_reads_it(dtype: torch.dtype) -> None:
    codes = torch.arange(256, dtype=torch.uint8)
    name = str(dtype).removeprefix("torch.")
    np.testing.assert_array_equal(decoded(codes.numpy().tobytes(), name, 256), codes.view(dtype).float().numpy())


def test_packed_numbers_lowest_bit_first() -> None:
    assert decoded(bytes([0x21, 0xF8]), "int4", 4).tolist() == [1, 2, -8, -1]
    assert decoded(bytes([0b11100100]), "uint2", 4).tolist() == [0, 1, 2, 3]
    assert decoded(bytes([0b00000101]), "uint1", 3).tolist() == [1, 0, 1]
    assert decoded(bytes([0x7A]), "float4_e2m1fn", 2).tolist() == [-1.0, 6.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e5m2])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_the_cheap_test_finds_one_bad_number(dtype: torch.dtype, bad: float) -> None:
    good = torch.full((99,), 3e4).to(dtype)
    name = str(dtype).removeprefix("torch.")
    assert all_finite(good.view(torch.uint8).numpy().tobytes(), name, 99)
    good[57] = bad
    assert not all_finite(good.view(torch.uint8).numpy().tobytes(), name, 99)


def test_a_sum_that_overflows_is_not_taken_for_infinity() -> None:
    assert all_finite(np.full(10, 3e38, np.float32).tobytes(), "float32", 10)


def test_pieces_are_bounded(tmp_path: Path) -> None:
    torch.save({"w": torch.arange(CHUNK_ELEMENTS * 2 + 3, dtype=torch.float32)}, tmp_path / "a.pt")
    sizes = [piece.size for piece in stored_tensors(tmp_path / "a.pt")[0].chunks()]
    assert sizes == [CHUNK_ELEMENTS, CHUNK_ELEMENTS, 3]


def repacked(path: Path, target: Path, changes: dict[str, bytes]) -> None:
    """The archive with some members replaced."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name.partition("/")[2], old.read(name)))


def test_big_endian_files_are_refused(tmp_path: Path) -> None:
    torch.save({"w": BASE}, tmp_path / "a.pt")
    repacked(tmp_path / "a.pt", tmp_path / "big.pt", {"byteorder": b"big"})
    with pytest.raises(ExplorerError, match="big-endian"):
        stored_tensors(tmp_path / "big.pt")


def test_storage_shorter_than_its_tensor_is_one_sentence(tmp_path: Path) -> None:
    torch.save({"w": BASE}, tmp_path / "a.pt")
    repacked(tmp_path / "a.pt", tmp_path / "short.pt", {"data/0": b"12345678"})
    with pytest.raises(ExplorerError, match="w claims 48 bytes of a storage that holds 8"):
        read_values(tmp_path / "short.pt", "w")


def test_legacy_file_that_ends_early_is_one_sentence(tmp_path: Path) -> None:
    torch.save({"w": BASE}, tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "cut.pt").write_bytes((tmp_path / "a.pt").read_bytes()[:-20])
    with pytest.raises(ExplorerError, match="w cannot be read"):
        read_values(tmp_path / "cut.pt", "w")


def test_huge_view_of_one_number_is_refused_not_unrolled(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(1).expand(1 << 20, 1 << 20)}, tmp_path / "a.pt")
    with pytest.raises(ExplorerError, match="too many to unroll"):
        read_values(tmp_path / "a.pt", "w")


def test_huge_safetensors_shape_is_one_sentence(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 58], "data_offsets": [0, 1 << 60]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
    with pytest.raises(ExplorerError, match="of a storage that holds 64"):
        read_values(tmp_path / "a.safetensors", "w")


def test_pickled_weight_of_an_exported_program_is_not_read(tmp_path: Path) -> None:
    torch.export.save(torch.export.export(Shifted(), (torch.ones(1, 4),)), tmp_path / "m.pt2")
    table = "data/weights/model_weights_config.json"
    with zipfile.ZipFile(tmp_path / "m.pt2") as archive:
        config = json.loads(archive.read(next(name for name in archive.namelist() if name.endswith(table))))
    config["config"]["scale"]["use_pickle"] = True
    repacked(tmp_path / "m.pt2", tmp_path / "p.pt2", {table: json.dumps(config).encode()})
    with pytest.raises(ExplorerError, match="stored as a pickle"):
        read_values(tmp_path / "p.pt2", "scale")


def test_unknown_name_names_one_that_is_there(tmp_path: Path) -> None:
    torch.save({"layer.weight": BASE}, tmp_path / "a.pt")
    with pytest.raises(ExplorerError, match=r"no tensor weight: it has layer\.weight"):
        read_values(tmp_path / "a.pt", "weight")
