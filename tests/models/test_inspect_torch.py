import os
import pickle
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from tests.models.files import Evil, Net, exported, inspect, pickled, torchscript

NAMES = ["first.weight", "first.bias", "second.weight", "scale"]


def test_state_dict_lists_tensors_and_counts_tied_weights_once(tmp_path: Path) -> None:
    torch.save(Net().state_dict(), tmp_path / "net.pth")
    result = inspect(tmp_path / "net.pth")
    assert sorted(tensor.name for tensor in result.tensors) == sorted(NAMES)
    weight = next(tensor for tensor in result.tensors if tensor.name == "first.weight")
    assert (weight.shape, weight.dtype, weight.bytes) == ([4, 3], "float32", 48)
    assert result.parameters == 12 + 4 + 2
    assert result.metadata["storage_bytes"] == 4 * result.parameters
    assert (result.format, result.runs_code_on_load, result.findings) == ("torch_zip", False, [])
    assert result.bytes == (tmp_path / "net.pth").stat().st_size


def test_legacy_file_and_wrong_extension_are_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    torch.save(Net().state_dict(), path, _use_new_zipfile_serialization=False)
    result = inspect(path)
    assert result.format == "torch_legacy"
    assert result.parameters == 18
    assert not result.runs_code_on_load


def test_whole_module_is_listed_with_the_classes_that_loading_would_import(tmp_path: Path) -> None:
    torch.save(Net(), tmp_path / "net.pt")
    result = inspect(tmp_path / "net.pt")
    assert {tensor.name for tensor in result.tensors} == set(NAMES)
    assert result.runs_code_on_load
    assert "tests.models.files.Net" in result.references
    assert "tests.models.files.Net" in result.unknown
    assert result.parameters == 12 + 4, "the table of buffers tells `scale` apart"
    assert result.findings[0].severity == "warning"


def test_checkpoint_counts_the_model_part_and_keeps_plain_values(tmp_path: Path) -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    torch.save({"state_dict": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7}, tmp_path / "c.ckpt")
    result = inspect(tmp_path / "c.ckpt")
    assert result.parameters == 18
    assert result.metadata["epoch"] == 7
    assert result.contents == {"state_dict": "4 tensors, 30 numbers", "optimizer": "Adam, 2 states, lr 0.001", "epoch": "7"}
    assert any(tensor.name.startswith("optimizer.state.0.exp_avg") for tensor in result.tensors)


@pytest.mark.parametrize(
    ("dtype", "name", "size"),
    [(torch.bfloat16, "bfloat16", 2), (torch.bool, "bool", 1), (torch.float8_e4m3fn, "float8_e4m3fn", 1)],
)
def test_dtypes_are_named(tmp_path: Path, dtype: torch.dtype, name: str, size: int) -> None:
    torch.save({"x": torch.zeros(5, dtype=dtype)}, tmp_path / "x.pt")
    tensor = inspect(tmp_path / "x.pt").tensors[0]
    assert (tensor.dtype, tensor.bytes) == (name, 5 * size)


