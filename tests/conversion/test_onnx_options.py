from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from explorer.conversion import onnx_route
from explorer.conversion.to_onnx import export_onnx
from explorer.inference.onnx_runtime import run_onnx
from tests.conversion.converting import convert


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_weights_lie_beside_the_file_and_go_along_with_it(tmp_path: Path) -> None:
    output = tmp_path / "sent" / "other.onnx"
    for _ in range(2):
        result, _ = convert(tmp_path / "out", "attention", "onnx", external_data="always", output=str(output))
    assert sorted(item.name for item in output.parent.iterdir()) == ["other.onnx", "other.onnx.data"]
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == ["model.onnx", "model.onnx.data"]
    given = np.random.default_rng(0).standard_normal((1, 6, 4)).astype(np.float32)
    assert np.array_equal(run_onnx(output, given), run_onnx(tmp_path / "out" / "model.onnx", given))
    assert result.bytes == sum(item.stat().st_size for item in (tmp_path / "out").iterdir())


def test_the_other_exporter_takes_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = export_onnx

    def fails(module: object, traced: object, exporter: str, *rest: object) -> list[Path]:
        if exporter == "dynamo":
            raise RuntimeError("no")
        return real(module, traced, exporter, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(onnx_route, "export_onnx", fails)
    result, _ = convert(tmp_path, "attention", "onnx")
    assert any(step.startswith("torch.onnx torchscript, open batch") and "failed" not in step for step in result.route)
    assert onnx.load(tmp_path / "model.onnx").graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_layers_are_compared_when_asked(tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "attention", "onnx", layers=True)
    layers = next(check for check in result.checks if check.mode == "layer by layer")
    assert layers.passed
    assert layers.samples >= 4
