"""The text of a model source taken apart without running it."""

import pytest

from explorer.errors import ExplorerError
from explorer.models.source_text import SourceText, parse_source


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("net.py:Net", SourceText("net.py", "Net")),
        ("net.py:Net()", SourceText("net.py", "Net")),
        ("/a (1)/net.py:Net(8, width=-3)", SourceText("/a (1)/net.py", "Net", (8,), {"width": -3})),
        (
            'timm:create_model(model_name="resnet18", pretrained=False)',
            SourceText("timm", "create_model", (), {"model_name": "resnet18", "pretrained": False}),
        ),
        ('net.py:Net(at="a:b(c)", sizes=[1, 2])', SourceText("net.py", "Net", (), {"at": "a:b(c)", "sizes": [1, 2]})),
        (r'net.py:Net(pattern="\d")', SourceText("net.py", "Net", (), {"pattern": r"\d"})),
        ("pkg.models:Net.small", SourceText("pkg.models", "Net.small")),
    ],
)
def test_parts(source: str, parts: SourceText) -> None:
    assert parse_source(source) == parts
    assert parse_source(parts.at(parts.place)) == parts


@pytest.mark.parametrize("source", ["net.py", "net.onnx", "net.py:", "net.py:1x", "nonsense", "net.py:Net(", ""])
def test_what_names_no_factory(source: str) -> None:
    assert parse_source(source) is None


@pytest.mark.parametrize(
    "arguments",
    [
        "(print(1))",
        "(**{'a': 1})",
        "(*[1])",
        "(width=a)",
        "(width=)",
        "(1)(2)",
        "(1 for x in y)",
        "(f'{1}')",
        "(a=__import__('os'))",
        "(a=1, a=2)",
    ],
)
def test_arguments_that_are_not_literals_are_one_sentence(arguments: str) -> None:
    with pytest.raises(ExplorerError, match="are not all literals") as caught:
        parse_source(f"net.py:Net{arguments}")
    assert "net.py:Net(width=8" in caught.value.remedy
