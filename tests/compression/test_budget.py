import pytest

from explorer.compression.budget import check_accuracy, check_smaller
from explorer.errors import ExplorerError


def test_a_drop_of_just_the_budget_is_allowed() -> None:
    check_accuracy(0.99, 0.98, 0.01, "")
    check_accuracy(0.98, 0.99, 0.0, "")
    check_accuracy(None, None, 0.0, "")


def test_a_larger_drop_is_refused_with_the_remedy() -> None:
    with pytest.raises(ExplorerError, match=r"fell from 0\.9900 to 0\.9790, by 0\.0110 where 0\.01 is allowed: try this"):
        check_accuracy(0.99, 0.979, 0.01, "try this")


@pytest.mark.parametrize("bytes_", [981, 1000, 1200])
def test_a_file_that_is_no_smaller_is_refused(bytes_: int) -> None:
    with pytest.raises(ExplorerError, match="saves nothing"):
        check_smaller("net.onnx", 1000, bytes_)


def test_a_smaller_file_gives_its_ratio() -> None:
    assert check_smaller("net.onnx", 1000, 270) == 0.27
