"""The house rules: format, lint, types and the direction of imports."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "command",
    [
        ["-m", "ruff", "check", "."],
        ["-m", "ruff", "format", "--check", "."],
        ["-m", "mypy"],
        ["-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"],
    ],
    ids=["lint", "format", "types", "floors"],
)
def test_house_rule(command: list[str]) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_path_of_a_machine_and_no_unfinished_word() -> None:
    """Sources name no home folder of a developer and admit to nothing unfinished."""
    words = ("TO" + "DO", "FIX" + "ME", "raise NotImplemented" + "Error", "/ho" + "me/", "/Us" + "ers/")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for folder in ("explorer", "screens", "samples")
        for path in (ROOT / folder).rglob("*.py")
        for word in words
        if word in path.read_text()
    ]
    assert found == []
