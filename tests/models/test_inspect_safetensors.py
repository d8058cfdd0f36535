from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from explorer.errors import ExplorerError
from tests.models.files import inspect, safetensors_file


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
    path = safetensors_file(
        tmp_path / "x.safetensors", {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, b"\0" * 10
    )
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
        inspect(safetensors_file(tmp_path / "x.safetensors", header, b"\0" * 16))


def test_header_that_claims_2_to_the_60_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes((1 << 60).to_bytes(8, "little") + b'{"a": 1}')
    with pytest.raises(ExplorerError, match="a header of 1152921504606846976 bytes in a file of 16"):
        inspect(tmp_path / "x.safetensors")


def test_deeply_nested_header(tmp_path: Path) -> None:
    text = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    (tmp_path / "x.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(ExplorerError, match="damaged safetensors header"):
        inspect(tmp_path / "x.safetensors")


def test_every_type_of_the_format_is_known(tmp_path: Path) -> None:
    for name, (dtype, size) in {"F8_E4M3": ("float8_e4m3fn", 4), "F4": ("float4_e2m1fn", 2), "BF16": ("bfloat16", 8)}.items():
        header = {"a": {"dtype": name, "shape": [4], "data_offsets": [0, size]}}
        result = inspect(safetensors_file(tmp_path / "x.safetensors", header, b"\0" * size))
        assert (result.tensors[0].dtype, result.tensors[0].bytes, result.parameters) == (dtype, size, 4)


def test_tensors_that_overlap_or_leave_gaps_are_refused(tmp_path: Path) -> None:
    for first, second in (([0, 16], [8, 24]), ([0, 8], [16, 24])):
        entries = {name: {"dtype": "U8", "shape": [end - start], "data_offsets": [start, end]} for name, (start, end) in
                   {"a": first, "b": second}.items()}  # fmt: skip
        with pytest.raises(ExplorerError, match="overlap or leave gaps"):
            inspect(safetensors_file(tmp_path / "x.safetensors", entries, b"\0" * 24))


def test_prefix_bytes_by_type_and_traces_of_quantization(tmp_path: Path) -> None:
    tensors = {
        "model.fc.qweight": torch.zeros(4, dtype=torch.int32),
        "model.fc.scales": torch.zeros(2, dtype=torch.float16),
        "model.bn.running_mean": torch.zeros(7),
    }
    save_file(tensors, tmp_path / "x.safetensors")
    result = inspect(tmp_path / "x.safetensors")
    assert result.prefixes == ["model."]
    assert result.bytes_by_dtype == {"float32": 28, "int32": 16, "float16": 4}
    assert result.parameters == 6
    assert [finding.title for finding in result.findings] == ["compressed: packed integer weights, as GPTQ and AWQ write them"]


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    header = {"a\x1b[2J": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "__metadata__": {"k": "\x1b]0;x\x07"}}
    result = inspect(safetensors_file(tmp_path / "x.safetensors", header, b"\0"))
    assert "\x1b" not in result.model_dump_json()
    assert result.tensors[0].name == "a\ufffd[2J"
