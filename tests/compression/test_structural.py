from collections.abc import Callable

import pytest
import torch
from torch import nn

from explorer.compression.structural import parameters, without_channels
from explorer.errors import ExplorerError
from samples.tiny_transformer import tiny_encoder
from tests.compression import nets


@pytest.mark.parametrize("build", [nets.residual, nets.depthwise, nets.two_heads])
def test_half_the_channels_leave_and_outputs_keep_their_shape(build: Callable[[], nets.Built]) -> None:
    module, inputs = build()
    before = parameters(module)
    cut = without_channels(module, inputs, 0.5)
    pruned = cut.module
    assert cut.fixed == []
    assert parameters(pruned) < 0.55 * before
    assert parameters(module) == before
    expected, found = module.eval()(*inputs), pruned(*inputs)
    for one, other in zip(expected, found, strict=True):
        assert one.shape == other.shape


def test_the_channels_with_the_smallest_weights_leave() -> None:
    first, last = nn.Linear(4, 8), nn.Linear(8, 2)
    module = nn.Sequential(first, nn.ReLU(), last)
    with torch.no_grad():
        first.weight[::2] *= 1e-4
        first.bias[::2] *= 1e-4
        last.weight[:, ::2] *= 1e-4
    inputs = torch.rand(3, 4)
    pruned = without_channels(module, (inputs,), 0.5).module
    assert pruned.get_parameter("0.weight").shape == (4, 4)
    assert torch.allclose(pruned(inputs), module(inputs), atol=1e-3)


def test_wide_layers_keep_widths_that_kernels_like() -> None:
    module = nn.Sequential(nn.Linear(4, 150), nn.ReLU(), nn.Linear(150, 64), nn.ReLU(), nn.Linear(64, 2))
    pruned = without_channels(module, (torch.rand(3, 4),), 0.3).module
    widths = [len(pruned.get_parameter(name)) for name in ("0.weight", "2.weight")]
    assert [width % 8 for width in widths] == [0, 0], "30 % of 150 would leave 105"
    assert widths == pytest.approx([105, 45], abs=7)


def test_layers_whose_width_the_code_counts_on_keep_it_and_are_named() -> None:
    module, inputs = tiny_encoder()
    cut = without_channels(module, inputs, 0.5)
    assert cut.fixed == ["block1.qkv", "block2.qkv"]
    assert cut.reason
    assert cut.module.get_parameter("block1.qkv.weight").shape == (192, 32)
    assert cut.module.get_parameter("block1.up.weight").shape == (64, 32)
    assert parameters(cut.module) < 0.5 * parameters(module)
    assert cut.module(torch.rand(5, 1, 8, 8)).shape == (5, 10)


def test_a_sum_that_is_the_output_keeps_its_width() -> None:
    module, inputs = nets.sum_of_two()
    cut = without_channels(module, inputs, 0.5)
    assert cut.module(*inputs).shape == (1, 6)
    assert cut.module.get_parameter("trunk.weight").shape == (16, 8)


def test_a_model_that_counts_on_its_width_is_refused_with_a_way_out() -> None:
    with pytest.raises(ExplorerError, match=r"no layer of NamesItsWidth can lose channels.*l1_unstructured") as caught:
        without_channels(nets.NamesItsWidth(), (torch.rand(2, 32),), 0.5)
    assert "\n" not in str(caught.value)


def test_a_model_with_only_an_output_layer_has_nothing_to_lose() -> None:
    with pytest.raises(ExplorerError, match="no layer of Linear can lose channels"):
        without_channels(nn.Linear(10, 1), (torch.rand(1, 10),), 0.5)
