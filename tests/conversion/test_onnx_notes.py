"""What an exported file must not carry."""

from pathlib import Path

import onnx
import pytest

from explorer.conversion.convert import run
from explorer.reporter import QuietReporter
from explorer.schemas.specs import ConvertSpec


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    report = QuietReporter(tmp_path_factory.mktemp("onnx"))
    run(ConvertSpec(source="samples/simple_model.py:simple_model"), report)
    return onnx.load(report.folder / "model.onnx")


def test_no_node_holds_a_stack_trace_or_a_path_of_this_machine(exported: onnx.ModelProto) -> None:
    assert [node.name for node in exported.graph.node if node.metadata_props or node.doc_string] == []
    assert str(Path.cwd()) not in str(exported)


def test_the_source_is_named(exported: onnx.ModelProto) -> None:
    assert {item.key: item.value for item in exported.metadata_props}["explorer.source"] == "samples/simple_model.py:simple_model"
