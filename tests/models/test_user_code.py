"""Blaming the user's own line, and knowing when memory was the trouble."""

from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.models.user_code import blamed, is_out_of_memory

CODE = "def step(error):\n    raise error\n"


def users_step(folder: Path, error: Exception) -> None:
    """Raise from a file of the user's."""
    path = folder / "net.py"
    path.write_text(CODE)
    scope: dict[str, object] = {}
    exec(compile(CODE, str(path), "exec"), scope)
    with blamed("the step failed"):
        scope["step"](error)  # type: ignore[operator]


def test_the_line_of_the_user_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"the step failed at .*net\.py:2: ValueError: wrong shape"):
        users_step(tmp_path, ValueError("wrong shape"))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 268435456 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    ],
    ids=["python", "torch", "cuda"],
)
def test_memory_is_named_as_the_cause(tmp_path: Path, error: Exception) -> None:
    assert is_out_of_memory(error)
    with pytest.raises(ExplorerError, match=r"out of memory at .*net\.py:2") as caught:
        users_step(tmp_path, error)
    assert "smaller" in caught.value.remedy


def test_our_own_errors_pass_unchanged() -> None:
    with pytest.raises(ExplorerError, match=r"^as it was$"), blamed("not this"):
        raise ExplorerError("as it was")
