"""Every broken or odd file that torch and safetensors answer with a riddle gets a sentence or a description of our own."""

import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from explorer.errors import ExplorerError
from tests.models.files import Net, inspect, pickled, torchscript

RIDDLES = ("weights_only=False", "mmap can only", "central directory", "PytorchStreamReader", "HeaderTooLarge", "Traceback", "0x")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 1500000000\n"


def state_bytes(folder: Path) -> bytes:
    torch.save({"w": torch.zeros(1000)}, folder / "state")
    return (folder / "state").read_bytes()


def safetensors_bytes(folder: Path) -> bytes:
    save_file({"w": torch.zeros(1000)}, folder / "state")
    return (folder / "state").read_bytes()


REFUSED: dict[str, tuple[str, Callable[[Path], bytes], str]] = {
    "0 bytes": ("x.pth", lambda folder: b"", "is empty: fetch or save it again"),
    "0 bytes, safetensors": ("x.safetensors", lambda folder: b"", "is empty: fetch or save it again"),
    "web page": (
        "x.pth",
        lambda folder: b"<!DOCTYPE html>\n<html><body>Sign in</body></html>",
        "is a web page, not a model: download the file itself, not the page about it",
    ),
    "git-lfs pointer": (
        "x.safetensors",
        lambda folder: POINTER,
        r"is a git-lfs pointer to 1500000000 bytes \(sha256 abababababab\.\.\.\), not the model: run `git lfs pull`",
    ),
    "truncated zip": (
        "x.pth",
        lambda folder: state_bytes(folder)[:-500],
        r"is cut off or damaged: its archive directory is missing after \d+ bytes: fetch or save it again",
    ),
    "truncated safetensors": (
        "x.safetensors",
        lambda folder: safetensors_bytes(folder)[:-10],
        "is cut off: its header lists 4000 bytes of tensors, it holds 3990: fetch or save it again",
    ),
    "trailing bytes": (
        "x.safetensors",
        lambda folder: safetensors_bytes(folder) + b"tail",
        "has bytes after its end: its header lists 4000 bytes of tensors, it holds 4004",
    ),
}


@pytest.mark.parametrize(("name", "make", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_a_sentence(tmp_path: Path, name: str, make: Callable[[Path], bytes], sentence: str) -> None:
    (tmp_path / name).write_bytes(make(tmp_path))
    with pytest.raises(ExplorerError, match=sentence) as caught:
        inspect(tmp_path / name)
    assert name in caught.value.message
    assert "\n" not in str(caught.value)
    assert not any(riddle in str(caught.value).replace(str(tmp_path), "") for riddle in RIDDLES)


@pytest.mark.parametrize(("name", "make", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_the_libraries_do_not_say_it(tmp_path: Path, name: str, make: Callable[[Path], bytes], sentence: str) -> None:
    """The reason for the sentences: if a library ever says it as well, ours may go."""
    (tmp_path / name).write_bytes(make(tmp_path))
    load = load_file if name.endswith(".safetensors") else torch.load
    with pytest.raises((SafetensorError, RuntimeError, OSError, EOFError, pickle.UnpicklingError)) as caught:
        load(tmp_path / name)
    assert sentence.split(":")[0] not in str(caught.value)


def test_safetensors_under_a_torch_name_and_the_reverse(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(3)}, tmp_path / "x.pt")
    torch.save({"w": torch.zeros(3)}, tmp_path / "y.safetensors")
    first, second = inspect(tmp_path / "x.pt"), inspect(tmp_path / "y.safetensors")
    assert (first.format, second.format) == ("safetensors", "torch_zip")
    assert first.findings[0].title == "x.pt is safetensors by its content, whatever its name says"
    assert second.findings[0].title == "y.safetensors is torch zip by its content, whatever its name says"
    assert second.findings[0].remedy == "rename it to y.pth: other programs go by the name"


def test_plain_pickle_of_protocol_4_is_described(tmp_path: Path) -> None:
    torch.save({"w": torch.zeros(3)}, tmp_path / "zip.pth", pickle_protocol=4)
    assert inspect(tmp_path / "zip.pth").parameters == 3
    (tmp_path / "x.pth").write_bytes(pickled({"w": 3}, 4))
    with pytest.raises(ExplorerError, match=r"is a pickle without tensors: give a file that torch\.save wrote"):
        inspect(tmp_path / "x.pth")


def test_torchscript_is_described_with_what_to_do(tmp_path: Path) -> None:
    result = inspect(torchscript(tmp_path / "x.pt"))
    assert result.safety == "torch.jit.load runs the code inside; read here without loading"
    assert result.findings[0].remedy == "export the model from its source to .pt2 or ONNX"


def test_link_broken_link_and_folder(tmp_path: Path) -> None:
    torch.save({"w": torch.zeros(3)}, tmp_path / "x.pth")
    os.symlink(tmp_path / "x.pth", tmp_path / "link.pth")
    os.symlink(tmp_path / "gone.pth", tmp_path / "broken.pth")
    assert inspect(tmp_path / "link.pth").parameters == 3
    with pytest.raises(ExplorerError, match=r"broken\.pth .*does not exist: check the path"):
        inspect(tmp_path / "broken.pth")
    with pytest.raises(ExplorerError, match=r"is a folder, not a model: name a model in it, such as broken\.pth"):
        inspect(tmp_path)


def test_view_and_tied_weights_are_counted_once(tmp_path: Path) -> None:
    torch.save({"view": torch.zeros(1_000_000)[:2000], **Net().state_dict()}, tmp_path / "x.pth")
    result = inspect(tmp_path / "x.pth")
    view = result.tensors[0]
    assert (view.bytes, view.storage_bytes) == (8000, 4_000_000)
    assert result.parameters == 2000 + 18


def test_dynamically_quantized_state_shows_its_packed_parts(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize: Callable[..., nn.Module] = torch.ao.quantization.quantize_dynamic
        net = quantize(nn.Sequential(nn.Linear(8, 4)), dtype=torch.qint8)
        torch.save(net.state_dict(), tmp_path / "x.pth")
    result = inspect(tmp_path / "x.pth")
    assert result.format_name == "PyTorch state dict (torch.save zip)"
    assert ([4, 8], "qint8") in [(tensor.shape, tensor.dtype) for tensor in result.tensors]
    assert result.findings[0].title == "compressed: packed parameters of quantized layers"
    assert (result.unknown, result.parameters) == ([], 4 * 8 + 4 + 2)
