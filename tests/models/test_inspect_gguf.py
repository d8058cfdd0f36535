"""GGUF: keys, packed types, arrays that are passed over, split models, and claims that the file does not keep."""

import struct
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.models.gguf_types import BLOCKS
from tests.models.files import gguf_bytes, gguf_text, inspect

TEXT, ARRAY, UINT32, FLOAT32, BOOL = 8, 9, 4, 6, 7


def key(kind: int, value: bytes) -> tuple[int, bytes]:
    return kind, value


KEYS = {
    "general.architecture": key(TEXT, gguf_text("llama")),
    "general.alignment": key(UINT32, struct.pack("<I", 32)),
    "llama.rope.freq_base": key(FLOAT32, struct.pack("<f", 0.5)),
    "flag": key(BOOL, b"\1"),
    "tokenizer.ggml.tokens": key(ARRAY, struct.pack("<IQ", TEXT, 3) + gguf_text("a") + gguf_text("bb") + gguf_text("")),
    "tokenizer.ggml.scores": key(ARRAY, struct.pack("<IQ", FLOAT32, 3) + b"\0" * 12),
}
TENSORS = [("token_embd.weight", [64, 3], 8, 0), ("blk.0.attn_q.weight", [256, 2], 12, 224), ("output_norm.weight", [5], 0, 512)]
DATA = b"\0" * (512 + 20)


