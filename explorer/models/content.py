"""What a file is, by its content; a file that is no model is refused with one sentence."""

import stat
import zipfile
from pathlib import Path
from typing import Literal

from explorer.errors import ExplorerError
from explorer.models import aoti_package, hub_folder, shards
from explorer.models.archive import DAMAGE, Overlong, check_directory
from explorer.models.not_a_model import AGAIN, FORMATS, refuse_non_models
from explorer.models.torch_legacy import LEGACY_MAGIC
from explorer.models.wire import Wire, WireError

Format = Literal[
    "torch_zip", "torch_legacy", "pickle", "torchscript", "exported_program", "aoti_package", "safetensors", "sharded",
    "hub_folder", "onnx", "coreml_spec", "mlpackage", "gguf",
]  # fmt: skip

GGUF_MAGIC = b"GGUF"
PICKLE_PROTOCOLS = range(2, 6)
LARGEST_ONNX_FIELD = 199  # Core ML's model types begin at 200
LARGEST_FIELD = 10_000
SHOWN_MODELS = (".pth", ".pt", ".pt2", ".safetensors", ".onnx", ".mlpackage", ".mlmodel", ".gguf")
OLD_PROGRAM = "serialized_exported_program.json"


def recognise(path: Path) -> Format:
    """The format of a file or folder. Raises `ExplorerError` when it is missing, unreadable, cut off or no model."""
    try:
        mode = path.stat().st_mode
    except PermissionError:
        raise ExplorerError(f"{path} cannot be reached", "check the permissions of its folder") from None
    except (OSError, ValueError):
        missing = "is a link to a file that does not exist" if path.is_symlink() else "does not exist"
        raise ExplorerError(f"{path} {missing}", "check the path") from None
    try:
        if stat.S_ISDIR(mode):
            return _folder(path)
        if not stat.S_ISREG(mode):
            raise ExplorerError(f"{path} is not a regular file", "name a model file")
        with path.open("rb") as stream:
            head = stream.read(1024)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read ({error.strerror})", "check its permissions") from None
    return _file(path, head)


def _file(path: Path, head: bytes) -> Format:
    refuse_non_models(path, head)
    if head.startswith(b"PK"):
        return _zip(path)
    if head.startswith(LEGACY_MAGIC):
        return "torch_legacy"
    if head.startswith(GGUF_MAGIC):
        return "gguf"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 60:
        return "safetensors"
    if head.lstrip().startswith(b"{"):
        return _json(path)
    if head[8:9] == b"{":
        return "safetensors"
    if head[0] == 0x80 and len(head) > 1 and head[1] in PICKLE_PROTOCOLS:
        return "pickle"
    if head[0] == 0x08:
        return _protobuf(path)
    raise ExplorerError(f"{path} is no model that explorer knows", FORMATS)


def _folder(path: Path) -> Format:
    if (path / "Manifest.json").is_file():
        return "mlpackage"
    if path.suffix == ".mlmodelc":
        raise ExplorerError(f"{path} is a compiled Core ML model", "give the .mlpackage that it was compiled from")
    if (path / "saved_model.pb").is_file():
        raise ExplorerError(f"{path} is a TensorFlow SavedModel, which explorer does not read", "convert it to .onnx first")
    if hub_folder.weights_of(path) is not None:
        return "hub_folder"
    models = sorted(item.name for item in path.iterdir() if item.suffix in SHOWN_MODELS)
    remedy = f"name a model in it, such as {models[0]}" if models else "name a model file"
    raise ExplorerError(f"{path} is a folder, not a model", remedy)


def _json(path: Path) -> Format:
    if shards.read_index(path) is not None:
        return "sharded"
    raise ExplorerError(f"{path} is JSON, not a model", "name the model file or the folder that it belongs to")


def _zip(path: Path) -> Format:
    try:
        with path.open("rb") as stream:
            check_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                names = archive.namelist()
    except Overlong as error:
        raise ExplorerError(f"{path} is damaged ({error})", AGAIN) from None
    except DAMAGE:
        size = path.stat().st_size
        raise ExplorerError(f"{path} is cut off or damaged: its archive directory is missing after {size} bytes", AGAIN) from None
    inner = {name.partition("/")[2] for name in names}
    if any(name.startswith(aoti_package.FOLDER) for name in (*inner, *names)) and not _has_program(inner):
        return "aoti_package"
    if "archive_format" in inner or _has_program(inner) or OLD_PROGRAM in names:
        return "exported_program"
    if "data.pkl" in inner:
        script = "constants.pkl" in inner or any(name.startswith("code/") for name in inner)
        return "torchscript" if script else "torch_zip"
    raise ExplorerError(f"{path} is a zip archive without a model", "unpack it and name the model inside")


def _has_program(inner: set[str]) -> bool:
    return any(name.startswith("models/") and name.endswith(".json") for name in inner)


def _protobuf(path: Path) -> Format:
    """ONNX has its graph in field 7, Core ML its model in a field from 200 on."""
    with path.open("rb") as stream:
        wire = Wire(stream, path.stat().st_size)
        numbers: set[int] = set()
        try:
            for number, _, _ in wire.fields(wire.whole):
                if number > LARGEST_FIELD:
                    raise WireError(f"field {number}")
                numbers.add(number)
        except WireError:
            raise ExplorerError(f"{path} is no ONNX or Core ML model, or it is cut off or damaged", AGAIN) from None
    if any(number > LARGEST_ONNX_FIELD for number in numbers):
        return "coreml_spec"
    if 7 in numbers:
        return "onnx"
    raise ExplorerError(f"{path} is no ONNX or Core ML model", AGAIN)
