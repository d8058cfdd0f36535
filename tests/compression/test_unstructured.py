import pytest
import torch
from torch import nn

from explorer.compression.unstructured import weight_layers, zero_share, zero_smallest
from explorer.errors import ExplorerError
from tests.compression import nets


def test_the_smallest_weights_of_all_layers_become_zero_for_good() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    first, last = weight_layers(module)
    assert isinstance(first, nn.Linear)
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        first.weight.copy_(torch.arange(1, 17).reshape(4, 4))
        last.weight.copy_(-torch.arange(101, 117).reshape(4, 4))
    zero_smallest(module, 0.5)
    assert torch.count_nonzero(first.weight) == 0
    assert torch.count_nonzero(last.weight) == 16
    assert zero_share(module) == 0.5
    assert sorted(module.state_dict()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert all(type(parameter) is nn.Parameter for parameter in module.parameters())


def test_tied_weights_stay_tied() -> None:
    module = nets.Tied()
    zero_smallest(module, 0.25)
    assert module.decode.weight is module.encode.weight
    assert zero_share(module) == 0.25


def test_a_model_without_weights_is_refused() -> None:
    with pytest.raises(ExplorerError, match="no linear or convolution layer"):
        zero_smallest(nn.Sequential(nn.ReLU()), 0.5)
