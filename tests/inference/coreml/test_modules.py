"""Micro-modules through coremltools' own converter: the evaluator must give what torch gives."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.inference.coreml.evaluate import evaluate
from tests.inference.coreml.packages import traced_package

IMAGE = (2, 4, 9, 8)
ROWS = (2, 5, 6)


class Calls(nn.Module):
    """A module around a function."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Recurrent(nn.Module):
    """The outputs of a recurrent layer, first the sequence."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x)[0]
        return output


class Attention(nn.Module):
    """Causal attention by hand."""

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        return F.scaled_dot_product_attention(x, x + 1.0, x * 2.0, attn_mask=mask)


def randomized(norm: nn.Module) -> nn.Module:
    """Statistics and weights away from 0 and 1."""
    for value in norm.state_dict().values():
        if value.is_floating_point():
            value.uniform_(0.5, 1.5)
    return norm


Case = tuple[nn.Module, tuple[int, ...]]
COMMON: dict[str, Case] = {
    "conv_strided_padded": (nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2), IMAGE),
    "conv_grouped": (nn.Conv2d(4, 8, (3, 2), groups=2, bias=False), IMAGE),
    "conv_transpose": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), IMAGE),
    "batch_norm": (randomized(nn.BatchNorm2d(4)), IMAGE),
    "layer_norm": (randomized(nn.LayerNorm(6)), ROWS),
    "max_pool_ceil": (nn.MaxPool2d(3, 2, padding=1, ceil_mode=True), IMAGE),
    "avg_pool_ceil": (nn.AvgPool2d(3, 2, padding=1, ceil_mode=True), IMAGE),
    "linear": (nn.Linear(6, 3), ROWS),
    "matmul": (Calls(lambda x: x @ x.transpose(1, 2)), ROWS),
    "softmax_gelu": (Calls(lambda x: torch.softmax(F.gelu(x), 1)), ROWS),
    "silu_tanh_sigmoid": (Calls(lambda x: F.silu(x) + torch.tanh(x) * torch.sigmoid(x)), ROWS),
    "hard_activations": (Calls(lambda x: F.hardswish(x) + F.hardsigmoid(x) + F.relu6(x) + F.leaky_relu(x)), ROWS),
    "reductions": (Calls(lambda x: x.sum(1) + x.mean(1) + x.amax(1) - x.amin(1) + x.argmax(1)), ROWS),
    "slices": (Calls(lambda x: torch.cat([x[:, 1:4:2], x[:, -2:], x[:, :1]], 1)), ROWS),
    "split_stack": (Calls(lambda x: torch.stack(x.chunk(2, -1), 1)), ROWS),
    "select_compare": (Calls(lambda x: torch.where(x > 0.2, x, x.clamp(-0.5, 0.1))), ROWS),
    "attention": (Attention(), (2, 5, 4)),
}
TAIL: dict[str, Case] = {
    "conv1d": (nn.Conv1d(5, 3, 3), ROWS),
    "conv3d": (nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "conv_same": (nn.Conv2d(4, 4, (3, 5), padding="same"), IMAGE),
    "conv_transpose_grouped": (nn.ConvTranspose2d(4, 4, 3, groups=2, dilation=2), IMAGE),
    "conv_transpose1d": (nn.ConvTranspose1d(5, 3, 4, stride=2, padding=1), ROWS),
    "group_norm": (randomized(nn.GroupNorm(2, 4)), IMAGE),
    "instance_norm": (randomized(nn.InstanceNorm2d(4, affine=True)), IMAGE),
    "local_response_norm": (nn.LocalResponseNorm(3, alpha=0.3), IMAGE),
    "avg_pool_excluding": (nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), IMAGE),
    "adaptive_pool": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "prelu_elu": (nn.Sequential(nn.PReLU(4, 0.3), nn.ELU(0.7), nn.Softplus()), IMAGE),
    "gelu_tanh": (nn.GELU(approximate="tanh"), ROWS),
    "upsample_nearest": (nn.Upsample(scale_factor=2, mode="nearest"), IMAGE),
    "upsample_bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "upsample_corners": (nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), IMAGE),
    "resize_odd": (nn.Upsample(size=(13, 11), mode="bilinear"), IMAGE),
    "pixel_shuffle": (nn.PixelShuffle(2), IMAGE),
    "pad_reflect": (Calls(lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect")), IMAGE),
    "pad_replicate": (Calls(lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate")), IMAGE),
    "pad_constant": (Calls(lambda x: F.pad(x, (2, 1), value=3.0)), ROWS),
    "topk": (Calls(lambda x: torch.topk(x, 3, -1)[0]), ROWS),
    "cumsum_norms": (Calls(lambda x: x.cumsum(1) + x.norm(dim=-1, keepdim=True) + x.logsumexp(1, True)), ROWS),
    "logs_powers": (Calls(lambda x: torch.log(x.abs() + 1) + (x.abs() + 1).rsqrt() + x**3 + x.exp()), ROWS),
    "trigonometry": (Calls(lambda x: x.sin() + x.cos() + x.atan() + x.erf() + x.floor() + x.round() + x.sign()), ROWS),
    "rounded_division": (Calls(lambda x: torch.remainder(x, 0.7) + torch.floor_divide(x, 0.7)), ROWS),
    "gather_index": (Calls(lambda x: x[:, torch.tensor([2, 0, -1])]), ROWS),
    "take_along": (Calls(lambda x: torch.gather(x, 1, x.argsort(1))), ROWS),
    "index_put": (Calls(lambda x: torch.cat([x[:, :2] * 2, x[:, 2:]], 1).flip(1)), ROWS),
    "scatter_add": (Calls(lambda x: torch.zeros_like(x).scatter_add(1, (x * 0).long() + 1, x)), ROWS),
    "masks": (Calls(lambda x: x.tril() + x.triu(1) * 2), ROWS),
    "repeat_expand": (Calls(lambda x: x.repeat(1, 2, 1) + x[:, :1].expand(-1, 10, -1)), ROWS),
    "squeezes": (Calls(lambda x: x.unsqueeze(1).unsqueeze(-1).squeeze(1).squeeze(-1).permute(2, 0, 1)), ROWS),
    "one_hot": (Calls(lambda x: F.one_hot((x > 0).long(), 3).float()), ROWS),
    "einsum": (Calls(lambda x: torch.einsum("nchw,nwhu->nchu", x, x.transpose(1, 3))), (2, 3, 4, 3)),
    "lstm": (Recurrent(nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)), ROWS),
    "rnn": (Recurrent(nn.RNN(6, 5, batch_first=True)), ROWS),
    "gru_loop": (Recurrent(nn.GRU(6, 5, batch_first=True)), ROWS),
}


def assert_same(case: Case, folder: Path) -> None:
    module, shape = case
    torch.manual_seed(0)
    inputs = torch.randn(shape)
    with torch.no_grad():
        expected = module.eval()(inputs).numpy()
    result = evaluate(traced_package(module, [inputs], folder / "m.mlpackage"), {"x0": inputs.numpy()}, "float32")
    assert result.output.shape == expected.shape
    np.testing.assert_allclose(result.output, expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", COMMON)
def test_common_module(name: str, tmp_path: Path) -> None:
    assert_same(COMMON[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", TAIL)
def test_module_of_the_long_tail(name: str, tmp_path: Path) -> None:
    assert_same(TAIL[name], tmp_path)


@pytest.mark.parametrize("target", ["iOS15", "iOS18"])
def test_attention_of_either_system_holds_in_half(target: str, tmp_path: Path) -> None:
    inputs = torch.randn(2, 5, 4)
    package = traced_package(Attention(), [inputs], tmp_path / "m.mlpackage", "FLOAT16", target)
    result = evaluate(package, {"x0": inputs.numpy()}, "float16")
    np.testing.assert_allclose(result.output, Attention()(inputs).numpy(), atol=2e-2)
