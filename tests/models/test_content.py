import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from tests.models.files import inspect

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 90868376\n"
BROKEN = {
    "empty": (b"", "is empty"),
    "web page": (b"\n<!DOCTYPE html><html></html>", "is a web page"),
    "git-lfs pointer": (LFS, r"git-lfs pointer to 90868376 bytes \(sha256 4d7a4d7a4d7a\.\.\.\), not the model"),
    "garbage": (b"garbage garbage garbage", "is no model that explorer knows"),
    "protobuf-like garbage": (b"\x08\x01\xff\xff\xff\xff", "is no ONNX or Core ML model"),
    "short protobuf": (b"\x08\x01", "is no ONNX or Core ML model"),
    "cut off GGUF": (b"GGUF\x03\0\0\0", "cut off at byte 8"),
    "gzip": (b"\x1f\x8b\x08\0\0", "is a gzip archive"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0", "is a 7z archive"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file, as Keras writes"),
    "TensorFlow Lite": (b"\x1c\0\0\0TFL3", "is a TensorFlow Lite model"),
    "configuration": (b'{"model_type": "bert"}', "is JSON, not a model"),
    "cut off JSON": (b'{"weight_map": {"a": ', "is damaged JSON"),
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


def tar_of(path: Path, members: dict[str, bytes], tar_format: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w", format=tar_format) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def test_tar_archives_of_old_torch_and_of_others(tmp_path: Path) -> None:
    old = tar_of(tmp_path / "old.pt", {"sys_info": b"x", "storages": b"x", "tensors": b"x", "pickle": b"x"})
    with pytest.raises(ExplorerError, match=r"old\.pt is a tar archive that torch wrote before version 0\.1\.10: load it where"):
        inspect(old)
    with pytest.raises(ExplorerError, match=r"is a tar archive, not a model that explorer reads: unpack it"):
        inspect(tar_of(tmp_path / "other.pt", {"weights.bin": b"x"}))


@pytest.mark.parametrize(
    ("name", "warned"), [("x.pth", False), ("x.bin", False), ("x.dat", False), ("x.onnx", True), ("x.safetensors", True)]
)
def test_an_ending_of_another_format_is_a_finding(tmp_path: Path, name: str, warned: bool) -> None:
    torch.save({"x": torch.zeros(3)}, tmp_path / name)
    titles = [finding.title for finding in inspect(tmp_path / name).findings]
    assert titles == ([f"{name} is torch zip by its content, whatever its name says"] if warned else [])


def test_links_are_followed_and_a_broken_one_is_named(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(3)}, tmp_path / "x.pth")
    (tmp_path / "link.pth").symlink_to(tmp_path / "x.pth")
    (tmp_path / "broken.pth").symlink_to(tmp_path / "nothing")
    assert inspect(tmp_path / "link.pth").parameters == 3
    with pytest.raises(ExplorerError, match=r"broken\.pth (is a link to a file that )?does not exist"):
        inspect(tmp_path / "broken.pth")


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
