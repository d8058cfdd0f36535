"""What can be asked of an export."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Record, Request, note


class ExportSpec(Request):
    """Write the history of a training, or a script that repeats it, for use without explorer."""

    kind: Literal["export"] = "export"
    source: str = Field(
        min_length=1, description="job:ID, or a log that another trainer wrote", json_schema_extra=note(path=True)
    )
    to: Literal["tensorboard", "csv", "jsonl", "script"] = Field(
        "csv", description="tensorboard: a folder with an event file; script: a Python file that repeats the run"
    )
    output: str = Field(min_length=1, description="the file or folder to write", json_schema_extra=note(path=True))
    overwrite: bool = Field(False, description="replace what is there")


class ExportResult(Record):
    """What was written: `steps` with values, `values` in all, by `names` of metrics; a script has none."""

    kind: Literal["export"] = "export"
    source: str
    to: str
    output: str
    bytes: int
    steps: int = 0
    values: int = 0
    names: list[str] = Field(default_factory=list)
