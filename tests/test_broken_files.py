"""Broken and hostile files through the whole program: one sentence each, exit 1, nothing executed."""

import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest


class Evil:
    """Runs a shell command when it is unpickled."""

    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.sentinel}",)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A home with a real engine that is stopped at the end."""
    own = {**os.environ, "EXPLORER_HOME": str(tmp_path_factory.mktemp("broken") / "home")}
    yield own
    subprocess.run([sys.executable, "-m", "explorer", "engine", "stop"], env=own, capture_output=True, check=True)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with one of each."""
    (tmp_path / "empty.pth").touch()
    (tmp_path / "page.pth").write_text("<!DOCTYPE html><html><body>404 not found</body></html>")
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"weight": 1}))
    whole = (tmp_path / "whole.zip").read_bytes()
    (tmp_path / "truncated.pth").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "evil.pth").write_bytes(pickle.dumps(Evil(tmp_path / "executed")))
    (tmp_path / "folder").mkdir()
    (tmp_path / "garbage.onnx").write_bytes(bytes(range(256)) * 20)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.pth", "is empty"),
        ("page.pth", "is a web page"),
        ("truncated.pth", "is cut off or damaged"),
        ("evil.pth", "names posix.system, which would run code when loaded"),
        ("missing.pth", "does not exist"),
        ("folder", "is a folder, not a model"),
        ("garbage.onnx", "is no model that explorer knows"),
    ],
)
def test_a_broken_file_is_one_sentence(environment: dict[str, str], files: Path, name: str, words: str) -> None:
    command = [sys.executable, "-m", "explorer", "inspect", str(files / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert name in sentence
    assert words in sentence
    assert not (files / "executed").exists()


def test_the_evil_pickle_would_have_executed(files: Path) -> None:
    pickle.loads((files / "evil.pth").read_bytes())
    assert (files / "executed").exists()
