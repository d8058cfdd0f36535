"""Files that are no model, by their first bytes: each is said in one sentence with what to do."""

import re
import tarfile
from pathlib import Path

from explorer.errors import ExplorerError

AGAIN = "fetch or save it again"
FORMATS = "give a PyTorch, TorchScript, .pt2, .safetensors, .onnx, Core ML or .gguf model"
LFS = b"version https://git-lfs"
LFS_OID = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
LFS_SIZE = re.compile(rb"^size (\d{1,20})$", re.MULTILINE)
WEB_PAGE = (b"<!doctype", b"<html", b"<head", b"<?xml")
UNPACK = "unpack it and name the model inside"
OTHERS = (
    (b"\x1f\x8b", "a gzip archive", UNPACK), (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK), (b"BZh", "a bzip2 archive", UNPACK), (b"\xfd7zXZ\0", "an xz archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (b"\x89HDF", "an HDF5 file, as Keras writes", "convert it to .onnx or .safetensors first"),
    (b"\x93NUMPY", "a numpy array", FORMATS), (b"\x89PNG", "a picture", FORMATS), (b"\xff\xd8\xff", "a picture", FORMATS),
    (b"%PDF", "a PDF document", FORMATS), (b"\x7fELF", "a compiled library or program", FORMATS),
    (b"lmgg", "a model of llama.cpp from before GGUF", "convert it to .gguf with an old llama.cpp"),
    (b"tjgg", "a model of llama.cpp from before GGUF", "convert it to .gguf with an old llama.cpp"),
)  # fmt: skip
FLATBUFFER, TAR = (b"TFL3", b"ET12"), b"ustar"
TAR_AT = 257
OLD_TORCH_MEMBERS = {"sys_info", "pickle", "storages", "tensors"}
TAR_MEMBERS_READ = 20


def refuse_non_models(path: Path, head: bytes) -> None:
    """Raise `ExplorerError` when the first bytes are those of something that is no model."""
    if not head:
        raise ExplorerError(f"{path} is empty", AGAIN)
    if head.startswith(LFS):
        raise ExplorerError(
            f"{path} is a git-lfs pointer{_lfs_target(head)}, not the model", "run `git lfs pull` in its repository"
        )
    if head.lstrip().lower().startswith(WEB_PAGE):
        raise ExplorerError(f"{path} is a web page, not a model", "download the file itself, not the page about it")
    for magic, name, remedy in OTHERS:
        if head.startswith(magic):
            raise ExplorerError(f"{path} is {name}, not a model that explorer reads", remedy)
    if head[4:8] in FLATBUFFER:
        name = "a TensorFlow Lite model" if head[4:8] == FLATBUFFER[0] else "an ExecuTorch program"
        raise ExplorerError(f"{path} is {name}, which explorer does not read", "give the model that it was made from")
    if head[TAR_AT : TAR_AT + len(TAR)] == TAR or _is_old_tar(head):
        raise _tar(path)
    if path.suffix == ".py":
        raise ExplorerError(f"{path} is Python code", "explorer inspects model files; code is a source for train and convert")


def _lfs_target(head: bytes) -> str:
    """The true size and the hash that the pointer names."""
    size, oid = LFS_SIZE.search(head), LFS_OID.search(head)
    return (f" to {size.group(1).decode()} bytes" if size else "") + (f" (sha256 {oid.group(1).decode()[:12]}...)" if oid else "")


def _is_old_tar(head: bytes) -> bool:
    """A tar archive without a mark, by the checksum in its first header."""
    try:
        tarfile.TarInfo.frombuf(head[:512], "utf-8", "replace")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def _tar(path: Path) -> ExplorerError:
    names: set[str] = set()
    try:
        with tarfile.open(path) as archive:
            for _ in range(TAR_MEMBERS_READ):
                member = archive.next()
                if member is None:
                    break
                names.add(member.name.removeprefix("./"))
    except (tarfile.TarError, OSError, ValueError):
        return ExplorerError(f"{path} is a tar archive, cut off or damaged", AGAIN)
    if len(names & OLD_TORCH_MEMBERS) > 1:
        return ExplorerError(
            f"{path} is a tar archive that torch wrote before version 0.1.10",
            "load it where you trust it and torch.save it again",
        )
    return ExplorerError(f"{path} is a tar archive, not a model that explorer reads", UNPACK)
