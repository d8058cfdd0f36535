"""`proof.npz` beside a converted model: the inputs that it was proven on with the source's outputs, for a proof on a Mac.

An .npz of plain arrays: `meta` is JSON text, `0/inputs/NAME` and `0/expected/NAME` belong to the first feed.
"""

import json
import zipfile
from pathlib import Path

import numpy as np

from explorer.conversion.inputs import Array, Feed, Proof
from explorer.errors import ExplorerError

PROOF_FILE = "proof.npz"
MAX_BYTES = 64 * 2**20


def write_proof(path: Path, proof: Proof, max_bytes: int = MAX_BYTES) -> None:
    """Store the first feeds of `proof` that fit into `max_bytes`, at least one."""
    arrays: dict[str, Array] = {}
    origins: list[str] = []
    total = 0
    for index, feed in enumerate(proof.feeds):
        named = _named(index, feed)
        total += sum(value.nbytes for value in named.values())
        if index and total > max_bytes:
            break
        arrays |= named
        origins.append(feed.origin)
    meta = {"origins": origins, "classes": proof.classes, "carries_state": proof.carries_state}
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, meta=np.array(json.dumps(meta)), **arrays)


def read_proof(path: Path) -> Proof:
    """The feeds of a file that `write_proof` wrote; raises `ExplorerError` when it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            meta = json.loads(str(archive["meta"]))
            parts = [(*name.split("/", 2), archive[name]) for name in archive.files if name != "meta"]
        feeds = [Feed({}, {}, str(origin)) for origin in meta["origins"]]
        for index, side, name, value in parts:
            getattr(feeds[int(index)], {"inputs": "inputs", "expected": "expected"}[side])[name] = value
        return Proof(feeds, bool(meta["classes"]), carries_state=bool(meta["carries_state"]))
    except (OSError, ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile, EOFError) as error:
        raise ExplorerError(f"{path} cannot be read ({type(error).__name__})", "convert again") from None


def _named(index: int, feed: Feed) -> dict[str, Array]:
    inputs = {f"{index}/inputs/{name}": value for name, value in feed.inputs.items()}
    return inputs | {f"{index}/expected/{name}": value for name, value in feed.expected.items()}
