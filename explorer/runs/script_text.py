"""The text of a training script: its parts put together, with the imports and types that they use."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from explorer.runs import script_data, script_train
from explorer.runs.script_code import Code, reach
from explorer.runs.script_lines import chosen, literal
from explorer.runs.script_piece import Piece
from explorer.schemas.data_source import parse_data_source
from explorer.schemas.jobs import JobRecord
from explorer.schemas.specs import TrainSpec

IMPORTS = {
    "import importlib.util": r"\bimportlib\.",
    "import itertools": r"\bitertools\.",
    "import math": r"\bmath\.",
    "import os": r"\bos\.",
    "import random": r"\brandom\.(seed|getstate)",
    "import sys": r"\bsys\.",
}
FROM_STANDARD = {"collections.abc": ("Iterator", "Sequence"), "pathlib": ("Path",), "typing": ("Any",)}
FROM_TORCH = {
    "torch": ("Tensor", "nn"),
    "torch.nn": ("functional as F",),
    "torch.utils.data": ("Subset", "default_collate"),
}
TYPES = {"Array": "Array = np.ndarray[Any, Any]", "Pair": "Pair = tuple[Tensor, Tensor]"}
MODEL = '''
def make_model() -> nn.Module:
    """The model with its first weights."""
    <loaded>
    built = <call>
    model: nn.Module = built[0] if isinstance(built, tuple) else built
    model.load_state_dict(torch.load(WEIGHTS_FILE, weights_only=True))  ##weights
    if any(tensor.dtype == torch.float64 for tensor in model.state_dict().values()):
        model = model.float()
    return model
'''
SEED_ALL = '''
def seed_all() -> None:
    """Start every generator from the seed."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
'''
END = """\
if __name__ == "__main__":
    main()
"""
HEAD = '''
"""Train <name>, the way explorer's job <job> did.

It needs <needs>, not explorer, and saves a state dict as
<output>. On the same machine and processor the weights
come out the very same; what was steered by hand while the job ran is not repeated.
"""
'''


@dataclass(frozen=True)
class Names:
    """Files beside the script: the trained weights that it writes, and those that it starts from, if any."""

    output: str
    start: str | None


def script_text(record: JobRecord, spec: TrainSpec, source: str, names: Names) -> tuple[str, dict[str, Path]]:
    """The script of a job whose model `source` builds, and the files to copy beside it, by name."""
    folder = Path(record.cwd)
    step = reach(spec.step, "STEP_FILE", folder) if spec.step else None
    data = script_data.data(spec.data, spec.batch_size, folder)
    pieces = [_model(reach(source, "MODEL_FILE", folder), names.start), data.piece, script_train.training(spec, data, step)]
    body = _body(pieces)
    top = _top(pieces, names, body)
    parts = [_head(record, spec, source, names, pieces), _imports(top + body, spec), "", top, "", "", body, "", "", END]
    return "\n".join(parts), {name: path for piece in pieces for name, path in piece.files.items()}


def _model(model: Code, start: str | None) -> Piece:
    constants = [*model.piece.constants, *([f"WEIGHTS_FILE = HERE / {literal(start)}"] if start else [])]
    text = chosen(MODEL, {"weights"} if start else (), loaded=model.loaded.replace("\n", "\n    "), call=model.call)
    return Piece(constants, [*model.piece.functions, text], model.piece.files)


def _body(pieces: list[Piece]) -> str:
    functions = [SEED_ALL, *(text for piece in pieces for text in piece.functions)]
    text = "\n\n\n".join(_unique(text.strip("\n") for text in functions))
    return re.sub(r"(?m)^ +$", "", text)


def _top(pieces: list[Piece], names: Names, body: str) -> str:
    constants = [text for piece in pieces for text in piece.constants]
    types = [line for name, line in TYPES.items() if _uses(body, name)]
    output = f"OUTPUT_FILE = HERE / {literal(names.output)}"
    lines = ["HERE = Path(__file__).resolve().parent", output, *_unique(constants), *(["", *types] if types else [])]
    return "\n".join(lines)


def _head(record: JobRecord, spec: TrainSpec, source: str, names: Names, pieces: list[Piece]) -> str:
    needs = ["torch", "numpy", *_unique(name for piece in pieces for name in piece.needs)]
    words = ", ".join(needs[:-1]) + f" and {needs[-1]}"
    what = f"{_name(source)} on {_name(parse_data_source(spec.data).name)}"
    return chosen(HEAD, (), name=what, job=record.id, needs=words, output=names.output)


def _imports(text: str, spec: TrainSpec) -> str:
    variables = script_train.environment(spec)
    used = text + "".join(variables)
    standard = [line for line, pattern in IMPORTS.items() if re.search(pattern, used)]
    standard += [line for module, names in FROM_STANDARD.items() if (line := _from(module, names, used))]
    others = ["import numpy as np", "import torch", *(["from PIL import Image"] if "Image." in used else [])]
    others += [line for module, names in FROM_TORCH.items() if (line := _from(module, names, used))]
    return "\n".join([*standard, "", *variables, *([""] if variables else []), *others])


def _from(module: str, names: Iterable[str], text: str) -> str:
    found = [name for name in names if _uses(text, name.split()[-1])]
    return f"from {module} import {', '.join(found)}" if found else ""


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _name(text: str) -> str:
    """A factory's name, or a file's."""
    head, _, tail = text.partition(":")
    return tail.partition("(")[0] or Path(head).name


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
