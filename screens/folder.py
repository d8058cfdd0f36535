"""What a folder holds, model files first; plain functions for a thread."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MODEL_SUFFIXES = (".pt", ".pth", ".pt2", ".ckpt", ".bin", ".pkl", ".safetensors", ".onnx", ".mlpackage", ".mlmodel")
PACKAGE_SUFFIXES = (".mlpackage",)


@dataclass(frozen=True)
class Entry:
    """A file or folder; `bytes` is None for folders and where it cannot be told. A package is a folder that is one model."""

    name: str
    path: Path
    is_folder: bool
    is_model: bool
    bytes: int | None = None


@dataclass(frozen=True)
class Listing:
    """The entries of a folder, or why it cannot be read."""

    folder: Path
    entries: tuple[Entry, ...] = ()
    problem: str = ""


def listing(folder: Path) -> Listing:
    """Models by name, then folders, then other files, each sorted without regard to case."""
    try:
        with os.scandir(folder) as found:
            entries = [entry_of(item) for item in found]
    except OSError as error:
        return Listing(folder, problem=f"cannot read {folder.name or folder}: {error.strerror or type(error).__name__}")
    entries.sort(key=lambda entry: (not entry.is_model, not entry.is_folder, entry.name.lower()))
    return Listing(folder, tuple(entries))


def entry_of(item: os.DirEntry[str]) -> Entry:
    """What one name in a folder is; a link that leads nowhere counts as a file."""
    suffix = os.path.splitext(item.name)[1].lower()
    try:
        is_folder = item.is_dir()
        size = None if is_folder else item.stat().st_size
    except OSError:
        is_folder, size = False, None
    package = is_folder and suffix in PACKAGE_SUFFIXES
    is_model = package or (not is_folder and suffix in MODEL_SUFFIXES)
    return Entry(item.name, Path(item.path), is_folder and not package, is_model, size)


def shown(found: Listing, text: str, hidden: bool) -> list[Entry]:
    """The entries whose name holds `text`, the folder above on top; hidden ones when asked for or typed."""
    wanted = text.lower()
    kept = [
        entry
        for entry in found.entries
        if wanted in entry.name.lower() and (hidden or wanted.startswith(".") or not entry.name.startswith("."))
    ]
    parent = found.folder.parent
    above = [] if text or parent == found.folder else [Entry("..", parent, True, False)]
    return [*above, *kept]


def typed_path(text: str, folder: Path) -> Path | None:
    """The path that was typed, seen from `folder`; None when there is none."""
    try:
        path = folder / Path(text).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None
