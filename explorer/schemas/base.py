"""The two kinds of record: what is asked (strict) and what is answered (lenient towards newer fields)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

# "strings" keeps NaN and infinities through valid JSON: pydantic reads "NaN" back into a float field.
INF_NAN: Literal["strings"] = "strings"


class Record(BaseModel):
    """Something answered or stored: unknown fields of a newer version are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan=INF_NAN)


class Request(BaseModel):
    """Something asked: an unknown field is a mistake and is named."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan=INF_NAN)


def note(*, unit: str = "", group: str = "basic", path: bool = False, flag: str = "") -> dict[str, Any]:
    """Extra facts on a spec field: `unit` shown beside the value, `group` of the form, whether it names a file.

    `flag` is what the command line calls the field when that is not its name.
    """
    return {"unit": unit, "group": group, "path": path, "flag": flag}
