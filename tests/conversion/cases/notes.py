"""Sixty-one operators and patterns that conversions are known to stumble over, one a case."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.conversion.cases.case import Built, Case, image, net, of, rows
from tests.conversion.cases.patterns import (
    ManualLstm,
    Rotary,
    SelfAttention,
    cell,
    half_mask,
    hand_rms,
    index_put,
    one_hot_cumsum,
    slice_assign,
    tuple_of,
)

attention = F.scaled_dot_product_attention


def positive(*shape: int) -> Tensor:
    return torch.rand(1, *shape) * 0.98 + 0.01


def far(seed: int) -> tuple[Tensor, ...]:
    return (300 + torch.randn(1, 6, 16),)


def training_norm() -> Built:
    module, inputs = net(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), image())
    return module.train(), inputs


def heads(queries: int = 4, keys: int = 4) -> tuple[Tensor, ...]:
    return torch.randn(1, queries, 6, 8), torch.randn(1, keys, 6, 8), torch.randn(1, keys, 6, 8)


def gated(x: Tensor) -> Tensor:
    return x * 2 if bool(x.sum() > 0) else -x


def large(x: Tensor) -> Tensor:
    return (x.long() + 3_000_000_000).float()


def grid(dimensions: int) -> Built:
    shape = (5,) * dimensions
    return of(
        lambda x, at: F.grid_sample(x, at, align_corners=False),
        torch.randn(1, 2, *shape),
        torch.rand(1, *shape, dimensions) * 2 - 1,
    )


ISSUE = "coremltools#"
NOTES = (
    Case("int_shape", lambda: of(lambda x: x.reshape(1, 3, int(x.shape[2] * x.shape[3])), image()), f"{ISSUE}2633"),
    Case("convolution", lambda: net(nn.Conv2d(3, 4, 3, padding=1), image()), f"{ISSUE}2615"),
    Case("max_pool", lambda: of(lambda x: F.max_pool2d(x, 2), image()), f"{ISSUE}2415"),
    Case("attention_module", lambda: net(SelfAttention(), rows(5, 8)), f"{ISSUE}2311"),
    Case("lstm", lambda: net(nn.Sequential(nn.LSTM(8, 6, batch_first=True), tuple_of(0)), rows()), f"{ISSUE}1171"),
    Case("gru", lambda: net(nn.Sequential(nn.GRU(8, 6, batch_first=True), tuple_of(0)), rows()), f"{ISSUE}755"),
    Case("lstm_cell", lambda: net(cell(nn.LSTMCell(8, 6)), torch.randn(1, 8)), f"{ISSUE}1344"),
    Case("bicubic", lambda: of(lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), image()), f"{ISSUE}1747"),
    Case(
        "antialias", lambda: of(lambda x: F.interpolate(x, size=(5, 5), mode="bilinear", antialias=True), image()), "notes row 10"
    ),
    Case("grid_sample_5d", lambda: grid(3), f"{ISSUE}1063", coreml="grid_sampl"),
    Case("grid_sample", lambda: grid(2), f"{ISSUE}1875"),
    Case("index_put", lambda: of(index_put, rows(), at=torch.tensor([1, 4])), f"{ISSUE}2188"),
    Case("slice_assign", lambda: of(slice_assign, rows(), rows()), f"{ISSUE}1522"),
    Case("complex_abs", lambda: of(lambda x: torch.complex(x, x * 2).abs(), rows()), f"{ISSUE}1539"),
    Case("rotary_complex", lambda: net(Rotary(), rows(6, 8)), f"{ISSUE}2003"),
    Case(
        "stft",
        lambda: of(lambda x: torch.stft(x, 16, 8, window=torch.hann_window(16), return_complex=True).abs(), rows(64)),
        f"{ISSUE}2212",
    ),
    Case("dict_output", lambda: of(lambda x: {"twice": x * 2, "sum": x.sum(-1)}, rows()), f"{ISSUE}2104"),
    Case("finfo_mask", lambda: of(half_mask, rows(6, 6)), f"{ISSUE}2223"),
    Case("hand_rms_norm", lambda: of(hand_rms, 300 + rows(6, 16)), f"{ISSUE}2164", further=far),
    Case("sum_of_squares", lambda: of(lambda x: (x**2).sum(-1), 12 + rows(4, 512)), "uform#50"),
    Case("log_sum_exp", lambda: of(lambda x: x.exp().sum(-1).log(), 12 + rows()), "uform#50"),
    Case("grouped_query", lambda: of(lambda q, k, v: attention(q, k, v, enable_gqa=True), *heads(8, 2)), f"{ISSUE}2855"),
    Case("attention_scale", lambda: of(lambda q, k, v: attention(q, k, v, scale=0.2), *heads()), f"{ISSUE}2864"),
    Case("large_integer", lambda: of(large, rows()), f"{ISSUE}830", coreml="add"),
    Case(
        "rank_six",
        lambda: of(lambda x: x.reshape(1, 2, 2, 2, 2, 2).permute(0, 2, 1, 4, 3, 5).flatten(1), rows(32)),
        "notes row 31",
    ),
    Case(
        "einsum_ellipsis",
        lambda: of(lambda x, y: torch.einsum("...ij,...jk->...ik", x, y), rows(4, 5), rows(5, 3)),
        f"{ISSUE}2706",
    ),
    Case("rms_norm", lambda: net(nn.RMSNorm(8), rows()), "notes row 35"),
    Case("data_dependent", lambda: of(lambda x: x[x > 0.2], rows()), f"{ISSUE}1132"),
    Case("branch", lambda: of(gated, rows()), "notes row 37", coreml="", onnx=""),
    Case("training_mode", training_norm, "notes row 38"),
    Case("dimension_auto", lambda: net(nn.Linear(8, 3), rows()), "notes row 44"),
    Case("manual_lstm", lambda: net(ManualLstm(), rows(4, 5)), "pytorch#191855"),
    Case(
        "bicubic_antialias",
        lambda: of(lambda x: F.interpolate(x, size=(5, 6), mode="bicubic", antialias=True), image()),
        "notes, ONNX",
    ),
    Case("rfft", lambda: of(lambda x: torch.fft.rfft(x).abs(), rows(16)), f"{ISSUE}2212"),
    Case("fft_2d", lambda: of(lambda x: torch.fft.fft2(x).real, image(2, 4)), f"{ISSUE}2212"),
    Case("fold", lambda: of(lambda x: F.fold(x, (6, 6), 2, stride=2), torch.randn(1, 12, 9)), "notes, ONNX"),
    Case("unfold", lambda: of(lambda x: F.unfold(x, 3, padding=1), image()), f"{ISSUE}1547"),
    Case("adaptive_pool", lambda: of(lambda x: F.adaptive_avg_pool2d(x, 3), image(3, 7)), "notes, ONNX"),
    Case("imaginary_unit", lambda: of(lambda x: torch.view_as_real(x * 1j), rows()), "notes, ONNX"),
    Case(
        "inverse",
        lambda: of(torch.linalg.inv, torch.eye(3) * 3 + torch.rand(1, 3, 3)),
        "notes, ONNX",
        further=lambda seed: (torch.eye(3) * 2 + torch.rand(1, 3, 3),),
    ),
    Case("singular_values", lambda: of(torch.linalg.svdvals, rows(3, 3)), "notes, ONNX", coreml="svd", onnx="svd"),
    Case("resize_nearest", lambda: of(lambda x: F.interpolate(x, scale_factor=2), image()), "notes, micro-models"),
    Case(
        "resize_bilinear",
        lambda: of(lambda x: F.interpolate(x, size=(13, 11), mode="bilinear", align_corners=False), image()),
        "notes, micro-models",
    ),
    Case("group_norm", lambda: net(nn.GroupNorm(2, 4), image(4)), "notes, micro-models"),
    Case("instance_norm", lambda: net(nn.InstanceNorm2d(3, affine=True), image()), f"{ISSUE}785"),
    Case("pixel_shuffle", lambda: net(nn.PixelShuffle(2), image(4)), f"{ISSUE}1321"),
    Case("one_hot_cumsum", lambda: of(one_hot_cumsum, torch.tensor([[0, 3, 1, 2]])), f"{ISSUE}2403"),
    Case("top_k", lambda: of(lambda x: x.topk(3, -1)[0], rows()), f"{ISSUE}986"),
    Case(
        "gather",
        lambda: of(lambda x, at: x.gather(1, at), rows(4, 3), torch.tensor([[[0, 3, 1], [2, 0, 3]]])),
        "notes, micro-models",
    ),
    Case(
        "scatter",
        lambda: of(lambda x, at: torch.zeros(1, 6).scatter(1, at, x), rows(3), torch.tensor([[0, 2, 5]])),
        f"{ISSUE}2406",
        further=lambda seed: (rows(3), torch.tensor([[4, 1, 3]])),
    ),
    Case(
        "triangle_mask",
        lambda: of(lambda x: x.masked_fill(torch.ones(6, 6).triu(1).bool(), -1e4).softmax(-1), rows(6, 6)),
        "notes, micro-models",
    ),
    Case(
        "convolution_transpose",
        lambda: net(nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), image()),
        f"{ISSUE}2010",
    ),
    Case("dynamic_batch_view", lambda: of(lambda x: x.view(x.shape[0], -1).sum(-1), image()), "pytorch#126607"),
    Case("reflection_pad", lambda: of(lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), image()), f"{ISSUE}1066"),
    Case("roll", lambda: of(lambda x: torch.roll(x, (1, -2), (2, 3)), image()), "notes, micro-models"),
    Case(
        "meshgrid",
        lambda: of(
            lambda x: x + torch.stack(torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")).sum(0), image()
        ),
        "notes, micro-models",
    ),
    Case(
        "standard_deviation", lambda: of(lambda x: torch.cat([x.std(-1), x.var(-1, unbiased=False)], -1), rows()), f"{ISSUE}2406"
    ),
    Case("gelu_tanh", lambda: net(nn.GELU("tanh"), rows()), "notes, micro-models"),
    Case("in_place", lambda: of(lambda x: (x * 1).add_(1).mul_(2).clamp_(-1, 3), rows()), f"{ISSUE}1422"),
    Case(
        "floor_divide",
        lambda: of(lambda x: torch.floor_divide(x, 0.3) + torch.remainder(x, 0.7), rows()),
        "notes, micro-models",
        further=lambda seed: (torch.randint(-9, 9, (1, 6, 8)) * 0.31 + 0.05,),
    ),
    Case("erf_normal", lambda: of(lambda x: 0.5 * (1 + torch.erf(x / math.sqrt(2))), rows()), "notes, micro-models"),
)
