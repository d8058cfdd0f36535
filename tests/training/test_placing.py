"""Nested batches become tensors on the device, 64-bit floats narrower, with one notice."""

import warnings
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from explorer.reporter import QuietReporter
from explorer.training.placing import Placer

Pair = namedtuple("Pair", ["inputs", "targets"])


@pytest.fixture
def report(tmp_path: Path) -> QuietReporter:
    return QuietReporter(tmp_path)


@pytest.fixture
def placer(report: QuietReporter) -> Placer:
    return Placer("meta", lambda tensor: tensor.to("meta"), report)


def test_nesting_is_kept_and_every_tensor_moves(placer: Placer) -> None:
    data = {"x": [torch.ones(2), (np.ones(3, np.int64), None)], "name": "a", "pair": Pair(torch.ones(1), np.float32(2))}
    placed = placer.place(data)
    assert placed["x"][0].device.type == "meta"
    assert isinstance(placed["x"][1], tuple)
    assert placed["x"][1][0].dtype == torch.int64
    assert placed["x"][1][1] is None
    assert placed["name"] == "a"
    assert isinstance(placed["pair"], Pair)
    assert placed["pair"].targets.device.type == "meta"
    assert placed["pair"].targets.shape == ()


@pytest.mark.parametrize("wide", [torch.ones(2, dtype=torch.float64), np.ones(2), [np.float64(1)]])
def test_float64_becomes_float32_with_one_notice(placer: Placer, report: QuietReporter, wide: Any) -> None:
    for _ in range(3):
        placed = placer.place((wide, wide))[0]
        assert (placed[0] if isinstance(placed, list) else placed).dtype == torch.float32
    assert report.messages == ["float64 data trains as float32"]


def test_complex128_becomes_complex64(placer: Placer, report: QuietReporter) -> None:
    assert placer.place(torch.ones(2, dtype=torch.complex128)).dtype == torch.complex64
    assert report.messages == ["complex128 data trains as complex64"]


def test_narrow_types_stay(placer: Placer, report: QuietReporter) -> None:
    for dtype in (torch.float32, torch.float16, torch.uint8, torch.bool, torch.int64):
        assert placer.place(torch.ones(2, dtype=dtype)).dtype == dtype
    assert report.messages == []


@pytest.mark.parametrize("array", [np.arange(6, dtype=">f4"), np.arange(6, dtype=np.float32)[::-1], np.arange(6, dtype="<f4")])
def test_arrays_that_torch_cannot_share_are_copied(report: QuietReporter, array: Any) -> None:
    array.flags.writeable = False
    placer = Placer("cpu", lambda tensor: tensor, report)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert placer.place(array).tolist() == array.tolist()


def test_texts_stay_and_objects_with_a_method_to_move_themselves(placer: Placer) -> None:
    words = np.array(["a", "b"])
    assert placer.place(words) is words
    packed = placer.place(pack_sequence([torch.ones(3), torch.ones(2)]))
    assert packed.data.device.type == "meta"
    assert packed.batch_sizes.device.type == "cpu"
