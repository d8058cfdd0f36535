"""How a script reaches the user's own code: a file by path, a module by import, one of the samples by a copy beside it."""

from dataclasses import dataclass
from pathlib import Path

from explorer.home import samples_folder
from explorer.models.factories import find_file, split_source
from explorer.runs.script_lines import literal
from explorer.runs.script_piece import Piece

LOAD_FILE = '''
def load_file(path: Path) -> Any:
    """Run a Python file as a module that can import its neighbours."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
'''


@dataclass(frozen=True)
class Code:
    """`loaded` is a line that binds a name to the function, which `function` then is; `arguments` stand in its call."""

    piece: Piece
    loaded: str
    function: str
    arguments: str

    @property
    def call(self) -> str:
        return f"{self.function}({self.arguments})"


def reach(source: str, constant: str, folder: Path) -> Code:
    """Code that gets at `file.py:name(arguments)` or `package.module:name(arguments)`.

    `constant` names the file at the top of the script; modules are looked for in `folder` too. Raises for a file that is gone.
    """
    text = split_source(source)
    parts = [literal(value) for value in text.positional] + [f"{name}={literal(value)}" for name, value in text.keywords.items()]
    if not text.place.endswith(".py"):
        head, _, rest = text.name.partition(".")
        lines = [f"from {text.place} import {head}"]
        if (folder / text.place.split(".")[0]).exists() or (folder / f"{text.place.split('.')[0]}.py").exists():
            lines.insert(0, f"sys.path.insert(0, {literal(str(folder))})")
        return Code(Piece(), "\n".join([*lines, ""]), text.name if rest else head, ", ".join(parts))
    path = find_file(text.place)
    variable = constant.removesuffix("_FILE").lower() + "_file"
    piece = Piece([f"{constant} = {_place(path)}"], [LOAD_FILE], _beside(path))
    return Code(piece, f"{variable} = load_file({constant})", f"{variable}.{text.name}", ", ".join(parts))


def _place(path: Path) -> str:
    """A sample lies beside the script, since it may not be installed where the script runs; the user's files stay theirs."""
    return f"HERE / {literal(path.name)}" if _is_sample(path) else literal(path)


def _beside(path: Path) -> dict[str, Path]:
    return {path.name: path} if _is_sample(path) else {}


def _is_sample(path: Path) -> bool:
    return path.resolve().is_relative_to(samples_folder().resolve())
