from pathlib import Path

import pytest

from explorer.conversion.destination import destination
from explorer.errors import ExplorerError


def test_no_output_means_no_destination() -> None:
    assert destination(None, "onnx") is None


def test_a_folder_receives_the_artifact_under_its_name(tmp_path: Path) -> None:
    assert destination(str(tmp_path), "onnx") == tmp_path / "model.onnx"
    assert destination(str(tmp_path), "coreml") == tmp_path / "model.mlpackage"


def test_a_wrong_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"does not end in \.mlpackage"):
        destination(str(tmp_path / "model.onnx"), "coreml")


def test_a_folder_that_is_no_package_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.mlpackage").mkdir()
    with pytest.raises(ExplorerError, match=r"exists and is not an \.mlpackage"):
        destination(str(tmp_path / "mine.mlpackage"), "coreml")


def test_a_folder_named_like_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").mkdir()
    with pytest.raises(ExplorerError, match="is a folder"):
        destination(str(tmp_path / "x.onnx"), "onnx")
