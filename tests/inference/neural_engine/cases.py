"""For each rule a program that it speaks of, and the closest one that it should let pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from explorer.inference.coreml.ports import Port
from explorer.inference.coreml.program import Program
from tests.inference.neural_engine.programs import (
    builder,
    by_hand,
    compressed,
    conv,
    counting,
    good_network,
    numbers,
    open_batch,
    program,
    repeated,
)

Make = Callable[[], Program]
IMAGE, TEXT = (1, 8, 32, 32), (1, 16, 64)
good, opened = cache(good_network), cache(open_batch)


@dataclass(frozen=True)
class Case:
    """`speaks` makes the rule speak and names `where`, `silent` does not."""

    speaks: Make
    silent: Make = good
    where: str = ""


def _on_image(body: Callable[[Any, Any], Any], **options: Any) -> Make:
    return lambda: program(lambda x: body(builder(), x), IMAGE, **options)


def _on_text(body: Callable[[Any, Any], Any], **options: Any) -> Make:
    return lambda: program(lambda x: body(builder(), x), TEXT, **options)


def _with_ports(*shapes: tuple[tuple[int, ...], ...]) -> Make:
    ports = [Port(f"x{index}", (None, 8), True, False, 1, shapes=one) for index, one in enumerate(shapes)]
    return lambda: replace(opened(), inputs={port.name: port for port in ports})


def _linears(mb: Any, x: Any, count: int) -> Any:
    return repeated(x, *[lambda value: mb.relu(x=mb.linear(x=value, weight=numbers(64, 64)))] * count)


def _attention(mb: Any, x: Any) -> Any:
    heads = mb.reshape(x=x, shape=[1, 16, 4, 16])
    return mb.matmul(x=heads, y=mb.sigmoid(x=heads), transpose_y=True)


def _sampled(mb: Any, x: Any) -> Any:
    grid = np.zeros((1, 4, 4, 2), np.float32)
    options = {"sampling_mode": "bilinear", "padding_mode": "constant", "padding_value": 0.0}
    more = {"coordinates_mode": "normalized_minus_one_to_one", "align_corners": False}
    return mb.resample(x=x, coordinates=grid, **options, **more)


def _recurrent(mb: Any, x: Any) -> Any:
    steps, zeros = mb.transpose(x=x, perm=[1, 0, 2]), np.zeros((1, 8), np.float32)
    weights = {"weight_ih": numbers(32, 64), "weight_hh": numbers(32, 8), "bias": numbers(32)}
    return mb.lstm(x=steps, initial_h=zeros, initial_c=zeros, **weights)[0]


def _gathered(mb: Any, x: Any) -> Any:
    return mb.gather_along_axis(x=x, indices=np.zeros((1, 8, 32, 32), np.int32), axis=3)


def _rms(mb: Any, x: Any) -> Any:
    mean = mb.reduce_mean(x=mb.square(x=x), axes=[-1], keep_dims=True)
    return mb.mul(x=x, y=mb.rsqrt(x=mb.add(x=mean, y=1e-3)))


def _layouts(mb: Any, x: Any) -> Any:
    turns = [lambda value: mb.softmax(x=mb.transpose(x=value, perm=[0, 1, 3, 2]), axis=1)] * 8
    return repeated(x, *turns)


def _squeezed(mb: Any, x: Any) -> Any:
    gate = mb.sigmoid(x=conv(mb.reduce_mean(x=x, axes=[2, 3], keep_dims=True), 8, (1, 1)))
    return mb.mul(x=x, y=gate)


def _eight_bits(mb: Any, x: Any) -> Any:
    small = mb.quantize(input=x, scale=np.float32(0.1), zero_point=np.int8(0), output_dtype="int8")
    return conv(mb.dequantize(input=small, scale=np.float32(0.1), zero_point=np.int8(0)), 8)


def _upsampled(factor: int) -> Make:
    return _on_image(lambda mb, x: mb.upsample_nearest_neighbor(x=x, scale_factor_height=factor, scale_factor_width=factor))


def _masked(value: float) -> Make:
    mask = np.triu(np.full((32, 32), value, np.float32), 1)
    return _on_image(lambda mb, x: mb.softmax(x=mb.add(x=x, y=mask), axis=1))


def _turned(second: list[int]) -> Make:
    steps = [("transpose", {"perm": [0, 2, 3, 1]}, (1, 8, 16, 4)), ("gelu", {}, (1, 8, 16, 4))]
    return lambda: by_hand(*steps, ("transpose", {"perm": second}, (1, 4, 8, 16)))


projections = cache(_on_text(lambda mb, x: _linears(mb, x, 4)))

CASES: dict[str, Case] = {
    "float32": Case(_on_image(lambda mb, x: mb.relu(x=conv(x, 8)), precision="FLOAT32"), where="conv"),
    "rank": Case(lambda: by_hand(("reshape", {}, (1, 1, 4, 1, 8, 16))), lambda: by_hand(("reshape", {}, (1, 4, 1, 8, 16)))),
    "custom layers": Case(lambda: by_hand(("custom_layer", {}, (1, 4, 8, 16)))),
    "recurrent layers": Case(_on_text(_recurrent), where="lstm"),
    "open dimensions": Case(opened, _with_ports(((1, 8), (2, 8))), where="x"),
    "enumerated inputs": Case(_with_ports(((1, 8), (2, 8)), ((1, 8), (2, 8))), _with_ports(((1, 8), (2, 8))), where="x0, x1"),
    "gather and topk": Case(_on_image(_gathered), opened, where="gather_along_axis"),
    "resample": Case(_on_image(_sampled), where="resample"),
    "device switches": Case(
        _on_image(lambda mb, x: repeated(mb.relu(x=x), *[lambda value: mb.relu(x=_gathered(mb, value))] * 2)),
        _on_image(lambda mb, x: _gathered(mb, mb.relu(x=conv(x, 8)))),
    ),
    "mask constants": Case(_masked(-3e38), _masked(-1e4), where="add"),
    "dilations": Case(_on_image(lambda mb, x: conv(x, 8, dilations=[2, 2])), where="conv"),
    "pools": Case(
        _on_image(lambda mb, x: mb.max_pool(x=x, kernel_sizes=[3, 3], strides=[3, 3], pad_type="valid")),
        _on_image(lambda mb, x: mb.max_pool(x=x, kernel_sizes=[4, 4], strides=[4, 4], pad_type="valid")),
        where="max_pool",
    ),
    "strides": Case(
        _on_image(lambda mb, x: conv(x, 8, strides=[5, 5])), _on_image(lambda mb, x: conv(x, 8, strides=[3, 3])), where="conv"
    ),
    "kernels": Case(_on_image(lambda mb, x: conv(x, 8, (9, 9))), _on_image(lambda mb, x: conv(x, 8, (7, 7))), where="conv"),
    "upsampling": Case(_upsampled(4), _upsampled(2), where="upsample_nearest_neighbor"),
    "attention": Case(_on_text(_attention), projections, where="matmul"),
    "channels first": Case(_on_text(lambda mb, x: _attention(mb, _linears(mb, x, 4))), projections, where="linear"),
    "linear layers": Case(
        projections,
        _on_text(lambda mb, x: _linears(mb, mb.reduce_mean(x=x, axes=[1], keep_dims=False), 4)),
        where="linear",
    ),
    "layout": Case(_on_image(_layouts), where="transpose"),
    "transpose pairs": Case(_turned([0, 3, 1, 2]), _turned([0, 2, 3, 1]), where="transpose_0"),
    "last axis": Case(
        lambda: program(lambda x: builder().relu(x=x), (1, 256, 64, 2)),
        lambda: program(lambda x: builder().relu(x=x), (1, 2, 256, 64)),
        where="x",
    ),
    "large values": Case(lambda: program(lambda x: conv(x, 32), (1, 3, 512, 1024)), where="conv"),
    "softmax axis": Case(
        lambda: program(lambda x: builder().softmax(x=x, axis=-1), (1, 8, 256, 256)),
        lambda: program(lambda x: builder().softmax(x=x, axis=1), (1, 8, 256, 256)),
        where="softmax",
    ),
    "decomposed norms": Case(
        _on_image(_rms),
        _on_image(lambda mb, x: mb.layer_norm(x=x, axes=[-1], epsilon=1e-3)),
        where="rsqrt",
    ),
    "weights in blocks": Case(
        lambda: compressed("linear", dtype="int4", granularity="per_block", block_size=32),
        lambda: compressed("linear", dtype="int8", granularity="per_channel"),
        where="constexpr_blockwise_shift_scale",
    ),
    "4-bit integers": Case(
        lambda: compressed("linear", dtype="int4", granularity="per_channel"),
        lambda: compressed("palette", mode="uniform", nbits=4),
        where="constexpr_blockwise_shift_scale",
    ),
    "8-bit activations": Case(_on_image(_eight_bits), where="quantize"),
    "sparsity": Case(
        lambda: compressed("magnitude", target_sparsity=0.5),
        lambda: compressed("magnitude", target_sparsity=0.9),
        where="constexpr_sparse_to_dense",
    ),
    "kept state": Case(counting, where="coreml_update_state"),
    "position tables": Case(
        _on_image(lambda mb, x: mb.add(x=mb.sin(x=x), y=mb.cos(x=x))), _on_image(lambda mb, x: mb.sin(x=x)), where="sin"
    ),
    "silu and tanh": Case(_on_image(lambda mb, x: mb.silu(x=conv(x, 8))), where="silu"),
    "channel broadcast": Case(_on_image(_squeezed), where="mul"),
    "port sizes": Case(_on_image(lambda mb, x: (mb.relu(x=x), conv(x, 16))), _on_image(lambda mb, x: (mb.relu(x=x), conv(x, 8)))),
}
