"""The files of a comparison: loaded, fed the same inputs and found sane before anything is timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.datasets.load import Dataset, accuracy
from explorer.errors import ExplorerError
from explorer.inference.onnx_runtime import run_onnx, session
from explorer.inference.onnx_size import onnx_bytes
from explorer.models.job_files import resolve_file
from explorer.schemas.paths import short_name

Array = NDArray[Any]

ONNX_FILES = ("model.onnx",)
NUMPY_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


@dataclass(frozen=True)
class Candidate:
    """One ONNX file in a session: `source` as the user wrote it, `bytes` on disk."""

    name: str
    source: str
    path: Path
    bytes: int
    runner: Any

    def call(self) -> Callable[[Array], object]:
        """One inference on a batch, with nothing else in it."""
        run, port = self.runner.run, self.runner.get_inputs()[0].name
        return lambda batch: run(None, {port: batch})

    def twin(self, threads: int) -> "Candidate":
        """The same file in a second session."""
        return Candidate(self.name, self.source, self.path, self.bytes, session(self.path, threads))


def load_candidates(sources: Sequence[str], names: Sequence[str], threads: int) -> list[Candidate]:
    """Each source in a session of its own; a missing name becomes the file's, and equal names are numbered."""
    if names and len(names) != len(sources):
        raise ExplorerError(f"{len(sources)} models have {len(names)} names", "give a name for each model or none")
    labels = _distinct(names or [_name(source) for source in sources])
    return [_load(source, name, threads) for source, name in zip(sources, labels, strict=True)]


def _load(source: str, name: str, threads: int) -> Candidate:
    path = resolve_file(source, ONNX_FILES)
    if path.suffix != ".onnx":
        raise ExplorerError(f"{source} is not an ONNX file", "convert the model first with `explorer convert --to onnx`")
    runner = session(path, threads)
    if len(runner.get_inputs()) != 1:
        raise ExplorerError(f"{path} has {len(runner.get_inputs())} inputs", "only models with one input can be compared")
    return Candidate(name, source, path, onnx_bytes(path), runner)


def _name(source: str) -> str:
    return source if source.startswith("job:") else short_name(source)


def _distinct(names: Sequence[str]) -> list[str]:
    counts = {name: names.count(name) for name in names}
    return [name if counts[name] == 1 else f"{name} ({index})" for index, name in enumerate(names, 1)]


def batches(baseline: Candidate, held_out: Dataset | None, size: int, count: int, seed: int) -> list[Array]:
    """Up to `count` batches of `size` samples that the calls take turns on: held-out data, else random values in 0..1."""
    if held_out is None:
        return _random_batches(baseline, size, count, seed)
    picked = np.random.default_rng(seed).permutation(max(len(held_out), size * count)) % len(held_out)
    return [held_out.inputs[picked[start : start + size]] for start in range(0, size * count, size)]


def _random_batches(baseline: Candidate, size: int, count: int, seed: int) -> list[Array]:
    port = baseline.runner.get_inputs()[0]
    if port.type not in NUMPY_TYPES or not all(isinstance(length, int) for length in port.shape[1:]):
        raise ExplorerError(
            f"{baseline.path} takes {port.type} of {port.shape}, which random values cannot fill", "name its --data"
        )
    generator = np.random.default_rng(seed)
    shape = (size, *port.shape[1:])
    return [generator.random(shape).astype(NUMPY_TYPES[port.type]) for _ in range(count)]


def check_outputs(candidates: Sequence[Candidate], batch: Array) -> None:
    """Raise `ExplorerError` unless every candidate answers `batch` with finite outputs of the baseline's shape."""
    expected = None
    for candidate in candidates:
        _check_batch(candidate, len(batch))
        output = run_onnx(candidate.runner, batch, len(batch))
        expected = output.shape if expected is None else expected
        if output.shape != expected:
            raise ExplorerError(
                f"{candidate.path} answers with shape {output.shape}, {candidates[0].path} with {expected}",
                "compare variants of the same model",
            )
        if not np.isfinite(output).all():
            raise ExplorerError(f"{candidate.path} answers with NaN or infinite values", "there is no speed to a wrong answer")


def _check_batch(candidate: Candidate, size: int) -> None:
    shape = candidate.runner.get_inputs()[0].shape
    if shape and isinstance(shape[0], int) and shape[0] != size:
        raise ExplorerError(
            f"{candidate.path} takes {shape[0]} samples in a call, not {size}",
            f"set --batch-size {shape[0]}, or convert it with an open batch",
        )


def held_out_accuracy(candidate: Candidate, held_out: Dataset | None) -> float | None:
    """Share of the held-out samples with the right class; None without data or classes."""
    if held_out is None or held_out.classes is None:
        return None
    return accuracy(run_onnx(candidate.runner, held_out.inputs), held_out.targets)
