"""Made-up files of Linux below a folder of the test."""

from pathlib import Path


def tree(root: Path, files: dict[str, object]) -> Path:
    """Writes `{relative path: text}` below `root` and gives it back."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root
