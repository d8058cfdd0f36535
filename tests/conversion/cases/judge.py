"""Whether a converted file gives what torch gives, on inputs that no proof has used."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from explorer.conversion.convert import run
from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import quiet
from explorer.inference.onnx_runtime import run_named, session
from explorer.reporter import QuietReporter
from explorer.schemas.specs import ConvertSpec
from tests.conversion.cases.case import Case

Array = NDArray[Any]
Script = Callable[[nn.Module, tuple[Tensor, ...], Path], None]
Word = Literal["right", "refused", "wrong"]
RELATIVE_ERROR = 1e-4
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Verdict:
    """`text` is the error of a refusal, or how wrong it is."""

    word: Word
    text: str = ""
    details: dict[str, str] | None = None


def ours(case: Case, target: Literal["onnx", "coreml"], rewrites: bool = True) -> Verdict:
    """explorer's own conversion in float32, judged."""
    spec = ConvertSpec(
        source=f"tests.conversion.cases.sources:{case.name}",
        target=target,
        precision="float32",
        deployment_target="iOS18",
        dynamic_batch=False,
        rewrites=rewrites,
        check_samples=4,
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = run(spec, QuietReporter(Path(folder)))
        except ExplorerError as error:
            return Verdict("refused", str(error), dict(error.details))
        return verdict(case, Path(folder) / result.output)


def scripted(case: Case, script: Script, suffix: str) -> Verdict:
    """A bare script, judged; any exception of it is a refusal."""
    torch.manual_seed(0)
    module, inputs = case.build()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        try:
            script(module, inputs, path)
        except Exception as error:
            return Verdict("refused", _first_line(error))
        return verdict(case, path)


def verdict(case: Case, path: Path) -> Verdict:
    """Right or wrong, on three draws of fresh inputs."""
    torch.manual_seed(0)
    module = case.build()[0].eval()
    for seed in SEEDS:
        inputs = case.inputs(seed)
        with torch.no_grad(), quiet():
            expected = [item.numpy() for item in pytree.tree_leaves(module(*(item.clone() for item in inputs)))]
        try:
            got = outputs(path, [item.numpy() for item in inputs])
        except Exception as error:
            return Verdict("wrong", f"it does not run: {_first_line(error)}")
        different = next((text for text in map(difference, expected, got) if text), "")
        if different or len(got) != len(expected):
            return Verdict("wrong", different or f"{len(got)} outputs where the source gives {len(expected)}")
    return Verdict("right")


def outputs(path: Path, inputs: list[Array]) -> list[Array]:
    """What the file gives for inputs in the order of its ports."""
    if path.suffix == ".onnx":
        runner = session(path)
        return list(run_named(runner, dict(zip((port.name for port in runner.get_inputs()), inputs, strict=True))).values())
    program = load_program(path)
    return list(evaluate(program, dict(zip(program.inputs, map(_narrow, inputs), strict=True)), "float32").outputs.values())


def difference(expected: Array, got: Array) -> str:
    """Empty when they agree; NaN agrees with NaN."""
    if expected.shape != got.shape:
        return f"shape {got.shape} where the source gives {expected.shape}"
    reference, value = expected.astype(np.float64), got.astype(np.float64)
    scale = max(float(np.abs(reference[np.isfinite(reference)]).max(initial=0.0)), 1e-2)
    same = np.isclose(value, reference, rtol=0, atol=RELATIVE_ERROR * scale, equal_nan=True)
    return "" if same.all() else f"error {np.abs(value - reference).max():.2g} of {scale:.2g}"


def _narrow(value: Array) -> Array:
    """Core ML takes neither booleans nor wide integers."""
    return value if value.dtype.kind == "f" else value.astype(np.int32)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:160] if lines else type(error).__name__
