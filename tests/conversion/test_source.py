"""Every kind of source: right, or one clear sentence."""

import hashlib
import json
from pathlib import Path

import onnx
import pytest
import safetensors.torch
import torch

from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import quiet
from tests.conversion import ports_models
from tests.conversion.converting import convert

SHAPE = ["x=1x3x16x16"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    torch.manual_seed(0)
    module, inputs = ports_models.picture()
    module.eval()
    torch.save(module.state_dict(), folder / "state.pth")
    torch.save(module, folder / "whole.pth")
    safetensors.torch.save_file(module.state_dict(), folder / "state.safetensors")
    (folder / "hub").mkdir()
    (folder / "hub" / "config.json").write_text(json.dumps({"model_type": "picture"}))
    safetensors.torch.save_file(module.state_dict(), folder / "hub" / "model.safetensors")
    with quiet():
        torch.export.save(torch.export.export(module, inputs), folder / "model.pt2")
        torch.jit.save(torch.jit.trace(module, inputs), folder / "script.pt")  # type: ignore[no-untyped-call]
        torch.onnx.export(module, inputs, str(folder / "model.onnx"), dynamo=False, opset_version=18)
    return folder


def digest(path: Path) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest()]


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("state.pth", "coreml", "is a state dict: weights without the class of the model: give file.py:factory"),
        ("state.safetensors", "onnx", "is a state dict"),
        ("hub", "onnx", "holds weights and a config.json but no class"),
        ("whole.pth", "onnx", "runs its own code when it is loaded .* pass --trust"),
        ("model.pt2", "coreml", "runs its own code when it is loaded"),
        ("script.pt", "coreml", "runs its own code when it is loaded"),
        ("model.onnx", "coreml", "is an ONNX file, which cannot become Core ML here: convert the torch model"),
        ("model.onnx", "pt2", "is an ONNX file, which cannot become an exported program here"),
    ],
)
def test_what_cannot_be_converted_is_one_sentence(name: str, target: str, words: str, files: Path, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=words) as caught:
        convert(tmp_path, str(files / name), target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["whole.pth", "model.pt2", "script.pt"])
@pytest.mark.parametrize("target", ["coreml", "onnx"])
def test_trusted_files_convert(name: str, target: str, files: Path, tmp_path: Path) -> None:
    result, _ = convert(tmp_path, str(files / name), target, trust=digest(files / name), inputs=SHAPE)
    assert result.passed


def test_a_script_without_a_shape_is_told_to_declare_one(files: Path, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"gives no example input: .*declare the shape"):
        convert(tmp_path, str(files / "script.pt"), "coreml", trust=digest(files / "script.pt"))


def test_torch_script_cannot_become_an_exported_program(files: Path, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"is TorchScript, which torch.export cannot take"):
        convert(tmp_path, str(files / "script.pt"), "pt2", trust=digest(files / "script.pt"), inputs=SHAPE)


def test_a_hub_folder_gives_its_weights_to_a_factory(files: Path, tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "picture", "pt2", weights=str(files / "hub"))
    loaded = torch.export.load(tmp_path / result.output).state_dict
    wanted = torch.load(files / "state.pth", weights_only=True)
    assert all(torch.equal(loaded[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("opset", [18, 20])
def test_an_onnx_file_is_copied_and_checked(opset: int, files: Path, tmp_path: Path) -> None:
    result, _ = convert(tmp_path, str(files / "model.onnx"), "onnx", opset=opset)
    assert result.passed
    assert onnx.load(tmp_path / "model.onnx").opset_import[0].version == opset


def test_a_damaged_onnx_file_is_one_sentence(files: Path, tmp_path: Path) -> None:
    model = onnx.load(files / "model.onnx")
    model.graph.node[0].op_type = "NoSuchThing"
    onnx.save(model, str(tmp_path / "bad.onnx"))
    with pytest.raises(ExplorerError, match="cannot be written in opset 18"):
        convert(tmp_path / "out", str(tmp_path / "bad.onnx"), "onnx")
