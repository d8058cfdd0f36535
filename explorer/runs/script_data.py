"""How a training script comes by its data: the same samples, in the same parts, as explorer gave to the training."""

from pathlib import Path

import numpy as np

from explorer.datasets.dataset import Parts
from explorer.datasets.load import found_file, read
from explorer.datasets.made import is_factory
from explorer.datasets.options import validation_share
from explorer.home import samples_folder
from explorer.runs import script_factory, script_files
from explorer.runs.script_arrays import in_memory
from explorer.runs.script_lines import chosen
from explorer.runs.script_piece import Data, Piece
from explorer.schemas.data_source import DataSource, parse_data_source

DIGITS = '''
def load_data() -> <type>:
    """Images (N, 1, 8, 8) in 0..1 and their digits."""
    rows = np.loadtxt(DATA_FILE, delimiter=",", dtype=np.int64)
    images = (rows[:, :-1].reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    return <give>(images, rows[:, -1])
'''
LINEAR = '''
def load_data() -> <type>:
    """Ten numbers and a noisy linear map of them."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(10, 1))
    inputs = random.normal(size=(1000, 10))
    targets = inputs @ weights + 0.5 + 0.1 * random.normal(size=(1000, 1))
    inputs, targets = inputs.astype(np.float32), targets.astype(np.float32)
    first = round(1000 * HELD_OUT_SHARE)  ##held_out
    return tensors(inputs[first:], targets[first:]), tensors(inputs[:first], targets[:first])  ##held_out
    return tensors(inputs, targets)  ##!held_out
'''


def data(text: str, batch_size: int, folder: Path) -> Data:
    """All that a script needs to have the data of `text`; modules are looked for in `folder` too."""
    source = parse_data_source(text)
    if is_factory(source):
        return script_factory.data(source, batch_size, folder)
    parts = read(text)
    size = int(np.prod(parts.train.inputs.shape[1:]))
    held_out = parts.held_out is not None
    piece = in_memory(_read(source, parts), parts, batch_size, validation_share(source))
    return Data(piece, "arrays", parts.train.classes is not None, held_out, size)


def _read(source: DataSource, parts: Parts) -> Piece:
    words = {"type": "tuple[Pair, Pair]" if parts.held_out else "Pair", "give": "split" if parts.held_out else "tensors"}
    if source.name == "digits":
        path = samples_folder() / "digits.csv.gz"
        return Piece([f'DATA_FILE = HERE / "{path.name}"'], [chosen(DIGITS, (), **words)], {path.name: path})
    if source.name == "linear":
        return Piece([], [chosen(LINEAR, {"held_out"} if parts.held_out else (), **words)])
    return script_files.piece(found_file(source).absolute(), source, parts)