def test_keys_shapes_types_and_sizes(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf_bytes(KEYS, TENSORS, DATA))
    result = inspect(path)
    assert (result.format, result.format_name, result.runs_code_on_load) == ("gguf", "GGUF version 3", False)
    assert [(tensor.name, tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors] == [
        ("token_embd.weight", [3, 64], "q8_0", 6 * 34),
        ("blk.0.attn_q.weight", [2, 256], "q4_K", 2 * 144),
        ("output_norm.weight", [5], "float32", 20),
    ]
    assert result.parameters == 192 + 512 + 5
    assert result.bytes_by_dtype == {"q4_K": 288, "q8_0": 204, "float32": 20}
    assert result.metadata == {
        "general.architecture": "llama",
        "general.alignment": 32,
        "llama.rope.freq_base": 0.5,
        "flag": True,
        "tokenizer.ggml.tokens": "3 texts",
        "tokenizer.ggml.scores": "3 float32",
    }
    assert [finding.title for finding in result.findings] == ["compressed: quantized to q4_K, q8_0"]


def test_bits_per_weight_of_the_packed_types() -> None:
    """As llama.cpp documents them."""
    bits = {block.name: block.bytes * 8 / block.elements for block in BLOCKS.values()}
    expected = {"q4_0": 4.5, "q5_0": 5.5, "q8_0": 8.5, "q2_K": 2.625, "q3_K": 3.4375, "q4_K": 4.5, "q5_K": 5.5, "q6_K": 6.5625,
                "iq2_xxs": 2.0625, "iq2_xs": 2.3125, "iq3_xxs": 3.0625, "iq3_s": 3.4375, "iq1_s": 1.5625, "iq1_m": 1.75,
                "iq4_nl": 4.5, "iq4_xs": 4.25, "tq1_0": 1.6875, "tq2_0": 2.0625, "mxfp4": 4.25, "float32": 32}  # fmt: skip
    assert {name: bits[name] for name in expected} == expected


def test_a_type_that_is_not_in_the_table_reaches_to_the_next_tensor(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(gguf_bytes({}, [("a", [64], 99, 0), ("b", [4], 0, 64)], b"\0" * 80))
    assert [(tensor.dtype, tensor.bytes) for tensor in inspect(tmp_path / "m.gguf").tensors] == [
        ("ggml type 99", 64),
        ("float32", 16),
    ]


def test_cut_off_data_says_where_it_should_end(tmp_path: Path) -> None:
    data = gguf_bytes(KEYS, TENSORS, DATA)
    (tmp_path / "m.gguf").write_bytes(data[:-1])
    with pytest.raises(ExplorerError, match=rf"is cut off: its tensors end at byte {len(data)} of {len(data) - 1}"):
        inspect(tmp_path / "m.gguf")


HUGE = struct.pack("<Q", 1 << 60)
DAMAGED = {
    "version 9": gguf_bytes({}, [], version=9),
    "2**60 tensors": b"GGUF" + struct.pack("<I", 3) + HUGE + struct.pack("<Q", 0),
    "2**60 keys": b"GGUF" + struct.pack("<I", 3) + struct.pack("<Q", 0) + HUGE,
    "a key of 2**60 bytes": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + HUGE,
    "a text of 2**60 bytes": gguf_bytes({"k": key(TEXT, HUGE)}, []),
    "an array of 2**60 numbers": gguf_bytes({"k": key(ARRAY, struct.pack("<I", FLOAT32) + HUGE)}, []),
    "an array of 2**60 texts": gguf_bytes({"k": key(ARRAY, struct.pack("<I", TEXT) + HUGE)}, []),
    "a text in an array of 2**60 bytes": gguf_bytes({"k": key(ARRAY, struct.pack("<IQ", TEXT, 1) + HUGE)}, []),
    "arrays in arrays": gguf_bytes({"k": key(ARRAY, struct.pack("<IQ", ARRAY, 1) * 20)}, []),
    "a value of type 77": gguf_bytes({"k": key(77, b"")}, []),
    "an array of type 77": gguf_bytes({"k": key(ARRAY, struct.pack("<IQ", 77, 1))}, []),
    "a thousand dimensions": gguf_bytes({}, [("a", [1] * 1000, 0, 0)]),
    "a size of 2**63": gguf_bytes({}, [("a", [1 << 63], 0, 0)]),
    "half a block": gguf_bytes({}, [("a", [33], 8, 0)], b"\0" * 100),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_header_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ExplorerError, match=r"m\.gguf is cut off or damaged"):
        inspect(tmp_path / "m.gguf")


def test_version_1_and_big_endian_files(tmp_path: Path) -> None:
    old = b"GGUF" + struct.pack("<III", 1, 0, 1) + struct.pack("<I", 1) + b"k" + struct.pack("<II", UINT32, 7)
    big = b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + struct.pack(">Q", 1) + b"k" + struct.pack(">II", UINT32, 7)
    for data in (old, big):
        (tmp_path / "m.gguf").write_bytes(data)
        assert inspect(tmp_path / "m.gguf").metadata == {"k": 7}


def test_a_split_model_lists_its_other_files(tmp_path: Path) -> None:
    keys = {"split.count": key(2, struct.pack("<H", 3)), "split.no": key(2, struct.pack("<H", 0))}
    for number in (1, 3):
        (tmp_path / f"m-0000{number}-of-00003.gguf").write_bytes(gguf_bytes(keys, []))
    result = inspect(tmp_path / "m-00001-of-00003.gguf")
    assert [(file.name, file.bytes is None) for file in result.external_files] == [
        ("m-00002-of-00003.gguf", True),
        ("m-00003-of-00003.gguf", False),
    ]
    assert result.findings[0].title == "the model is split in 3 files, 1 are missing"


def test_long_texts_and_windows_are_crossed(tmp_path: Path) -> None:
    """A vocabulary larger than the reader's window, and a text larger than it keeps."""
    tokens = [f"token {number}" * 20 for number in range(20_000)]
    vocabulary = struct.pack("<IQ", TEXT, len(tokens)) + b"".join(map(gguf_text, tokens))
    keys = {"vocabulary": key(ARRAY, vocabulary), "template": key(TEXT, gguf_text("x" * 100_000)), "last": key(BOOL, b"\0")}
    (tmp_path / "m.gguf").write_bytes(gguf_bytes(keys, [("a", [4], 0, 0)], b"\0" * 16))
    result = inspect(tmp_path / "m.gguf")
    assert result.metadata == {"vocabulary": "20000 texts", "template": "a text of 100000 bytes", "last": False}
    assert result.tensors[0].shape == [4]
