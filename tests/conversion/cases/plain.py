"""What the bare scripts of most people do, to have something to compare with."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.inference.coreml.quiet import coremltools, quiet

Inputs = tuple[Tensor, ...]


def trace(module: nn.Module, inputs: Inputs, path: Path) -> None:
    """torch.jit.trace and coremltools."""
    with quiet(), torch.no_grad():
        _convert(torch.jit.trace(module, inputs), inputs, path)  # type: ignore[no-untyped-call]


def export(module: nn.Module, inputs: Inputs, path: Path) -> None:
    """torch.export, decompositions and coremltools."""
    with quiet(), torch.no_grad():
        _convert(torch.export.export(module, inputs).run_decompositions({}), None, path)


def onnx(module: nn.Module, inputs: Inputs, path: Path) -> None:
    """torch.onnx's dynamo exporter."""
    with quiet(), torch.no_grad():
        program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
        assert program is not None
        program.save(str(path))


def _convert(graph: Any, inputs: Inputs | None, path: Path) -> None:
    ct = coremltools()
    types = None
    if inputs is not None:
        types = [ct.TensorType(shape=item.shape, dtype=None if item.is_floating_point() else np.int32) for item in inputs]
    model = ct.convert(
        graph,
        inputs=types,
        minimum_deployment_target=ct.target.iOS18,
        compute_precision=ct.precision.FLOAT32,
        skip_model_load=True,
    )
    model.save(str(path))
