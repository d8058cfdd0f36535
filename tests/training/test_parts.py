import pytest
import torch
from torch import nn

from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.batches import Batches
from explorer.training.devices import choose
from explorer.training.evaluate import evaluate
from explorer.training.optimizers import learning_rate
from explorer.training.precision import make_amp


def available(monkeypatch: pytest.MonkeyPatch, *, mps: bool, cuda: bool) -> None:
    for name, yes in (("mps", mps), ("cuda", cuda)):
        monkeypatch.setattr(f"torch.backends.{name}.is_built", lambda: True)
        module = "torch.backends.mps" if name == "mps" else "torch.cuda"
        monkeypatch.setattr(f"{module}.is_available", lambda yes=yes: yes)


@pytest.mark.parametrize(
    ("mps", "cuda", "device", "reason"),
    [(True, True, "mps", "MPS"), (False, True, "cuda", "CUDA (no MPS: "), (False, False, "cpu", "the CPU (no MPS: ")],
)
def test_auto_takes_mps_then_cuda_then_cpu_and_says_why(
    monkeypatch: pytest.MonkeyPatch, mps: bool, cuda: bool, device: str, reason: str
) -> None:
    available(monkeypatch, mps=mps, cuda=cuda)
    chosen, why = choose("auto")
    assert chosen == device
    assert why.startswith(reason)


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    available(monkeypatch, mps=False, cuda=False)
    with pytest.raises(ExplorerError, match=f"device {device} is not available"):
        choose(device)  # type: ignore[arg-type]


def test_the_cpu_can_be_asked_for() -> None:
    assert choose("cpu") == ("cpu", "the CPU, as asked")


def test_precision_that_does_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.training.precision._computed_dtype", lambda autocast, device: torch.float32)
    with pytest.raises(ExplorerError, match="cpu does not compute in bfloat16"):
        make_amp("bfloat16", "cpu")


def test_scaler_goes_with_float16_alone() -> None:
    assert make_amp("float16", "cpu").scaler is not None
    assert make_amp("bfloat16", "cpu").scaler is None
    assert make_amp("float32", "cpu").scaler is None


def test_order_depends_on_seed_and_epoch_and_covers_every_sample() -> None:
    batches = Batches(load("linear", "train"), 32, 0, "cpu")
    first, again, later = (torch.cat([x for x, _ in batches.epoch(epoch)]) for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    assert torch.equal(first.sum(1).sort().values, batches.inputs.sum(1).sort().values)
    assert torch.equal(torch.cat([x for x, _ in batches.epoch(0, skip=3)]), first[96:])


def test_a_last_batch_of_one_is_left_out() -> None:
    batches = Batches(load("digits", "train"), 479, 0, "cpu")
    assert [len(x) for x, _ in batches.epoch(0)] == [479, 479, 479]
    assert batches.steps_per_epoch == 3


def test_cosine_rises_then_falls_to_zero() -> None:
    spec = TrainSpec(learning_rate=1.0)
    rates = [learning_rate(spec, step, 100) for step in range(100)]
    assert rates[:6] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])
    assert rates[52] == pytest.approx(0.5, abs=0.01)
    assert rates[99] < 0.001
    assert learning_rate(spec.model_copy(update={"schedule": "constant"}), 50, 100) == 1.0


def test_evaluate_restores_the_mode_and_counts_exactly() -> None:
    class Right(nn.Module):
        """Says class 3 for every digit."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.eye(10)[torch.full((len(x),), 3)]

    held_out = load("digits", "test")
    module = Right().train()
    loss, accuracy = evaluate(module, held_out, "cpu")
    assert module.training
    assert accuracy == pytest.approx(float((held_out.targets == 3).mean()))
    assert loss == pytest.approx(
        float(torch.nn.functional.cross_entropy(module(torch.zeros(359)), torch.from_numpy(held_out.targets)))
    )
    assert evaluate(nn.Linear(10, 1), load("linear", "test"), "cpu")[1] is None
