"""The tensors of any model file, with their values on demand."""

from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from explorer.errors import ExplorerError
from explorer.models.content import recognise
from explorer.models.hub_folder import PART, weights_of
from explorer.models.shards import read_index
from explorer.models.tensor_reader import coreml_files, exported_files, gguf_files, onnx_files, safetensors_files, torch_files
from explorer.models.tensor_reader.decoding import Array
from explorer.models.tensor_reader.stored import StoredTensor, unreadable

Reader = Callable[[Path], list[StoredTensor]]

READERS: Mapping[str, Reader] = {
    "torch_zip": torch_files.read_zip,
    "torchscript": torch_files.read_zip,
    "torch_legacy": torch_files.read_legacy,
    "exported_program": exported_files.read,
    "safetensors": safetensors_files.read,
    "onnx": onnx_files.read,
    "coreml_spec": coreml_files.read,
    "mlpackage": coreml_files.read,
    "gguf": gguf_files.read,
}


def stored_tensors(path: Path) -> list[StoredTensor]:
    """Every tensor of a file or folder by the name that its description gives it, in the order of the file; no values are read.

    Compressed Core ML weights come twice: as the parts that are stored, and after all of them as the dense weight that they make.
    Raises `ExplorerError` for what is no model, is damaged, or is of a format whose values are not read.
    """
    format = recognise(path)
    if format == "hub_folder":
        weights = weights_of(path)
        return _parts(weights) if weights is not None else []
    return _sharded(path) if format == "sharded" else _single(path)


def read_values(path: Path, name: str) -> Array:
    """All values of one tensor by name; bfloat16 and smaller floats as float32."""
    return find(stored_tensors(path), name, path).array()


def find(tensors: list[StoredTensor], name: str, path: Path) -> StoredTensor:
    """The first tensor of that name. Raises `ExplorerError` with a name that is there."""
    for tensor in tensors:
        if tensor.name == name:
            return tensor
    near = next((tensor.name for tensor in tensors if name.lower() in tensor.name.lower()), None) or next(
        (tensor.name for tensor in tensors), None
    )
    raise ExplorerError(f"{path} has no tensor {name}", f"it has {near}" if near else "it holds no tensors")


def _single(path: Path) -> list[StoredTensor]:
    format = recognise(path)
    reader = READERS.get(format)
    if reader is None:
        raise ExplorerError(
            f"{path} has no values that explorer reads: it is {format.replace('_', ' ')}", "name a file of weights"
        )
    return reader(path)


def _parts(weights: Path) -> list[StoredTensor]:
    """A folder's weights: one file, an index, or numbered files without an index."""
    if weights.suffix == ".json":
        return _sharded(weights)
    match = PART.fullmatch(weights.name)
    if match is None:
        return _single(weights)
    files = sorted(
        file for file in weights.parent.iterdir() if (part := PART.fullmatch(file.name)) and part["stem"] == match["stem"]
    )
    return [tensor for file in files for tensor in _single(file)]


def _sharded(path: Path) -> list[StoredTensor]:
    """All files that an index names, file by file; tensors of a file that is not there have no values."""
    index = read_index(path)
    if index is None:
        raise ExplorerError(f"{path} is JSON, not a model", "name the model file beside it")
    folder = path.absolute().parent
    found: list[StoredTensor] = []
    for name in index.files:
        file = folder / name
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise ExplorerError(f"{path} names a file outside its folder: {name}", "do not load it")
        if file.is_file():
            found.extend(_single(file))
        else:
            message = f"{name} is missing"
            lost = [tensor for tensor, place in index.places.items() if place == name]
            found.extend(unreadable(tensor, (), "unknown", f"{tensor}: {message}", "fetch the missing file") for tensor in lost)
    return found
