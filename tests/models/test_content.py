import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from tests.models.files import inspect

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n"
BROKEN = {
    "empty": (b"", "is empty"),
    "web page": (b"\n<!DOCTYPE html><html></html>", "is a web page"),
    "git-lfs pointer": (LFS, "git-lfs pointer to 90868376 bytes"),
    "garbage": (b"garbage garbage garbage", "is no model that explorer knows"),
    "protobuf-like garbage": (b"\x08\x01\xff\xff\xff\xff", "is no ONNX or Core ML model"),
    "short protobuf": (b"\x08\x01", "is no ONNX or Core ML model"),
    "GGUF": (b"GGUF\x03\0\0\0", "GGUF"),
    "cut off zip": (b"PK\x03\x04" + b"\0" * 100, "cut off or damaged"),
    "one byte": (b"\x80", "is no model that explorer knows"),
}


@pytest.mark.parametrize("name", ["x.pth", "x.onnx", "x.safetensors"])
@pytest.mark.parametrize(("data", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_model_is_named_in_one_sentence(tmp_path: Path, data: bytes, sentence: str, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ExplorerError, match=sentence) as caught:
        inspect(tmp_path / name)
    assert name in caught.value.message
    assert caught.value.remedy


def test_truncated_torch_file(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(1000)}, tmp_path / "x.pth")
    (tmp_path / "x.pth").write_bytes((tmp_path / "x.pth").read_bytes()[:2000])
    with pytest.raises(ExplorerError, match="cut off or damaged"):
        inspect(tmp_path / "x.pth")


def test_zip_with_a_damaged_pickle(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", b"\x80\x02\xff\xff")
    with pytest.raises(ExplorerError, match="is damaged"):
        inspect(tmp_path / "x.pt")


def test_plain_zip_missing_path_folder_and_pipe(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "net.pth").touch()
    expected = {
        "plain.zip": "zip archive without a model",
        "missing.pth": "does not exist",
        "folder": r"is a folder, not a model: name a model in it, such as net\.pth",
        "pipe": "is not a regular file",
    }
    for name, sentence in expected.items():
        with pytest.raises(ExplorerError, match=sentence):
            inspect(tmp_path / name)


def test_inspection_imports_no_numerical_library(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(3)}, tmp_path / "x.pth")
    code = (
        "import sys; from pathlib import Path\n"
        "from explorer.models.inspect import run; from explorer.reporter import QuietReporter\n"
        "from explorer.schemas.specs import InspectSpec\n"
        f"print(run(InspectSpec(source={str(tmp_path / 'x.pth')!r}), QuietReporter(Path('.'))).parameters)\n"
        "heavy = ('torch', 'numpy', 'onnx', 'onnxruntime', 'coremltools', 'safetensors')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3", "[]"]
