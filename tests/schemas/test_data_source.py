"""The text that names data: what it is read as, and that it comes back the same."""

import pytest

from explorer.errors import ExplorerError
from explorer.schemas.data_source import OPTIONS, DataSource, parse_data_source


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("digits", "digits", {}),
        ("table.csv,target=price", "table.csv", {"target": "price"}),
        (
            "table.csv,target=price,task=regression,validation=0.1",
            "table.csv",
            {"target": "price", "task": "regression", "validation": "0.1"},
        ),
        ("photos of cats, and dogs", "photos of cats, and dogs", {}),
        ("photos,size=64", "photos", {"size": "64"}),
        ("data.py:make(3, 'a,size=b')", "data.py:make(3, 'a,size=b')", {}),
        ("data.py:make(size=3)", "data.py:make(size=3)", {}),
        ("data.py:make(a=1, b=2),validation=0.5", "data.py:make(a=1, b=2)", {"validation": "0.5"}),
        ("/a/b=c,d/table.csv,target=unit price", "/a/b=c,d/table.csv", {"target": "unit price"}),
        ("table.csv,target=", "table.csv", {"target": ""}),
    ],
)
def test_a_name_and_its_options_come_back_the_same(text: str, name: str, options: dict[str, str]) -> None:
    data = parse_data_source(text)
    assert data == DataSource(name, options)
    assert str(data) == text
    assert parse_data_source(str(data)) == data


def test_an_unknown_option_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ExplorerError, match="there is no option 'colour'") as caught:
        parse_data_source("photos,colour=red,size=64")
    assert all(name in caught.value.remedy for name in OPTIONS)


def test_what_ships_with_explorer_is_known() -> None:
    assert parse_data_source("linear,validation=0.3").is_sample
    assert not parse_data_source("linear.npz").is_sample