def test_view_of_a_big_tensor_shows_its_own_bytes(tmp_path: Path) -> None:
    torch.save({"view": torch.zeros(1000)[:3]}, tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert result.tensors[0].bytes == 12
    assert result.metadata["storage_bytes"] == 4000


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_that_names_os_system_beside_tensors_is_described_and_not_run(tmp_path: Path, zipped: bool) -> None:
    marker = tmp_path / "ran"
    torch.save({"w": torch.ones(2), "x": Evil(marker)}, tmp_path / "evil.pth", _use_new_zipfile_serialization=zipped)
    result = inspect(tmp_path / "evil.pth")
    assert not marker.exists()
    assert result.runs_code_on_load
    assert [tensor.name for tensor in result.tensors] == ["w"]
    assert result.findings[0].severity == "error"
    assert f"{os.name}.system" in result.findings[0].title


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_bare_pickle_that_names_os_system_is_refused_and_not_run(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "evil.pth").write_bytes(pickled(Evil(marker), protocol))
    with pytest.raises(ExplorerError, match=r"evil\.pth names posix\.system, which would run code"):
        inspect(tmp_path / "evil.pth")
    assert not marker.exists()


HOSTILE = {
    "calls a string": b"\x80\x02U\x01a)R.",
    "instantiates by INST": b"\x80\x02(ios\nsystem\n.",
    "instantiates by OBJ": b"\x80\x02(cos\nsystem\nU\x04trueo.",
    "NEWOBJ": b"\x80\x02cos\nsystem\nU\x04true\x85\x81.",
    "extension code": b"\x80\x02\x82\x01.",
    "memo index of 2**32": b"\x80\x02Nr\xff\xff\xff\xff.",
    "claims 2**60 bytes": b"\x80\x05\x8e" + (1 << 60).to_bytes(8, "little") + b"x.",
    "frame of 2**60 bytes": b"\x80\x05\x95" + (1 << 60).to_bytes(8, "little") + b"N.",
    "key nested 200,000 deep": b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s.",
    "list nested 200,000 deep": b"\x80\x02" + b"]" * 200_001 + b"a" * 200_000 + b".",
    "tensor of negative size": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(NK\x00J\xff\xff\xff\xff\x85tR.",
    "stops in the middle": b"\x80\x02}q\x00(X\xff",
    "wrong opcodes": b"\x80\x02\xff\xfe\xfd",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_pickle_gives_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.pth").write_bytes(data)
    with pytest.raises(ExplorerError, match=r"x\.pth") as caught:
        inspect(tmp_path / "x.pth")
    assert "\n" not in str(caught.value)


def test_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.models.archive.STREAM_LIMIT_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "bomb.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb/data.pkl", b"\0" * 1_000_000)
    with pytest.raises(ExplorerError, match="unpacks to more than 1000 bytes"):
        inspect(tmp_path / "bomb.pt")


def test_torchscript_is_listed_and_said_to_run_code(tmp_path: Path) -> None:
    result = inspect(torchscript(tmp_path / "net.pt"))
    assert result.format == "torchscript"
    assert result.runs_code_on_load
    assert {tensor.name for tensor in result.tensors} == set(NAMES)
    assert result.parameters == 12 + 4, "`scale` is listed as a buffer in the archive's code"
    assert result.unknown == []
    assert any(name.startswith("code/") for name in result.metadata["code_files"])


def test_exported_program_is_read_as_json(tmp_path: Path) -> None:
    result = inspect(exported(tmp_path / "net.pt2"))
    assert result.format == "exported_program"
    assert result.runs_code_on_load
    assert {tensor.name: tensor.shape for tensor in result.tensors}["first.weight"] == [4, 3]
    assert [(port.name, port.shape[1]) for port in result.inputs] == [("x", 3)]
    assert isinstance(result.inputs[0].shape[0], str)
    assert result.outputs[0].dtype == "float32"
    assert result.metadata["operators"]["aten.linear.default"] == 2
    assert result.parameters == 12 + 4, "tied weights once, the buffer not at all"
    assert result.metadata["producer"].startswith("torch 2.")


def test_a_file_of_many_gigabytes_is_described_without_reading_storages(tmp_path: Path) -> None:
    state = {f"layer{index}.weight": torch.zeros(1).expand(1024, 1024) for index in range(273)}
    torch.save(state, tmp_path / "big.pth")
    result = inspect(tmp_path / "big.pth")
    assert len(result.tensors) == 273
    assert sum(tensor.bytes for tensor in result.tensors) == 273 * 4 * 1024 * 1024


def test_the_reader_agrees_with_torch_on_a_pickle_of_every_protocol(tmp_path: Path) -> None:
    for protocol in (2, 3, 4, 5):
        path = tmp_path / f"p{protocol}.pth"
        torch.save({"a": torch.ones(2, 3), "b": [torch.ones(4)]}, path, pickle_protocol=protocol)
        assert [(tensor.name, tensor.shape) for tensor in inspect(path).tensors] == [("a", [2, 3]), ("b.0", [4])]
    assert pickle.HIGHEST_PROTOCOL == 5, f"Python {sys.version} writes a newer protocol: add it above"
