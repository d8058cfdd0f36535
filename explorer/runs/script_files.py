"""How a training script reads a .npz file, a CSV file or a folder of images."""

from pathlib import Path

from explorer.datasets.csv_file import ENDINGS as CSV_ENDINGS
from explorer.datasets.csv_file import Layout, layout_of
from explorer.datasets.dataset import Array, Parts
from explorer.datasets.image_folder import ENDINGS as IMAGE_ENDINGS
from explorer.datasets.image_folder import HELD_OUT as IMAGE_PARTS
from explorer.datasets.npz_file import HELD_OUT, TRAIN, arrays_of, pair_of
from explorer.runs.script_arrays import inputs_of, targets_of
from explorer.runs.script_lines import chosen, literal
from explorer.runs.script_piece import Piece
from explorer.schemas.data_source import DataSource

NPZ = '''
def load_data() -> <type>:
    """The samples in DATA_FILE."""
    with np.load(DATA_FILE, allow_pickle=False) as content:
        train = inputs_of(content[<inputs>]), targets_of(content[<targets>])
        held_out = inputs_of(content[<held_inputs>]), targets_of(content[<held_targets>])  ##own
    return tensors(*train), tensors(*held_out)  ##own
    return <give>(*train)  ##!own
'''
CSV = '''
def load_data() -> <type>:
    """The rows of DATA_FILE: one column to predict from the others."""
    rows = np.loadtxt(
        DATA_FILE,
        np.float32,
        delimiter=<delimiter>,
        skiprows=1,  ##header
        comments=None,
        quotechar='"',
        converters={TARGET_COLUMN: lambda text: CLASSES.index(text.strip())},  ##text
        ndmin=2,
        encoding="utf-8-sig",
    )
    inputs, targets = np.delete(rows, TARGET_COLUMN, axis=1), rows[:, TARGET_COLUMN]
    targets = np.unique(targets.astype(np.int64), return_inverse=True)[1]  ##numbered
    return <give>(inputs, <expression>)
'''
IMAGES = '''
def load_data() -> <type>:
    """Every image below the folder of its class, as (N, channels, height, width) in 0..1."""
    return tensors(*read_folder(DATA_FOLDER / "train")), tensors(*read_folder(DATA_FOLDER / <held_folder>))  ##own
    return <give>(*read_folder(DATA_FOLDER<below>))  ##!own


def read_folder(folder: Path) -> tuple[Array, Array]:
    """Images and the numbers of their classes."""
    images, labels = [], []
    for label, name in enumerate(CLASSES):
        for where, folders, files in os.walk(folder / name):
            folders[:] = sorted(item for item in folders if not item.startswith("."))
            for file in sorted(files):
                if not file.startswith(".") and os.path.splitext(file)[1].lower() in ENDINGS:
                    images.append(read_image(Path(where, file)))
                    labels.append(label)
    return np.stack(images), np.array(labels, dtype=np.int64)


def read_image(path: Path) -> Array:
    """Channels first, in 0..1."""
    with Image.open(path) as opened:
        deep = opened.mode.startswith("I")  # 16-bit grey keeps its depth  ##grey
        image = opened.convert("F" if deep else "L")  ##grey
        image = opened.convert("RGB")  ##!grey
        image = image.resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BILINEAR)  ##scaled
        most = np.float32(65535 if deep else 255)  ##grey
        return np.divide(np.asarray(image), most, dtype=np.float32)[None]  ##grey
        return np.divide(np.asarray(image), np.float32(255), dtype=np.float32).transpose(2, 0, 1)  ##!grey
'''


def piece(path: Path, source: DataSource, parts: Parts) -> Piece:
    """Constants and `load_data` for a file or folder that explorer reads as `parts`."""
    words = {"type": "tuple[Pair, Pair]" if parts.held_out else "Pair", "give": "split" if parts.held_out else "tensors"}
    if path.is_dir():
        return _images(path, source, parts, words)
    if path.name.lower().endswith(CSV_ENDINGS):
        return _csv(path, layout_of(path, source), parts, words)
    return _npz(path, parts, words)


def _npz(path: Path, parts: Parts, words: dict[str, str]) -> Piece:
    arrays = arrays_of(path)
    train = pair_of(arrays, TRAIN) or pair_of(arrays, frozenset())
    assert train is not None
    own = next((found for part in HELD_OUT if (found := pair_of(arrays, part))), None) if parts.held_out else None
    words |= {"inputs": _name(arrays, train[0]), "targets": _name(arrays, train[1])}
    if own:
        words |= {"held_inputs": _name(arrays, own[0]), "held_targets": _name(arrays, own[1])}
    functions = [
        chosen(NPZ, {"own"} if own else (), **words),
        inputs_of(train[0]),
        targets_of(train[1], parts.train.classes is not None),
    ]
    return Piece([f"DATA_FILE = {literal(path)}"], functions)


def _name(arrays: dict[str, Array], wanted: Array) -> str:
    return literal(next(name for name, array in arrays.items() if array is wanted))


def _csv(path: Path, layout: Layout, parts: Parts, words: dict[str, str]) -> Piece:
    names, classes = parts.train.class_names, parts.train.classes is not None
    named = f"  # {layout.columns[layout.target]}" if layout.header else ""
    constants = [f"DATA_FILE = {literal(path)}", f"TARGET_COLUMN = {layout.target}{named}"]
    flags = {"header"} if layout.header else set()
    if layout.target_is_text:
        flags.add("text")
        constants.append(f"CLASSES = {literal(list(names))}")
    elif names:
        flags.add("numbered")
    expression = "targets.astype(np.int64)" if classes else "targets[:, None]"
    return Piece(constants, [chosen(CSV, flags, delimiter=literal(layout.delimiter), expression=expression, **words)])


def _images(path: Path, source: DataSource, parts: Parts, words: dict[str, str]) -> Piece:
    in_train = (path / "train").is_dir()
    own = next((name for name in IMAGE_PARTS if (path / name).is_dir()), None) if in_train and parts.held_out else None
    constants = [
        f"DATA_FOLDER = {literal(path)}",
        f"CLASSES = {literal(list(parts.train.class_names))}",
        f"ENDINGS = {literal(sorted(IMAGE_ENDINGS))}",
    ]
    flags = {
        name
        for name, on in {"own": own, "grey": parts.train.inputs.shape[1] == 1, "scaled": "size" in source.options}.items()
        if on
    }
    if "scaled" in flags:
        constants.append(f"IMAGE_SIZE = {parts.train.inputs.shape[2]}  # pixels, high and wide")
    words |= {"held_folder": literal(own), "below": ' / "train"' if in_train else ""}
    return Piece(constants, [chosen(IMAGES, flags, **words)], needs=["pillow"])
