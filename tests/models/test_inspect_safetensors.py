import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from explorer.errors import ExplorerError
from tests.models.files import inspect


def written(path: Path, header: object, data: bytes = b"") -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def test_names_shapes_types_and_metadata(tmp_path: Path) -> None:
    tensors = {
        "a": torch.zeros(2, 3, dtype=torch.float16),
        "b": torch.zeros(4, dtype=torch.int64),
        "c": torch.zeros(5, dtype=torch.bool),
    }
    save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    result = inspect(tmp_path / "x.safetensors")
    assert {tensor.name: (tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors} == {
        "a": ([2, 3], "float16", 12),
        "b": ([4], "int64", 32),
        "c": ([5], "bool", 5),
    }
    assert (result.parameters, result.runs_code_on_load, result.metadata) == (10, False, {"format": "pt"})


def test_cut_off_file_says_how_much_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path / "x.safetensors", {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 10)
    with pytest.raises(ExplorerError, match=r"is cut off: its header lists 16 bytes of tensors, it holds 10"):
        inspect(path)


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [1 << 60], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [-4, -1], "data_offsets": [0, 16]}},
        {"a": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}},
        {"a": {"dtype": "F32", "shape": "4"}},
        {"a": 3},
    ],
)
def test_damaged_header_is_one_sentence(tmp_path: Path, header: object) -> None:
    with pytest.raises(ExplorerError, match="damaged safetensors header"):
        inspect(written(tmp_path / "x.safetensors", header, b"\0" * 16))


def test_header_that_claims_2_to_the_60_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes((1 << 60).to_bytes(8, "little") + b'{"a": 1}')
    with pytest.raises(ExplorerError, match="a header of 1152921504606846976 bytes in a file of 16"):
        inspect(tmp_path / "x.safetensors")


def test_deeply_nested_header(tmp_path: Path) -> None:
    text = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ExplorerError, match="damaged safetensors header"):
        inspect(tmp_path / "x.safetensors")
