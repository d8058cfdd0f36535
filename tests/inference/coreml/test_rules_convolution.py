"""Convolutions, pools and norms against torch."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from tests.inference.coreml.folding import close, noise, rule

sizes = st.integers(1, 5)
CONVOLVE = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}
TURN = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.integers(1, 3))
def test_conv(rank: int, kernel: int, stride: int, dilation: int, pad: int, groups: int) -> None:
    spatial = rank - 2
    x, weight, bias = noise(2, 2 * groups, *[7] * spatial), noise(groups * 2, 2, *[kernel] * spatial), noise(groups * 2)
    arguments: dict[str, Any] = {"strides": [stride] * spatial, "dilations": [dilation] * spatial, "groups": groups}
    got = rule("conv", x=x, weight=weight, bias=bias, pad_type="custom", pad=[pad, pad] * spatial, **arguments)
    close(got, CONVOLVE[rank](x, weight, bias, stride, pad, dilation, groups))


@pytest.mark.parametrize(("pad_type", "before", "after"), [("same", 0, 1), ("same_lower", 1, 0), ("valid", 0, 0)])
def test_conv_places_the_odd_border(pad_type: str, before: int, after: int) -> None:
    x, weight = noise(1, 1, 4, 4), noise(1, 1, 2, 2)
    got = rule("conv", x=x, weight=weight, strides=[1, 1], pad_type=pad_type, pad=[0] * 4, dilations=[1, 1], groups=1)
    close(got, F.conv2d(F.pad(x, (before, after, before, after)), weight))


def test_conv_quantized_is_a_conv_of_the_decoded_weight() -> None:
    x, weight = noise(1, 2, 5, 5), torch.arange(16, dtype=torch.uint8).reshape(2, 2, 2, 2)
    scale, offset = torch.tensor([0.1, 0.2]), torch.tensor([-1.0, 0.5])
    got = rule("conv_quantized", x=x, weight=weight, quantization_type="linear", quant_scale=scale, quant_bias=offset)
    close(got, F.conv2d(x, weight * scale.reshape(2, 1, 1, 1) + offset.reshape(2, 1, 1, 1)))


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 5), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1), st.integers(1, 2))
def test_conv_transpose(rank: int, kernel: int, stride: int, dilation: int, pad: int, groups: int) -> None:
    spatial = rank - 2
    x, weight, bias = noise(2, 2 * groups, *[5] * spatial), noise(2 * groups, 3, *[kernel] * spatial), noise(3 * groups)
    shared: dict[str, Any] = {"strides": [stride] * spatial, "dilations": [dilation] * spatial, "groups": groups}
    wanted = TURN[rank](x, weight, bias, stride, pad, 0, groups, dilation)
    got = rule("conv_transpose", x=x, weight=weight, bias=bias, pad_type="custom", pad=[pad, pad] * spatial, **shared)
    close(got, wanted)
    if stride > 1:
        larger = TURN[rank](x, weight, bias, stride, pad, 1, groups, dilation)
        shaped = rule(
            "conv_transpose", x=x, weight=weight, bias=bias, pad_type="custom", pad=[pad, pad] * spatial,
            output_shape=list(larger.shape), **shared,
        )  # fmt: skip
        close(shaped, larger)


def test_conv_transpose_same_gives_size_times_stride() -> None:
    got = rule("conv_transpose", x=noise(1, 1, 4, 4), weight=noise(1, 1, 3, 3), strides=[2, 2], pad_type="same", pad=[0] * 4)
    assert got.shape == (1, 1, 8, 8)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(3, 5), st.integers(2, 3), st.integers(1, 3), st.integers(0, 1), st.booleans(), st.booleans(), st.integers(4, 8)
)
def test_pools(rank: int, kernel: int, stride: int, pad: int, ceil: bool, excluding: bool, size: int) -> None:
    spatial = rank - 2
    x = noise(1, 2, *[size] * spatial)
    shared = {
        "kernel_sizes": [kernel] * spatial,
        "strides": [stride] * spatial,
        "pad_type": "custom",
        "pad": [pad, pad] * spatial,
    }
    largest = {3: F.max_pool1d, 4: F.max_pool2d, 5: F.max_pool3d}[rank](x, kernel, stride, pad, ceil_mode=ceil)
    close(rule("max_pool", x=x, ceil_mode=ceil, **shared), largest)
    mean = {3: F.avg_pool1d, 4: F.avg_pool2d, 5: F.avg_pool3d}[rank](x, kernel, stride, pad, ceil, not excluding)
    close(rule("avg_pool", x=x, ceil_mode=ceil, exclude_padding_from_average=excluding, **shared), mean)


def test_l2_pool_and_the_padding_same_lower() -> None:
    x = noise(1, 2, 4, 4)
    got = rule("l2_pool", x=x, kernel_sizes=[2, 2], strides=[2, 2], pad_type="valid", pad=[0] * 4)
    close(got, F.lp_pool2d(x, 2.0, 2, 2))
    lower = rule("max_pool", x=x, kernel_sizes=[2, 2], strides=[1, 1], pad_type="same_lower", pad=[0] * 4)
    close(lower, F.max_pool2d(F.pad(x, (1, 0, 1, 0), value=-99.0), 2, 1))


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 5), sizes, sizes)
def test_norms(rank: int, channels: int, size: int) -> None:
    x = noise(2, channels, *[size + 1] * (rank - 2))
    mean, variance, gamma, beta = noise(channels), noise(channels).abs() + 0.5, noise(channels) + 2, noise(channels)
    got = rule("batch_norm", x=x, mean=mean, variance=variance, gamma=gamma, beta=beta, epsilon=1e-3)
    close(got, F.batch_norm(x, mean, variance, gamma, beta, False, 0.0, 1e-3))
    got = rule("instance_norm", x=x, gamma=gamma, beta=beta, epsilon=1e-3)
    close(got, F.instance_norm(x, None, None, gamma, beta, True, 0.0, 1e-3), 1e-4)
    close(rule("local_response_norm", x=x, size=3, alpha=0.4, beta=0.6, k=1.5), F.local_response_norm(x, 3, 0.4, 0.6, 1.5))


def test_instance_norm_of_a_single_pixel_and_layer_norm_of_inner_axes() -> None:
    close(rule("instance_norm", x=noise(1, 2, 1, 1), epsilon=1e-3), torch.zeros(1, 2, 1, 1))
    x, gamma, beta = noise(2, 3, 4), noise(3) + 2, noise(3)
    got = rule("layer_norm", x=x, axes=[1], gamma=gamma, beta=beta, epsilon=1e-3)
    close(got, F.layer_norm(x.transpose(1, 2), (3,), gamma, beta, 1e-3).transpose(1, 2))
