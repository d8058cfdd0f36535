"""Bounds on what a file may make its reader do, so that a small hostile one takes neither memory nor minutes."""

import json
from typing import Any

TENSOR_LIMIT = 200_000
NAME_LIMIT_CHARACTERS = 500
JSON_LIMIT_BYTES = 150_000_000
OBJECT_BYTES, LIST_BYTES, ITEM_BYTES = 240, 90, 40  # what Python makes of a brace, a bracket and a comma, about


def clean(text: object, limit: int = NAME_LIMIT_CHARACTERS) -> str:
    """Text from a file as it may be shown: cut to `limit`, control characters and lone surrogates replaced."""
    if isinstance(text, int) and text.bit_length() > 64:
        return "a huge number"
    shown = text[:limit] if isinstance(text, str) else str(text)[:limit]
    return shown if shown.isprintable() else "".join(sign if sign.isprintable() else "�" for sign in shown)


def parse_json(text: bytes) -> Any:
    """Parsed JSON. Raises `ValueError` when it is none, is nested too deeply, or would take more than 150 MB as objects."""
    counts = ((b"{", OBJECT_BYTES), (b"[", LIST_BYTES), (b",", ITEM_BYTES))
    if sum(text.count(sign) * size for sign, size in counts) > JSON_LIMIT_BYTES:
        raise ValueError("too many values")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def check_tensors(count: int) -> None:
    """Raise `ValueError` for more tensors than any model has."""
    if count > TENSOR_LIMIT:
        raise ValueError(f"more than {TENSOR_LIMIT} tensors")
