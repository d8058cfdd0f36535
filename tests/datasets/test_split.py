import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.datasets.dataset import Dataset, Parts
from explorer.datasets.oddities import oddities
from explorer.datasets.split import held_out_positions, others, split


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9]))
def test_parts_are_whole_disjoint_and_stratified(labels: list[int], share: float) -> None:
    classes = np.array(labels)
    chosen = held_out_positions(len(classes), share, classes)
    rest = others(len(classes), chosen)
    assert sorted([*chosen, *rest]) == list(range(len(classes)))
    assert len(rest)
    if share == 0:
        assert not len(chosen)
    elif len(classes) > 1:
        assert len(chosen)
    wanted = [min(max(0, count - 1), round(count * share)) for count in np.bincount(classes)]
    if sum(wanted):
        assert np.bincount(classes[chosen], minlength=len(wanted)).tolist() == wanted


def test_without_classes_the_share_is_of_all() -> None:
    assert len(held_out_positions(100, 0.3)) == 30
    assert held_out_positions(100, 0.3).tolist() == held_out_positions(100, 0.3).tolist()
    assert held_out_positions(1, 0.5).tolist() == []
    whole = Dataset("a", np.zeros((5, 1), np.float32), np.zeros((5, 1), np.float32), None)
    assert [len(part) for part in split(whole, 0.2) if part is not None] == [4, 1]


def test_samples_spread_over_the_whole_data_are_of_every_class() -> None:
    whole = Dataset("a", np.arange(100, dtype=np.float32)[:, None], np.arange(100) // 25, 4)
    assert np.bincount(whole.spread(8).targets).tolist() == [2, 2, 2, 2]
    assert whole.spread(100) is whole


def test_what_is_odd_is_told_with_count_and_first_sample() -> None:
    inputs = np.zeros((6, 2), np.float32)
    inputs[2, 1] = np.nan
    inputs[4] = np.inf
    data = Dataset("a", inputs, np.array([0, 0, 1, 3, 3, 3]), 4, ("ant", "bee", "cat", "dog"))
    titles = {oddity.title: oddity for oddity in oddities(Parts(data, None))}
    assert "in 2 of 6 samples, the first is sample 2" in titles["3 numbers of the inputs are NaN or infinite"].evidence
    assert titles["one class has a single training sample"].evidence == "bee"
    assert titles["one class has no training sample"].evidence == "cat"
    large = Dataset("a", np.full((4, 2), 3e38, np.float32), np.array([0, 0, 1, 1]), 2)
    assert oddities(Parts(large, large)) == []
    values = Dataset("a", np.zeros((2, 1), np.float32), np.array([[np.nan], [1]], np.float32), None)
    assert [oddity.title for oddity in oddities(Parts(values, None))] == ["one number of the targets is NaN or infinite"]


@pytest.mark.parametrize("what", ["inputs", "targets"])
def test_held_out_values_that_are_not_finite_are_told_before_they_spoil_a_validation(what: str) -> None:
    zeros, one_bad = np.zeros((2, 1), np.float32), np.array([[0.0], [np.inf]], np.float32)
    good = Dataset("a", zeros, zeros, None)
    spoilt = Dataset("a", one_bad, zeros, None) if what == "inputs" else Dataset("a", zeros, one_bad, None)
    (oddity,) = oddities(Parts(good, spoilt))
    assert oddity.title == f"one number of the held-out {what} is NaN or infinite"
    assert oddity.evidence == "in 1 of 2 samples, the first is sample 1"
    assert oddity.remedy.startswith("no validation can be finite")
