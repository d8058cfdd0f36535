"""The command that runs an ML Program on inputs from a file."""

import time
import zipfile
from pathlib import Path

import numpy as np

from explorer.errors import ExplorerError
from explorer.files import written_by_rename
from explorer.inference.coreml.evaluate import Array, Evaluation, Evaluator, Mode
from explorer.inference.coreml.program import Program, load_program
from explorer.models.sources import resolve_file
from explorer.reporter import Reporter
from explorer.schemas.convert_result import EvaluateResult, PrecisionLoss
from explorer.schemas.convert_spec import EvaluateSpec


def run(spec: EvaluateSpec, report: Reporter) -> EvaluateResult:
    """Evaluate a package on the arrays of an .npz; the outputs go to an .npz by name."""
    path = resolve_file(spec.package, ("model.mlpackage",))
    feeds = read_arrays(Path(spec.input).expanduser())
    program = load_program(path)
    _check_names(program, feeds, spec.input)
    mode: Mode = "float32" if not spec.float16 else "float16" if spec.accumulate == "float32" else "float16_accumulate"
    evaluator = Evaluator(program, mode, ranges=True)
    report.progress(0, 1, f"evaluating {sum(1 for _ in program.steps())} operators in {mode.replace('_', ' with ')}")
    start = time.perf_counter()
    evaluation = evaluator.run(feeds)
    seconds = time.perf_counter() - start
    target = _write(evaluation, spec.output, report)
    report.progress(1, 1, f"outputs in {target}")
    return EvaluateResult(
        package=spec.package,
        mode=mode,
        output=str(target),
        outputs={name: list(value.shape) for name, value in evaluation.outputs.items()},
        operators=sum(1 for _ in program.steps()),
        seconds=seconds,
        losses=_not_finite(evaluation),
    )


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an .npz by name; pickled objects in it are refused."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ExplorerError(f"{path} is a single array", "save the inputs by name with numpy.savez")
        with archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise ExplorerError(f"{path} does not exist", "check the path") from None
    except ExplorerError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ExplorerError(
            f"{path} is no .npz of plain arrays ({str(error).splitlines()[0][:120]})", "write it with numpy.savez"
        ) from None


def _check_names(program: Program, feeds: dict[str, Array], source: str) -> None:
    lacking, extra = program.inputs.keys() - feeds.keys(), feeds.keys() - program.inputs.keys()
    if lacking or extra:
        parts = [f"lacks {', '.join(sorted(lacking))}"] if lacking else []
        parts += [f"holds {', '.join(sorted(extra))}, which is no input"] if extra else []
        raise ExplorerError(f"{source} {' and '.join(parts)}", f"the package takes {', '.join(program.inputs)}")


def _write(evaluation: Evaluation, output: str | None, report: Reporter) -> Path:
    if output is None:
        with report.artifact("outputs.npz") as path:
            _save(evaluation, path)
        return report.folder / "outputs.npz"
    target = Path(output).expanduser().absolute()
    if target.is_dir():
        raise ExplorerError(f"{target} is a folder", "name an .npz file")
    with written_by_rename(target) as path:
        _save(evaluation, path)
    return target


def _save(evaluation: Evaluation, path: Path) -> None:
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **evaluation.outputs)


def _not_finite(evaluation: Evaluation) -> list[PrecisionLoss]:
    """Values with NaN or infinity, in the order of the program."""
    return [
        PrecisionLoss(
            name=item.name,
            operator=item.op_type,
            problem="nan" if item.has_nan else "overflow",
            largest=max(abs(item.minimum), abs(item.maximum)),
        )
        for item in evaluation.ranges
        if item.has_nan or item.has_inf
    ]
