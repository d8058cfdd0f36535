"""Checkpoint files of plain tensors and numbers: the newest is `checkpoint.pt`, those before it are `checkpoint-STEP.pt`."""

import os
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from explorer.errors import ExplorerError
from explorer.files import size_bytes
from explorer.models.job_files import CHECKPOINT
from explorer.reporter import Reporter
from explorer.schemas.train_result import Checkpoint

NAME = CHECKPOINT
KEPT_NAME = re.compile(r"checkpoint-([0-9]{1,18})\.pt")
VERSION = 2


class Checkpoints:
    """The checkpoints of one training in the report's folder, `keep` of them, never two of one step. `newest` is a step."""

    def __init__(self, report: Reporter, keep: int) -> None:
        self._report = report
        self.keep = keep
        self.newest: int | None = None

    def has(self, step: int) -> bool:
        """Whether the newest one is of this step."""
        return self.newest == step

    def save(self, step: int, state: Mapping[str, Any], *, write: bool = True) -> None:
        """Write `state` as the newest one; a kill at any moment leaves the one before or this one.

        Without `write` another process does so.
        """
        if write:
            self._write(step, state)
        self.newest = step

    def load(self) -> dict[str, Any] | None:
        """The newest one that is whole; None without any. Damaged ones are said, and removed when there is a whole one."""
        newest = self._report.folder / NAME
        damaged: list[Path] = []
        for path in [newest, *self._older(None)]:
            state, reason = _read(path)
            if state is not None:
                for wrong in damaged:
                    self._report.log(f"{wrong.name} is damaged, going on from {path.name}", "warning")
                    wrong.unlink()
                self.newest = int(state["step"])
                if path != newest:
                    os.replace(path, newest)
                self._remove_surplus(self.newest)  # which a kill right after a write leaves
                return state
            if reason:
                damaged.append(path)
                why = reason
        if damaged:
            raise ExplorerError(f"{damaged[0]} is damaged ({why})", "remove it to start afresh")
        return None

    def kept(self) -> list[Checkpoint]:
        """All of them, the newest first."""
        if self.newest is None:
            return []
        found = [Checkpoint(name=NAME, step=self.newest, bytes=size_bytes(self._report.folder / NAME))]
        return found + [Checkpoint(name=path.name, step=_step(path), bytes=size_bytes(path)) for path in self._older(self.newest)]

    def _write(self, step: int, state: Mapping[str, Any]) -> None:
        folder = self._report.folder
        with self._report.artifact(NAME, step=step) as path:
            torch.save({"version": VERSION, "step": step, **state}, path)
            if self.newest not in (None, step) and self.keep > 1:
                _link(folder / NAME, folder / f"checkpoint-{self.newest}.pt")
        self._remove_surplus(step)

    def _remove_surplus(self, newest: int) -> None:
        for old in self._older(newest)[self.keep - 1 :]:
            old.unlink(missing_ok=True)

    def _older(self, newest: int | None) -> list[Path]:
        """Those before the newest, the newest of them first; a second name of the newest is none."""
        found = [path for path in self._report.folder.glob("checkpoint-*.pt") if KEPT_NAME.fullmatch(path.name)]
        return sorted((path for path in found if _step(path) != newest), key=_step, reverse=True)


def _step(path: Path) -> int:
    match = KEPT_NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def _link(source: Path, target: Path) -> None:
    """A second name for a file, which stays when the first goes to another; a copy where the file system has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _read(path: Path) -> tuple[dict[str, Any] | None, str]:
    """A checkpoint's content, or why it cannot be read; neither when there is no file."""
    if not path.is_file():
        return None, ""
    try:
        # torch.load passes over wrong bytes within a tensor; the archive has a checksum of each.
        with zipfile.ZipFile(path) as archive:
            wrong = archive.testzip()
        state = torch.load(path, map_location="cpu", weights_only=True) if wrong is None else None
    except Exception as error:  # damaged bytes may look like anything
        return None, (str(error).splitlines() or [type(error).__name__])[0][:200]
    if wrong is not None:
        return None, f"{wrong} in it has changed"
    if not isinstance(state, dict) or state.get("version") != VERSION:
        return None, "not written by this version"
    return state, ""
