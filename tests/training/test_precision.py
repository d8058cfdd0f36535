"""Mixed precision really computes in what was asked, or is refused."""

import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import precision
from explorer.training.fit import fit
from explorer.training.precision import Amp, checked_autocast, make_amp

REAL_AUTOCAST = torch.autocast


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_product_really_comes_out_in_the_precision(name: str) -> None:
    amp = make_amp(name, "cpu")  # type: ignore[arg-type]
    matrix = torch.ones(2, 2)
    with amp.autocast:
        assert (matrix @ matrix).dtype == getattr(torch, name)


def test_the_scaler_goes_with_float16_alone() -> None:
    assert make_amp("float16", "cpu").scaler is not None
    assert make_amp("bfloat16", "cpu").scaler is None
    assert make_amp("float32", "cpu").scaler is None


def test_autocast_of_a_device_that_is_not_there_is_refused() -> None:
    """torch constructs it without a word."""
    torch.autocast("mps", dtype=torch.float16)
    with pytest.raises(ExplorerError, match="mps does not compute in float16 here") as caught:
        make_amp("float16", "mps")
    assert caught.value.remedy == "use precision float32"


def test_cuda_that_is_not_there_is_refused() -> None:
    with pytest.raises(ExplorerError, match="cuda:0 does not compute in bfloat16 here"):
        make_amp("bfloat16", "cuda:0")


def test_float64_under_autocast_on_the_cpu_is_refused() -> None:
    """torch disables such an autocast with a warning and computes in float32."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ExplorerError, match="a product under autocast came out in float32"):
            checked_autocast(torch.float64, "cpu")


def test_a_device_that_computes_in_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that takes float16 and computes in bfloat16."""
    monkeypatch.setattr(torch, "autocast", lambda kind, dtype: REAL_AUTOCAST(kind, dtype=torch.bfloat16))
    with pytest.raises(ExplorerError, match="does not compute in float16 here, a product under autocast came out in bfloat16"):
        make_amp("float16", "cpu")


def test_a_scaler_that_disables_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch's does on CUDA without a GPU; the product is made to pass."""
    monkeypatch.setattr(precision, "_computed_dtype", lambda autocast, device: torch.float16)
    with pytest.raises(ExplorerError, match="torch scales no gradients on cuda:0 here"):
        make_amp("float16", "cuda:0")


@pytest.mark.parametrize(("version", "refused"), [("13.6.1", True), ("14.2", False), ("", False)])
def test_bfloat16_on_mps_needs_macos_14(monkeypatch: pytest.MonkeyPatch, version: str, refused: bool) -> None:
    monkeypatch.setattr("platform.mac_ver", lambda: (version, ("", "", ""), ""))
    monkeypatch.setattr(precision, "_computed_dtype", lambda autocast, device: torch.bfloat16)
    if refused:
        with pytest.raises(ExplorerError, match="bfloat16 on MPS needs macOS 14"):
            make_amp("bfloat16", "mps")
    else:
        assert make_amp("bfloat16", "mps").scaler is None


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_mixed_precision_trains_on_the_cpu_and_its_scale_goes_on(name: str, tmp_path: Path) -> None:
    amp = make_amp(name, "cpu")  # type: ignore[arg-type]
    losses = train(amp, 60)
    assert losses[-1] < 0.2 * losses[0]
    if amp.scaler is None:
        return
    torch.save(amp.scaler.state_dict(), tmp_path / "scaler.pt")
    again = make_amp("float16", "cpu").scaler
    assert again is not None
    again.load_state_dict(torch.load(tmp_path / "scaler.pt", weights_only=True))
    assert again.get_scale() == amp.scaler.get_scale() < 65536.0
    assert again.state_dict() == amp.scaler.state_dict()


def test_a_training_keeps_its_scale_in_the_checkpoint(tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    torch.manual_seed(0)
    spec = TrainSpec(data="linear", device="cpu", precision="float16", learning_rate=0.1, max_steps=20)
    fitted = fit(nn.Linear(10, 1), spec, report)
    assert fitted.checkpoint is not None
    saved = torch.load(tmp_path / fitted.checkpoint, weights_only=True)
    assert saved["scaler"]["scale"] > 0
    assert saved["scaler"]["_growth_tracker"] > 0
    losses = [loss for _, values in report.metrics for loss in values.get("loss", ())]
    assert losses[-1] < losses[0]


def train(amp: Amp, steps: int) -> list[float]:
    """Losses of a small network that learns a sum; its first gradients overflow in float16, so the scale must come down."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    inputs = torch.randn(64, 8)
    targets = inputs.sum(1, keepdim=True)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with amp.autocast:
            outputs = module(inputs)
        loss = nn.functional.mse_loss(outputs.float(), targets)
        losses.append(loss.item())
        if amp.scaler is None:
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        else:
            amp.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            amp.scaler.step(optimizer)
            amp.scaler.update()
    return losses
