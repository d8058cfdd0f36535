"""The two commands on the evaluator, and what they say of damaged packages and wrong files."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from explorer.errors import ExplorerError
from explorer.inference.coreml import evaluate_command, operators
from explorer.inference.coreml.coverage import missing, reasons, registry_ops, supported
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools
from explorer.reporter import QuietReporter
from explorer.schemas.convert_spec import EvaluateSpec, OperatorsSpec
from tests.inference.coreml.packages import traced_package

RANDOM = ["random_bernoulli", "random_categorical", "random_normal", "random_uniform"]
X = np.array([[1.0, -2.0, 3.0]], np.float32)


class Net(nn.Module):
    """Doubled, rectified, and its root, which is NaN for negative numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(x) + torch.relu(x)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced_package(Net(), [torch.ones(1, 3)], tmp_path_factory.mktemp("net") / "net.mlpackage", "FLOAT16")


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 4))
    return traced_package(net, [torch.ones(1, 3)], tmp_path_factory.mktemp("layers") / "layers.mlpackage")


def saved(folder: Path, **arrays: np.ndarray) -> str:
    np.savez(folder / "in.npz", **arrays)  # type: ignore[arg-type]
    return str(folder / "in.npz")


def test_evaluate_writes_the_outputs_by_name_and_names_what_is_not_finite(package: Path, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out.npz"
    spec = EvaluateSpec(package=str(package), input=saved(tmp_path, x0=np.abs(X)), output=str(target), float16=True)
    result = evaluate_command.run(spec, QuietReporter(tmp_path / "job"))
    written = np.load(target)
    np.testing.assert_array_equal(written["y"], evaluate(package, {"x0": np.abs(X)}, "float16").output)
    assert (result.mode, result.outputs, result.losses) == ("float16", {"y": [1, 3]}, [])
    assert result.output == str(target)
    assert result.operators >= 3
    broken = EvaluateSpec(package=str(package), input=saved(tmp_path, x0=X), float16=True, accumulate="float16")
    result = evaluate_command.run(broken, QuietReporter(tmp_path / "job"))
    assert (result.mode, result.losses[0].operator, result.losses[0].problem) == ("float16_accumulate", "sqrt", "nan")
    assert result.output == str(tmp_path / "job" / "outputs.npz")
    assert [path.name for path in (tmp_path / "job").iterdir()] == ["outputs.npz"]


def test_inputs_of_the_wrong_name_kind_or_file_are_named(package: Path, tmp_path: Path) -> None:
    def refused(path: str) -> str:
        with pytest.raises(ExplorerError) as caught:
            evaluate_command.run(EvaluateSpec(package=str(package), input=path), QuietReporter(tmp_path / "job"))
        return str(caught.value)

    assert "lacks x0 and holds y, which is no input: the package takes x0" in refused(saved(tmp_path, y=X))
    assert "is 1x3, given 1x4" in refused(saved(tmp_path, x0=np.ones((1, 4))))
    assert "takes numbers" in refused(saved(tmp_path, x0=np.array(["a"])))
    assert "is no .npz of plain arrays" in refused(saved(tmp_path, x0=np.array([{"a": 1}], dtype=object)))
    assert "does not exist" in refused(str(tmp_path / "none.npz"))
    np.save(tmp_path / "one.npy", X)
    assert "is a single array" in refused(str(tmp_path / "one.npy"))
    (tmp_path / "junk.npz").write_bytes(b"PK\x03\x04 junk")
    assert "is no .npz of plain arrays" in refused(str(tmp_path / "junk.npz"))


def test_operators_of_the_registry_and_of_a_package(package: Path, tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    result = operators.run(OperatorsSpec(), report)
    assert result.missing == ["_const_symbolic", *RANDOM]
    assert len(result.known) == 163
    assert all(any(name in line and reasons()[name] in line for line in report.messages) for name in result.missing)
    own = operators.run(OperatorsSpec(package=str(package)), QuietReporter(tmp_path))
    assert own.missing == []
    assert {"sqrt", "relu", "add"} <= set(own.known)
    assert missing(package) == []
    assert missing() == result.missing
    assert set(registry_ops()) - set(supported()) == set(result.missing)


def test_every_operator_that_the_torch_front_end_writes_has_a_rule() -> None:
    """Read from the front end's own source; dialect operators are lowered before a package is written."""
    folder = Path(coremltools().__file__).parent / "converters" / "mil" / "frontend" / "torch"
    written = {name for path in folder.glob("*.py") for name in re.findall(r"\bmb\.(\w+)\(", path.read_text())}
    assert len(written & set(registry_ops())) > 100
    assert (written & set(registry_ops())) - set(supported()) == set(RANDOM) - {"random_bernoulli"}


@pytest.mark.parametrize("cut", [None, 0, 100, 0.5, 0.999])
def test_missing_or_short_weights_are_named(layers: Path, cut: float | None, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mlpackage"
    shutil.copytree(layers, damaged)
    weights = next(damaged.rglob("weight.bin"))
    content = weights.read_bytes()
    if cut is None:
        weights.unlink()
    else:
        weights.write_bytes(content[: int(cut if cut > 1 else cut * len(content))])
    with pytest.raises(ExplorerError, match=r"the weights of .*damaged\.mlpackage are missing or cut off"):
        load_program(damaged)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_specification_ends_in_one_sentence_or_a_result(
    layers: Path, tmp_path: Path, data: st.DataObject
) -> None:  # fmt: skip
    damaged = tmp_path / "damaged.mlpackage"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(layers, damaged)
    model = next(damaged.rglob("*.mlmodel"))
    content = bytearray(model.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    model.write_bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content)
    said = outcome(damaged)
    assert said == "evaluated" or (str(damaged) in said and "\n" not in said)


def outcome(package: Path) -> str:
    try:
        evaluate(package, {"x0": X}, "float32")
    except ExplorerError as error:
        return str(error)
    return "evaluated"


def test_a_package_that_names_a_model_outside_itself_is_refused(layers: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mlpackage"
    shutil.copytree(layers, damaged)
    manifest = damaged / "Manifest.json"
    manifest.write_text(manifest.read_text().replace("com.apple.CoreML/model.mlmodel", "../../other.mlmodel"))
    with pytest.raises(ExplorerError, match="names a model outside itself"):
        load_program(damaged)
