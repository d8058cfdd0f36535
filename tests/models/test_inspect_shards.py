"""Models in several files: the index against the headers in both directions, and folders of Hugging Face's libraries."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from explorer.errors import ExplorerError
from explorer.schemas.model_results import InspectResult
from tests.models.files import inspect

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of two tensors each, with an index and a configuration."""
    save_file({"model.a": torch.zeros(2, 3), "model.b": torch.zeros(4)}, tmp_path / FIRST, metadata={"format": "pt"})
    save_file({"model.c": torch.zeros(5), "model.d": torch.zeros(6)}, tmp_path / SECOND)
    write_index(tmp_path, {"model.a": FIRST, "model.b": FIRST, "model.c": SECOND, "model.d": SECOND})
    config = {"model_type": "toy", "architectures": ["ToyModel"], "hidden_size": 8, "nested": {"x": 1}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    return tmp_path


def write_index(folder: Path, places: dict[str, Any], total: int = 84) -> Path:
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": places}))
    return path


def titles(result: InspectResult) -> list[str]:
    return [finding.title for finding in result.findings]


def test_index_and_folder_describe_all_files_as_one_model(folder: Path) -> None:
    by_index, by_folder = inspect(folder / "model.safetensors.index.json"), inspect(folder)
    for result in (by_index, by_folder):
        assert [tensor.name for tensor in result.tensors] == ["model.a", "model.b", "model.c", "model.d"]
        assert (result.parameters, result.prefixes, result.findings) == (21, ["model."], [])
        assert [file.name for file in result.external_files] == [FIRST, SECOND]
        assert not result.runs_code_on_load
    assert by_index.format_name == "safetensors in 2 files"
    assert (by_folder.format, by_folder.format_name) == ("hub_folder", "toy folder, safetensors in 2 files")
    assert (by_folder.metadata["hidden_size"], by_folder.metadata["architectures"]) == (8, ["ToyModel"])


def test_a_missing_file_says_how_many_tensors_are_in_it(folder: Path) -> None:
    (folder / SECOND).unlink()
    result = inspect(folder)
    assert titles(result) == [f"{SECOND} is missing, with 2 tensors"]
    assert [file.bytes for file in result.external_files] == [(folder / FIRST).stat().st_size, None]


def test_an_index_that_names_what_no_file_holds_is_stale(folder: Path) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": FIRST, "model.c": SECOND, "model.d": SECOND, "model.old": SECOND})
    assert titles(inspect(folder)) == ["the index is stale: no file holds model.old"]


def test_a_tensor_that_the_index_does_not_name(folder: Path) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": FIRST, "model.c": SECOND})
    assert titles(inspect(folder)) == ["the files hold tensors that the index does not name: model.d"]


def test_a_tensor_in_another_file_than_the_index_says(folder: Path) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": SECOND, "model.c": SECOND, "model.d": SECOND})
    assert titles(inspect(folder)) == ["the index looks in the wrong file for model.b"]


def test_the_same_tensor_in_two_files(folder: Path) -> None:
    save_file({"model.c": torch.zeros(5), "model.d": torch.zeros(6), "model.a": torch.zeros(2, 3)}, folder / SECOND)
    assert "several files hold model.a" in titles(inspect(folder))


def test_another_total_than_the_files_hold(folder: Path) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": FIRST, "model.c": SECOND, "model.d": SECOND}, total=100)
    assert titles(inspect(folder)) == ["the index claims 100 bytes of tensors, the files hold 84"]


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "x/../../y.safetensors"])
def test_a_file_outside_the_folder_is_not_opened(folder: Path, name: str) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": FIRST, "model.c": name, "model.d": name})
    result = inspect(folder)
    assert f"the index names a file outside its folder: {name}" in titles(result)
    assert [file.bytes for file in result.external_files][1] is None


def test_circles_are_not_followed(folder: Path) -> None:
    index = write_index(folder, {"model.a": "model.safetensors.index.json", "model.b": "other.index.json", "model.c": "loop.bin"})
    shutil.copy(index, folder / "other.index.json")
    os.symlink(index, folder / "loop.bin")
    (folder / "sub").mkdir()
    found = titles(inspect(index))
    assert found[:2] == [
        "the index names an index as a shard: model.safetensors.index.json",
        "the index names an index as a shard: other.index.json",
    ]
    assert found[2].endswith("loop.bin is an index or a folder, not a file of weights")


def test_one_file_under_two_names(folder: Path) -> None:
    write_index(folder, {"model.a": FIRST, "model.b": f"./{FIRST}", "model.c": SECOND, "model.d": SECOND})
    assert f"the index names {FIRST} twice, as {FIRST} and ./{FIRST}" in titles(inspect(folder))


def test_a_damaged_shard_is_a_finding_and_the_others_are_described(folder: Path) -> None:
    data = (folder / SECOND).read_bytes()
    (folder / SECOND).write_bytes(data[:-8])
    result = inspect(folder)
    assert [tensor.name for tensor in result.tensors] == ["model.a", "model.b"]
    assert "is cut off: its header lists 44 bytes" in titles(result)[0]


def test_a_shard_that_is_a_pointer(folder: Path) -> None:
    (folder / SECOND).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n")
    assert "is a git-lfs pointer to 7 bytes" in titles(inspect(folder))[0]


@pytest.mark.parametrize("places", [{"a": 3}, {"a": ""}, {"a": None}])
def test_a_damaged_index_is_one_sentence(folder: Path, places: dict[str, Any]) -> None:
    with pytest.raises(ExplorerError, match="is a damaged index"):
        inspect(write_index(folder, places))


def test_numbered_files_without_an_index(folder: Path) -> None:
    (folder / "model.safetensors.index.json").unlink()
    result = inspect(folder)
    assert (result.parameters, titles(result)) == (21, ["the files have no index"])
    (folder / FIRST).unlink()
    assert f"{FIRST} is missing" in titles(inspect(folder))


def test_sharded_pickles(tmp_path: Path) -> None:
    names = [f"pytorch_model-0000{number}-of-00002.bin" for number in (1, 2)]
    torch.save({"a": torch.zeros(2)}, tmp_path / names[0])
    torch.save({"b": torch.zeros(3)}, tmp_path / names[1])
    index = {"metadata": {"total_size": 20}, "weight_map": dict(zip("ab", names, strict=True))}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    result = inspect(tmp_path)
    assert (result.parameters, result.findings) == (5, [])
    assert "torch._utils._rebuild_tensor_v2" in result.references


def test_links_of_a_download_cache_are_followed(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    save_file({"a": torch.zeros(3)}, tmp_path / "blobs" / "0a1b")
    (tmp_path / "snapshot" / "model.safetensors").symlink_to("../blobs/0a1b")
    (tmp_path / "snapshot" / "config.json").write_text("{}")
    assert inspect(tmp_path / "snapshot").parameters == 3


def test_code_and_quantization_that_the_configuration_names(folder: Path) -> None:
    config = {"auto_map": {"AutoModel": "modeling_toy.ToyModel"}, "quantization_config": {"quant_method": "gptq"}}
    (folder / "config.json").write_text(json.dumps(config))
    result = inspect(folder)
    assert titles(result) == ["config.json names code of its own: modeling_toy.ToyModel", "compressed: quantized by gptq"]
    assert "modeling_toy.ToyModel" in result.references
    assert result.metadata["quantization"] == "gptq"


def test_a_damaged_configuration_is_one_sentence(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(ExplorerError, match=r"config\.json is damaged JSON"):
        inspect(folder)
