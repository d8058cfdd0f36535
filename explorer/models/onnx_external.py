"""The files beside an ONNX file that hold its weights: each is listed, and none outside the model's folder is touched."""

from pathlib import Path, PurePosixPath, PureWindowsPath

from explorer.models.onnx_graph import External, Found
from explorer.models.pickle_safety import few
from explorer.models.sharing import Slice, clusters
from explorer.schemas.events import Finding
from explorer.schemas.model_results import ExternalFile, TensorInfo


def listed(path: Path, locations: list[str]) -> list[ExternalFile]:
    """Every external file with its bytes; None for one that is missing or that leaves the folder."""
    return [ExternalFile(name=location, bytes=_size(path, location)) for location in locations]


def shared_places(found: Found) -> list[TensorInfo]:
    """The tensors; one that lies on the same external bytes as an earlier one names it."""
    indexes = list(found.places)
    slices = [_slice(found.places[index], found.tensors[index]) for index in indexes]
    tensors = list(found.tensors)
    for group in clusters(slices):
        for member in group.members[1:]:
            first = tensors[indexes[group.members[0]]].name
            tensors[indexes[member]] = tensors[indexes[member]].model_copy(update={"shares": first})
    return tensors


def external_findings(path: Path, found: Found) -> list[Finding]:
    """An error for each file that leaves the folder, is missing or is too short for its tensors."""
    return [finding for location in found.locations if (finding := _finding(path, location, found))]


def leaves_folder(path: Path, location: str) -> bool:
    """Whether a location is absolute, climbs with `..`, or is a link to somewhere that the model's own links do not lead."""
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if posix.is_absolute() or windows.is_absolute() or windows.drive or ".." in posix.parts or ".." in windows.parts:
        return True
    target = (path.absolute().parent / location).resolve()
    return not any(target.is_relative_to(folder) for folder in (path.absolute().parent.resolve(), path.resolve().parent))


def _finding(path: Path, location: str, found: Found) -> Finding | None:
    if leaves_folder(path, location):
        title = f"weights lie outside the model's folder: {location}"
        return Finding(severity="error", title=title, remedy="do not load it")
    size = _size(path, location)
    if size is None:
        title = f"external weights file {location} is missing"
        return Finding(severity="error", title=title, remedy=f"put it beside {path.name}")
    short = [
        found.tensors[index].name for index, place in found.places.items()
        if place.location == location and _slice(place, found.tensors[index]).end > size
    ]  # fmt: skip
    if not short:
        return None
    title = f"external weights file {location} is cut off: it ends before {few(short)}"
    return Finding(severity="error", title=title, evidence=f"{size} bytes", remedy="fetch it again")


def _size(path: Path, location: str) -> int | None:
    if leaves_folder(path, location):
        return None
    target = path.absolute().parent / location
    try:
        return target.stat().st_size if target.is_file() else None
    except (OSError, ValueError):
        return None


def _slice(place: External, tensor: TensorInfo) -> Slice:
    length = place.length if place.length >= 0 else tensor.bytes
    return Slice(place.location, place.offset, place.offset + length, 0, length)
