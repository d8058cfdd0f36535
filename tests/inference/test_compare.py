import math

import numpy as np
import pytest

from explorer.inference.compare import Array, Tolerance, compare, snr_db
from explorer.schemas.results import Check

EXACT = Tolerance(max_abs_error=1e-5)


def check(reference: Array, candidate: Array, tolerance: Tolerance = EXACT, classes: bool = False) -> Check:
    return compare(reference, candidate, runtime="r", mode="m", tolerance=tolerance, classes=classes)


def test_equal_outputs_pass_with_infinite_snr() -> None:
    values = np.ones((4, 3), np.float32)
    result = check(values, values)
    assert result.passed
    assert (result.samples, result.max_abs_error, result.max_rel_error) == (4, 0.0, 0.0)
    assert math.isinf(result.snr_db)


@pytest.mark.parametrize(("error", "passed"), [(9e-6, True), (1.1e-5, False)])
def test_small_outputs_are_judged_absolutely(error: float, passed: bool) -> None:
    reference = np.array([[0.5], [0.1]])
    assert check(reference, reference + error).passed is passed


@pytest.mark.parametrize(("error", "passed"), [(9e-4, True), (1.1e-3, False)])
def test_large_outputs_are_judged_relatively(error: float, passed: bool) -> None:
    reference = np.array([[100.0], [1.0]])
    assert check(reference, reference + error).passed is passed


def test_relative_error_is_of_the_largest_magnitude() -> None:
    assert check(np.array([[-8.0, 1.0]]), np.array([[-8.0, 3.0]])).max_rel_error == 0.25


def test_snr_is_signal_over_noise_power() -> None:
    assert snr_db(np.array([10.0, 0.0]), np.array([10.0, 1.0])) == pytest.approx(20.0)


def test_snr_can_be_asked_for() -> None:
    reference = np.full((2, 2), 10.0)
    assert check(reference, reference + 0.1, Tolerance(min_snr_db=39.0)).passed
    assert not check(reference, reference + 0.1, Tolerance(min_snr_db=41.0)).passed


def test_agreement_is_the_share_of_the_same_class() -> None:
    reference = np.eye(4)
    candidate = reference.copy()
    candidate[0] = [0, 1, 0, 0]
    result = check(reference, candidate, Tolerance(min_agreement=0.8), classes=True)
    assert result.agreement == 0.75
    assert not result.passed
    assert check(reference, candidate, Tolerance(min_agreement=0.75), classes=True).passed


def test_agreement_is_none_without_classes() -> None:
    assert check(np.eye(2), np.eye(2)).agreement is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("both", [True, False])
def test_nan_and_infinity_never_pass(bad: float, both: bool) -> None:
    reference = np.ones((2, 2))
    candidate = reference.copy()
    candidate[0, 0] = bad
    result = check(candidate if both else reference, candidate, Tolerance(min_agreement=0.0), classes=True)
    assert not result.passed
    assert "NaN" in result.first_difference


def test_other_shapes_never_pass() -> None:
    result = check(np.ones((2, 3)), np.ones((2, 1)), Tolerance(), classes=True)
    assert not result.passed
    assert "(2, 1)" in result.first_difference


def test_tolerance_in_words_names_every_limit() -> None:
    words = Tolerance(1e-5, 0.995, 30.0).words()
    assert words == "error <= 1e-05 of max(1, largest output), same class on >= 99.5%, signal-to-noise >= 30 dB"
