"""What a file is, by its content; a file that is no model is refused with one sentence."""

import stat
import zipfile
from pathlib import Path
from typing import Literal

from explorer.errors import ExplorerError
from explorer.models.wire import Wire, WireError

Format = Literal[
    "torch_zip", "torch_legacy", "pickle", "torchscript", "exported_program", "safetensors", "onnx", "coreml_spec", "mlpackage"
]

AGAIN = "fetch or save it again"
LEGACY_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # a pickled integer that torch.save wrote before version 1.6
LFS = b"version https://git-lfs"
WEB_PAGE = (b"<!doctype", b"<html", b"<head", b"<?xml")
OTHERS = {
    b"GGUF": "a GGUF file, which explorer does not read",
    b"\x1f\x8b": "a gzip archive",
    b"\x89HDF": "an HDF5 file, as Keras writes, which explorer does not read",
    b"\x93NUMPY": "a numpy array",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"%PDF": "a PDF document",
}
PICKLE_PROTOCOLS = range(2, 6)
LARGEST_ONNX_FIELD = 199  # Core ML's model types begin at 200


def recognise(path: Path) -> Format:
    """The format of a file or folder. Raises `ExplorerError` when it is missing, unreadable, cut off or no model."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        raise ExplorerError(f"{path} does not exist", "check the path") from None
    if stat.S_ISDIR(mode):
        return _folder(path)
    if not stat.S_ISREG(mode):
        raise ExplorerError(f"{path} is not a regular file", "name a model file")
    try:
        with path.open("rb") as stream:
            head = stream.read(1024)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", "check its permissions") from None
    return _file(path, head)


def _file(path: Path, head: bytes) -> Format:
    _refuse_non_models(path, head)
    if head.startswith(b"PK"):
        return _zip(path)
    if head.startswith(LEGACY_MAGIC):
        return "torch_legacy"
    if head[8:9] == b"{":
        return "safetensors"
    if head[0] == 0x80 and len(head) > 1 and head[1] in PICKLE_PROTOCOLS:
        return "pickle"
    if head[0] == 0x08:
        return _protobuf(path)
    raise ExplorerError(f"{path} is no model that explorer knows", "give a .pth, .pt, .safetensors, .onnx or .mlpackage model")


def _refuse_non_models(path: Path, head: bytes) -> None:
    if not head:
        raise ExplorerError(f"{path} is empty", AGAIN)
    if head.startswith(LFS):
        raise ExplorerError(
            f"{path} is a git-lfs pointer{_lfs_size(head)}, not the model", "run `git lfs pull` in its repository"
        )
    if head.lstrip().lower().startswith(WEB_PAGE):
        raise ExplorerError(f"{path} is a web page, not a model", "download the file itself, not the page about it")
    for magic, name in OTHERS.items():
        if head.startswith(magic):
            raise ExplorerError(f"{path} is {name}", "give a .pth, .pt, .safetensors, .onnx or .mlpackage model")
    if path.suffix == ".py":
        raise ExplorerError(f"{path} is Python code", "explorer inspects model files; code is a source for train and convert")


def _lfs_size(head: bytes) -> str:
    sizes = [line.split()[1] for line in head.splitlines() if line.startswith(b"size ") and len(line.split()) == 2]
    return f" to {sizes[0].decode(errors='replace')} bytes" if sizes else ""


def _folder(path: Path) -> Format:
    if (path / "Manifest.json").is_file():
        return "mlpackage"
    if path.suffix == ".mlmodelc":
        raise ExplorerError(f"{path} is a compiled Core ML model", "give the .mlpackage that it was compiled from")
    models = sorted(item.name for item in path.iterdir() if item.suffix in (".pth", ".pt", ".safetensors", ".onnx", ".mlpackage"))
    remedy = f"name a model in it, such as {models[0]}" if models else "name a model file"
    raise ExplorerError(f"{path} is a folder, not a model", remedy)


def _zip(path: Path) -> Format:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, OSError):
        size = path.stat().st_size
        raise ExplorerError(f"{path} is cut off or damaged: its archive directory is missing after {size} bytes", AGAIN) from None
    inner = {name.partition("/")[2] for name in names}
    if "archive_format" in inner or "models/model.json" in inner or "serialized_exported_program.json" in names:
        return "exported_program"
    if "data.pkl" in inner:
        script = "constants.pkl" in inner or any(name.startswith("code/") for name in inner)
        return "torchscript" if script else "torch_zip"
    raise ExplorerError(f"{path} is a zip archive without a model", "unpack it and name the model inside")


def _protobuf(path: Path) -> Format:
    """ONNX has its graph in field 7, Core ML its model in a field from 200 on."""
    with path.open("rb") as stream:
        wire = Wire(stream, path.stat().st_size)
        numbers: set[int] = set()
        try:
            numbers.update(number for number, _, _ in wire.fields(wire.whole))
        except WireError:
            raise ExplorerError(f"{path} is no ONNX or Core ML model, or it is cut off or damaged", AGAIN) from None
    if any(number > LARGEST_ONNX_FIELD for number in numbers):
        return "coreml_spec"
    if 7 in numbers:
        return "onnx"
    raise ExplorerError(f"{path} is no ONNX or Core ML model", AGAIN)
