from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from explorer.conversion.preflight_provider import provider_forecast
from explorer.inference.coreml.quiet import quiet


class Cumulative(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, -1) * 2


def exported(module: nn.Module, path: Path) -> Path:
    with quiet():
        torch.onnx.export(module.eval(), (torch.rand(1, 4),), path, dynamo=False)
    return path


def test_the_forecast_tells_partitions_share_and_what_is_not_taken(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = provider_forecast(exported(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), tmp_path / "a.onnx"))
    assert whole is not None
    assert "2 of 2 nodes (100%) in 1 partition" in whole.title
    assert (whole.severity, whole.remedy) == ("info", "worth trying")
    part = provider_forecast(exported(Cumulative(), tmp_path / "b.onnx"))
    assert part is not None
    assert part.evidence == "not taken: CumSum"
    assert capfd.readouterr() == ("", "")


def test_a_file_that_cannot_be_read_gives_no_forecast(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert provider_forecast(tmp_path / "bad.onnx") is None
