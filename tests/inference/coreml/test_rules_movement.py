"""Reading, writing and moving elements, lists and casts."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from tests.inference.coreml.folding import close, every, noise, rule

sizes = st.integers(1, 5)


@pytest.mark.parametrize("mode", ["update", "add", "sub", "mul", "div", "max", "min"])
def test_scatter_in_every_mode(mode: str) -> None:
    data, updates, places = noise(4, 3) + 3, noise(2, 3) + 4, [3, -4]
    wanted = data.clone()
    for row, update in zip(places, updates, strict=True):
        combine = {"update": lambda old, new: new, "max": torch.maximum, "min": torch.minimum}
        combine |= {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
        wanted[row] = combine[mode](wanted[row], update)
    close(rule("scatter", data=data, indices=places, updates=updates, axis=0, mode=mode), wanted)
    close(rule("scatter_nd", data=data, indices=[[row] for row in places], updates=updates, mode=mode), wanted)
    along = torch.tensor(places)[:, None].expand(2, 3)
    close(rule("scatter_along_axis", data=data, indices=along, updates=updates, axis=0, mode=mode), wanted)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_gathers(data: st.DataObject) -> None:
    shape = data.draw(st.lists(sizes, min_size=2, max_size=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x, size = noise(*shape), shape[axis]
    places = torch.tensor(data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=4)))
    close(rule("gather", x=x, indices=places, axis=axis), torch.from_numpy(np.take(x.numpy(), places.numpy(), axis)))
    full = [torch.tensor(data.draw(st.integers(-extent, extent - 1))) for extent in shape]
    assert rule("gather_nd", x=x, indices=torch.stack(full)[None]).item() == x[tuple(full)].item()
    along = torch.argsort(x, axis)
    close(rule("gather_along_axis", x=x, indices=along, axis=axis), torch.take_along_dim(x, along, axis))


def test_an_index_outside_fails() -> None:
    for op_type, arguments in {
        "gather": {"x": [1.0, 2.0], "indices": [5], "axis": 0},
        "gather_nd": {"x": [1.0, 2.0], "indices": [[5]]},
        "scatter_nd": {"data": [1.0, 2.0], "indices": [[5]], "updates": [1.0], "mode": "add"},
        "scatter": {"data": [1.0, 2.0], "indices": [5], "updates": [1.0], "mode": "update"},
    }.items():
        with pytest.raises((IndexError, RuntimeError)):
            rule(op_type, **arguments)


def test_blocks_move_and_come_back() -> None:
    x = noise(2, 4, 4, 6)
    close(rule("pixel_shuffle", x=x, upscale_factor=2), F.pixel_shuffle(x, 2))
    close(rule("pixel_unshuffle", x=x, downscale_factor=2), F.pixel_unshuffle(x, 2))
    paddings = [[1, 1], [0, 2]]
    spread = rule("space_to_batch", x=x, block_shape=[2, 2], paddings=paddings)
    assert spread.shape == (8, 4, 3, 4)
    close(spread[2:4], F.pad(x, (0, 2, 1, 1))[..., 0::2, 1::2])
    close(rule("batch_to_space", x=spread, block_shape=[2, 2], crops=paddings), x)


def test_windows_sequences_and_shapes_of_others() -> None:
    x = torch.arange(10.0).reshape(2, 5)
    assert rule("sliding_windows", x=x, axis=1, size=3, stride=2).tolist() == [[[0, 1, 2], [2, 3, 4]], [[5, 6, 7], [7, 8, 9]]]
    turned = rule("reverse_sequence", x=x, lengths=[2, 4], seq_axis=1, batch_axis=0)
    assert turned.tolist() == [[1, 0, 2, 3, 4], [8, 7, 6, 5, 9]]
    assert rule("reverse_sequence", x=x.T, lengths=[2, 4], seq_axis=0, batch_axis=1).tolist() == turned.T.tolist()
    shaped = rule(
        "reshape_like", x=torch.arange(12.0), ref_tensors=(torch.zeros(2, 9), torch.zeros(7, 3, 2)), begins=(0, 1), ends=(1, 0),
        end_masks=(False, True),
    )  # fmt: skip
    assert shaped.shape == (2, 3, 2)
    assert rule("shape", x=x).tolist() == [2, 5]
    assert rule("fill_like", ref_tensor=x, value=2.0).tolist() == [[2.0] * 5] * 2
    close(rule("crop", x=noise(1, 4, 5), crop_height=[1, 0], crop_width=[2, 1]), noise(1, 4, 5)[:, 1:, 2:4])
    close(rule("silu", x=x), F.silu(x))
    pair = (torch.tensor([[1, 2]]), torch.tensor([[3, 4]]))
    assert rule("concat", values=pair, axis=1, interleave=True).tolist() == [[1, 3, 2, 4]]


def test_lists_grow_and_keep_what_was_written() -> None:
    (empty,) = every("make_list", elem_shape=(2,), init_length=1, dynamic_length=True, dtype="fp32")
    (longer,) = every("list_write", ls=empty, index=2, value=[1.0, 2.0])
    assert rule("list_length", ls=longer).item() == 3
    assert rule("list_length", ls=empty).item() == 1
    assert rule("list_read", ls=longer, index=2).tolist() == [1.0, 2.0]
    (written,) = every("list_scatter", ls=longer, indices=[0, 1], value=[[5.0, 5.0], [6.0, 6.0]])
    assert rule("list_gather", ls=written, indices=[1, 2]).tolist() == [[6.0, 6.0], [1.0, 2.0]]


def test_casts_stop_at_the_ends_of_a_type_and_integers_wrap() -> None:
    x = [1e9, -1e9, 2.7, -2.7, float("nan"), float("inf")]
    assert rule("cast", x=x, dtype="int8").tolist() == [127, -128, 2, -2, 0, 127]
    assert rule("cast", x=x, dtype="uint16").tolist() == [65535, 0, 2, 0, 0, 65535]
    assert rule("cast", x=[3e9], dtype="int32").tolist() == [2**31 - 1]
    assert rule("cast", x=[256, -1], dtype="uint8").tolist() == [0, 255]
    assert rule("cast", x=[0.0, 0.5], dtype="bool").tolist() == [False, True]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_slices_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.lists(sizes, min_size=1, max_size=3))
    ends = st.integers(-7, 7)
    begin, end = ([data.draw(ends) for _ in shape] for _ in range(2))
    steps = [data.draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) for _ in shape]
    open_begin, open_end = ([data.draw(st.booleans()) for _ in shape] for _ in range(2))
    bounds = zip(begin, end, steps, open_begin, open_end, strict=True)
    index = tuple(slice(None if a else b, None if z else e, step) for b, e, step, a, z in bounds)
    x, part = noise(*shape), noise(*shape).numpy()[index]
    arguments = {"begin": begin, "end": end, "stride": steps, "begin_mask": open_begin, "end_mask": open_end}
    got = rule("slice_by_index", x=x, **arguments)
    assert got.numpy().tolist() == part.tolist()
    assert got.shape == part.shape
    written = x.numpy().copy()
    written[index] = part * 2
    assert rule("slice_update", x=x, update=part * 2, **arguments).numpy().tolist() == written.tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_reductions_and_broadcasting_are_numpys(data: st.DataObject) -> None:
    shape = data.draw(st.lists(sizes, min_size=1, max_size=4))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    signed = [axis - len(shape) * data.draw(st.integers(0, 1)) for axis in axes]
    keep = data.draw(st.booleans())
    x = noise(*shape)
    functions: dict[str, Any] = {
        "reduce_sum": np.sum,
        "reduce_mean": np.mean,
        "reduce_max": np.max,
        "reduce_min": np.min,
        "reduce_prod": np.prod,
    }
    for op_type, function in functions.items():
        wanted = torch.from_numpy(np.asarray(function(x.numpy(), axis=tuple(axes), keepdims=keep)))
        close(rule(op_type, x=x, axes=signed, keep_dims=keep), wanted)
    other = noise(*[1 if axis in axes else size for axis, size in enumerate(shape)])
    close(rule("sub", x=x, y=other), x - other)
    close(rule("real_div", x=x, y=other[0]), x / other[0])
