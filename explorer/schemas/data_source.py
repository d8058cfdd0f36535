"""The text that names data: `digits`, `table.csv,target=price,validation=0.1`, `photos,size=64`, `data.py:make`."""

import re
from dataclasses import dataclass, field

from explorer.errors import ExplorerError

SAMPLES = ("digits", "linear")
OPTIONS = {
    "target": "the column of a CSV file to predict, by name or by number from 0; default the last",
    "task": "classification or regression; default by the targets, whole numbers are classes",
    "size": "side in pixels that images are scaled to; default what they all have",
    "validation": "share of the samples held out, 0 to 0.9; default 0.2, or what the data brings along",
}
_OPTION = re.compile(r"^(.*),([a-z]+)=([^,()]*)$", re.DOTALL)  # a parenthesis belongs to the arguments of a factory


@dataclass(frozen=True)
class DataSource:
    """`name` says where the samples are, `options` how to read them."""

    name: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def is_sample(self) -> bool:
        """Whether the data ships with explorer."""
        return self.name in SAMPLES

    def __str__(self) -> str:
        return "".join([self.name, *(f",{key}={value}" for key, value in self.options.items())])


def parse_data_source(text: str) -> DataSource:
    """The name and the options in the text; raises `ExplorerError` for an option that there is not."""
    options: dict[str, str] = {}
    name = text
    while match := _OPTION.match(name):
        name, key, value = match.groups()
        if key not in OPTIONS:
            raise ExplorerError(f"data {text!r}: there is no option {key!r}", f"one of {', '.join(OPTIONS)}")
        options = {key: value.strip()} | options
    return DataSource(name, options)
