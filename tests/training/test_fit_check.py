from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.schemas.specs import TrainSpec
from explorer.training.accelerator import Accelerator
from explorer.training.data import open_data
from explorer.training.fit_check import check_fit, check_outputs
from explorer.training.user_step import step_function
from tests.datasets import user_data

FILE = str(Path(user_data.__file__))


class Device:
    """As much of an accelerator as a trial run asks for."""

    waited = 0

    def synchronize(self) -> None:
        self.waited += 1


def check(module: nn.Module, data: str, **more: Any) -> None:
    spec = TrainSpec(data=data, batch_size=4, **more)
    opened = open_data(spec, lambda item: item)
    device = Device()
    check_fit(module, step_function(spec, opened.classes), opened, cast(Accelerator, device))
    assert device.waited == 1


class Pair(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x


class Noted(nn.Linear):
    def get_extra_state(self) -> dict[str, int]:
        return {"calls": 1}


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.body(x))


def flat(outputs: int, inputs: int = 64) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, outputs))


def test_what_fits_passes_and_is_left_as_it_was() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5), nn.Flatten(), nn.Linear(72, 10))
    module[2].eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    state = torch.get_rng_state()
    check(module, "digits")
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert [part.training for part in module] == [True, True, False, True, True]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_lazy_layers_find_their_sizes_in_the_trial() -> None:
    check(nn.Sequential(nn.LazyConv2d(4, 3), nn.Flatten(), nn.LazyLinear(10)), "digits")


def test_more_outputs_than_classes_fit_and_a_single_value_in_any_shape() -> None:
    check(flat(1000), "digits")
    check(nn.Sequential(nn.Linear(10, 1), nn.Flatten(0)), "linear")


@pytest.mark.parametrize(
    ("module", "data", "sentence"),
    [
        (
            Inner(),
            "digits",
            r"cannot take digits samples of shape \(1, 8, 8\).*: layer body\.3, Linear\(.*\), got 2 x 32; choose other data",
        ),
        (nn.Conv2d(3, 4, 3), "digits", r"cannot take digits samples of shape \(1, 8, 8\): RuntimeError"),
        (flat(9), "digits", r"gives shape \(2, 9\) for 2 digits samples, not \(2, 10\): the largest label is 9 \(sample \d+\)"),
        (nn.Linear(10, 2), "linear", r"gives shape \(2, 2\) for 2 linear samples, not \(2, 1\): mend its last layer"),
        (nn.Conv2d(1, 10, 3), "digits", r"gives shape \(2, 10, 6, 6\) for 2 digits samples, not \(2, 10\)"),
        (Pair(), "digits", "gives tuple, not a tensor: return the logits alone"),
        (
            flat(1, 3),
            f"{FILE}:arrays",
            r"the largest label is 3 .* which 1 outputs do not cover: mend its last layer to 4 outputs",
        ),
        (
            nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7)),
            f"{FILE}:tokens",
            r"gives shape \(2, 5, 7\) .*, not \(2, 7, 5\): its classes come last, as in language models: move them",
        ),
        (Noted(10, 1), "linear", "the model's _extra_state is a dict, and weights and checkpoints hold tensors alone: let get_"),
        (flat(2, 3), f"{FILE}:rows", "a batch of the data is a dict of pixels, label"),
    ],
)
def test_what_does_not_fit_is_one_sentence(module: nn.Module, data: str, sentence: str) -> None:
    with pytest.raises(ExplorerError, match=sentence):
        check(module, data)


def test_labels_are_looked_at_in_all_of_the_data(tmp_path: Path) -> None:
    labels = np.arange(40) % 10
    labels[33] = 10
    np.savez(tmp_path / "a.npz", x=np.zeros((40, 64), np.float32), y=labels)
    with pytest.raises(ExplorerError, match=r"the largest label is 10 \(sample \d+\), which 10 outputs do not cover"):
        check(flat(10), f"{tmp_path}/a.npz,validation=0")
    labels[33] = -1
    np.savez(tmp_path / "a.npz", x=np.zeros((40, 64), np.float32), y=labels)
    with pytest.raises(ExplorerError, match=r"label -1 of .* is negative \(sample 33\): number classes from 0"):
        check(flat(10), f"{tmp_path}/a.npz,validation=0")


def test_indices_into_a_model_of_floats_are_explained(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((8, 64), np.int64), y=np.arange(8))
    with pytest.raises(ExplorerError, match="the inputs are int64, store them as floats if they are no indices"):
        check(flat(8), f"{tmp_path}/a.npz")
    check(nn.Sequential(nn.Embedding(5, 1), nn.Flatten(), nn.Linear(64, 8)), f"{tmp_path}/a.npz")


def test_labels_of_data_that_is_read_as_it_comes_are_looked_at_before_a_device_is(tmp_path: Path) -> None:
    """A device would fail without saying why, or not at all."""
    (tmp_path / "late.py").write_text(
        "import torch\n\ndef make():\n"
        "    return [(torch.zeros(2, 3), torch.tensor([0, 1])), (torch.zeros(2, 3), torch.tensor([1, 7]))]\n"
    )
    spec = TrainSpec(data=f"{tmp_path}/late.py:make")
    placed: list[Any] = []

    def place(item: Any) -> Any:
        placed.append(item)
        return item

    data = open_data(spec, place)
    check_fit(flat(2, 3), step_function(spec, 2), data, cast(Accelerator, Device()))
    batches = data.train.epoch(0)
    next(batches)
    count = len(placed)
    with pytest.raises(ExplorerError, match=r"the largest label of .*late\.py:make is 7, the model has 2 outputs"):
        next(batches)
    assert len(placed) == count


def test_the_users_step_is_tried_with_its_gradient(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        "def step(module, batch):\n    return module(batch[0]).mean().detach()\n\ndef bad(module, batch):\n    return batch[9]\n"
    )
    with pytest.raises(ExplorerError, match=r"steps\.py:1 gives a loss without a gradient"):
        check(flat(10), "digits", step=f"{tmp_path}/steps.py:step")
    with pytest.raises(ExplorerError, match=r"steps\.py:5: IndexError"):
        check(flat(10), "digits", step=f"{tmp_path}/steps.py:bad")


def test_a_data_set_in_memory_is_checked_without_a_training() -> None:
    check_outputs(flat(10), load("digits", "test"))
    with pytest.raises(ExplorerError, match=r"gives shape \(2, 3\) for 2 digits samples, not \(2, 10\)"):
        check_outputs(flat(3), load("digits", "test"))
