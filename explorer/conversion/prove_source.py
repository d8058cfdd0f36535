"""What is to be proven: a package, the feeds that it was proven on, and the job that the truth belongs to."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explorer.conversion.inputs import Array, Feed, Proof
from explorer.conversion.proof_file import PROOF_FILE, read_proof
from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.ports import Port
from explorer.inference.coreml.program import Program
from explorer.models.job_files import PREFIX, job_folder

PACKAGE = "model.mlpackage"
SEEDS = 3


@dataclass(frozen=True)
class ToProve:
    """`proof_file` is None when nothing was stored; `artifacts` is the folder that takes the truth, None for a loose package."""

    package: Path
    proof_file: Path | None
    artifacts: Path | None

    @property
    def job(self) -> Path:
        """The folder to copy to a Mac: the job's, or the package itself."""
        return self.artifacts.parent if self.artifacts is not None else self.package


def to_prove(source: str) -> ToProve:
    """What `job:ID`, a job's folder or an .mlpackage means; raises `ExplorerError` when there is no package."""
    path = job_folder(source) if source.startswith(PREFIX) else Path(source).expanduser().absolute()
    if not path.exists():
        raise ExplorerError(f"{source} does not exist", "check the path")
    if (path / "Manifest.json").is_file():
        inside = path.parent if path.parent.name == "artifacts" else None
        return ToProve(path, _stored(path.parent), inside)
    artifacts = path / "artifacts"
    if not (artifacts / PACKAGE).is_dir():
        raise ExplorerError(f"{source} holds no {PACKAGE}", "give a conversion to Core ML: job:ID, its folder or an .mlpackage")
    return ToProve(artifacts / PACKAGE, _stored(artifacts), artifacts)


def _stored(folder: Path) -> Path | None:
    path = folder / PROOF_FILE
    return path if path.is_file() else None


def proof_for(found: ToProve, program: Program) -> Proof:
    """The stored proof, else seeded inputs with what the reference evaluator gives for them in float32."""
    if found.proof_file is not None:
        return read_proof(found.proof_file)
    feeds = []
    for seed in range(SEEDS):
        inputs = {name: _random(port, seed) for name, port in program.inputs.items()}
        expected = evaluate(program, inputs, "float32", ranges=False).outputs
        feeds.append(Feed(inputs, expected, f"seed {seed}, by the reference evaluator"))
    return Proof(feeds)


def _random(port: Port, seed: int) -> Array:
    generator = np.random.default_rng(seed)
    shape = port.shapes[0] if port.shapes else tuple(_smallest(port, axis) for axis in range(len(port.shape)))
    if port.image:
        return generator.integers(0, 256, shape).astype(np.float32)
    if port.integer:
        return generator.integers(0, 2, shape).astype(np.int32)
    return generator.standard_normal(shape).astype(np.float32)


def _smallest(port: Port, axis: int) -> int:
    size = port.shape[axis]
    low = port.bounds[axis][0] if axis < len(port.bounds) else 1
    return size if size is not None else max(1, low)
