"""The modules beside a user's file: importable while the file is loaded or called, and never those of another folder."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDERS: dict[str, Path] = {}  # which folder a module in `sys.modules` was found beside the file in


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Within the block, modules are looked for in `folder` first, as when Python runs a file of it.

    A module of the same name that a file in another folder left behind (two `utils.py`) is forgotten first.
    """
    _forget_namesakes(folder)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        _FOLDERS.update({name: folder for name in set(sys.modules) - before if _lies_in(folder, name)})


def _lies_in(folder: Path, module: str) -> bool:
    return Path(getattr(sys.modules[module], "__file__", None) or "").is_relative_to(folder)


def _forget_namesakes(folder: Path) -> None:
    for name, home in list(_FOLDERS.items()):
        first = name.partition(".")[0]
        if home != folder and ((folder / f"{first}.py").is_file() or (folder / first).is_dir()):
            sys.modules.pop(name, None)
            del _FOLDERS[name]
