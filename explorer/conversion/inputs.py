"""What a conversion is proven on: real samples where there are any, else seeded random ones, and their mirror images."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.models.sources import LoadedModel, source_data
from explorer.schemas.specs import ConvertSpec

Array = NDArray[Any]
RANDOM_SAMPLES = 32
MIRRORED_SAMPLES = 16
BATCH = 64
SEED = 0


@dataclass(frozen=True)
class ProofInputs:
    """Inputs (samples, ...) with the source's outputs, and sign-flipped ones, which a branch frozen by tracing fails on.

    `classes` is true when the last axis of an output holds a score for each class; `origin` says where the inputs come from.
    """

    example: Tensor
    inputs: Array
    expected: Array
    mirrored: Array
    mirrored_expected: Array
    classes: bool
    origin: str

    def exact(self) -> tuple[Array, Array]:
        """Inputs and outputs on which a right conversion agrees to rounding: the real ones and the mirrored ones."""
        return np.concatenate([self.inputs, self.mirrored]), np.concatenate([self.expected, self.mirrored_expected])


def proof_inputs(spec: ConvertSpec, loaded: LoadedModel) -> ProofInputs:
    """Samples of `spec.data`, of what the model was trained on, or random ones like the example input, run through the module."""
    name = spec.data or loaded.data or source_data(spec.source if spec.source.startswith("job:") else spec.weights)
    example = _single_example(spec, loaded)
    classes: int | None = None
    inputs: Array
    if name is not None:
        data = load(name, "test")
        inputs, classes, origin = data.inputs[: spec.check_samples], data.classes, f"test data of {name}"
        _check_shape(spec, name, example, inputs)
        example = torch.from_numpy(inputs[:1].copy())
    elif example is not None:
        inputs, origin = _random_like(example, min(spec.check_samples, RANDOM_SAMPLES)), "random inputs"
    else:
        raise ExplorerError(f"{spec.source} gives no example input", "return (module, (tensor,)) from the factory, or give data")
    expected = _outputs(spec, loaded.module, inputs, batch=BATCH if name else 1)
    mirrored = np.negative(inputs[:MIRRORED_SAMPLES]) if inputs.dtype.kind == "f" else inputs[:0]
    mirrored_expected = _outputs(spec, loaded.module, mirrored, batch=1) if len(mirrored) else expected[:0]
    if not np.isfinite(mirrored_expected).all():
        mirrored, mirrored_expected = mirrored[:0], mirrored_expected[:0]
    scores = classes is not None and expected.ndim == 2 and expected.shape[-1] == classes
    return ProofInputs(example, inputs, expected, mirrored, mirrored_expected, scores, origin)


def run_module(module: nn.Module, inputs: Array, batch: int) -> Array:
    """The module's output for `inputs`, `batch` samples at a time, or one by one where it mixes or merges samples."""
    with torch.no_grad():
        pieces = [module(torch.from_numpy(inputs[at : at + batch].copy())) for at in range(0, len(inputs), batch)]
    wrong = next((piece for piece in pieces if not isinstance(piece, Tensor)), None)
    if wrong is not None:
        raise ExplorerError(f"the model gives a {type(wrong).__name__}", "wrap it in a module that gives one tensor")
    if pieces[0].ndim == 0:
        raise ExplorerError("the model gives a scalar", "wrap it in a module that keeps the batch dimension")
    output = torch.cat(pieces)
    if len(output) != len(inputs) and batch > 1:
        return run_module(module, inputs, 1)
    return np.asarray(output.numpy())


def _outputs(spec: ConvertSpec, module: nn.Module, inputs: Array, batch: int) -> Array:
    try:
        return run_module(module, inputs, batch)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ExplorerError(
            f"{spec.source} fails on an input of {_size(inputs)} ({reason})", "check its example input"
        ) from error


def _single_example(spec: ConvertSpec, loaded: LoadedModel) -> Tensor | None:
    if len(loaded.example_inputs) > 1:
        count = len(loaded.example_inputs)
        raise ExplorerError(f"{spec.source} takes {count} inputs; one can be converted", "wrap it in a module with one input")
    example = loaded.example_inputs[0].detach().cpu() if loaded.example_inputs else None
    if example is not None and example.ndim == 0:
        raise ExplorerError(f"{spec.source} gives a scalar as example input", "give one with a batch dimension first")
    return example


def _check_shape(spec: ConvertSpec, name: str, example: Tensor | None, inputs: Array) -> None:
    if example is not None and tuple(example.shape[1:]) != inputs.shape[1:]:
        wanted = "x".join(str(size) for size in example.shape[1:])
        raise ExplorerError(f"{spec.source} takes {wanted}, the samples of {name} are {_size(inputs)}", "choose other data")


def _random_like(example: Tensor, count: int) -> Array:
    generator = np.random.default_rng(SEED)
    shape = (count, *example.shape[1:])
    if example.is_floating_point():
        return generator.standard_normal(shape).astype(np.float32)
    low, high = int(example.min()), int(example.max())
    return generator.integers(low, high + 1, shape).astype(example.numpy().dtype)


def _size(inputs: Array) -> str:
    return "x".join(str(size) for size in inputs.shape[1:])
