"""Blaming the user's own line, and knowing when memory was the trouble."""

import re
from pathlib import Path
from typing import Any

import pytest
from torch._utils import ExceptionWrapper

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


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (
            "MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max allowed: 18.13 GB). "
            "Tried to allocate 192.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit "
            "for memory allocations (may cause system failure).",
            r"MPS is out of memory at .*net\.py:2 \(wanted 192\.00 MB, limit 18\.13 GB\)$",
            "mps_high_watermark",
        ),
        (
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 1.18 GiB is free.",
            r"the GPU is out of memory at .*net\.py:2 \(wanted 2\.00 GiB\)$",
            "nvidia-smi",
        ),
    ],
    ids=["mps", "cuda"],
)
def test_memory_of_a_device_has_its_own_remedy(tmp_path: Path, text: str, message: str, remedy: str) -> None:
    with pytest.raises(ExplorerError) as caught:
        users_step(tmp_path, RuntimeError(text))
    assert re.match(message, caught.value.message)
    assert remedy in caught.value.remedy
    assert "batch smaller" in caught.value.remedy


def test_an_operator_that_mps_lacks_has_its_own_remedy(tmp_path: Path) -> None:
    text = (
        "The operator 'aten::_linalg_eigh' is not currently implemented for the MPS device. As a temporary fix, you can set the "
        "environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op."
    )
    with pytest.raises(ExplorerError, match=r"MPS lacks the operator aten::_linalg_eigh, needed at .*net\.py:2") as caught:
        users_step(tmp_path, NotImplementedError(text))
    assert "mps_fallback" in caught.value.remedy


def test_our_own_errors_pass_unchanged() -> None:
    with pytest.raises(ExplorerError, match=r"^as it was$"), blamed("not this"):
        raise ExplorerError("as it was")


@pytest.mark.parametrize("error", [KeyError("sample 12 is lost"), ValueError("two\nlines")], ids=["key", "lines"])
def test_what_failed_in_a_loaders_process_is_told_by_its_own_line(tmp_path: Path, error: Exception) -> None:
    """torch raises it here again, with the traceback of there as its text."""
    path = tmp_path / "data.py"
    path.write_text(CODE)
    scope: dict[str, Any] = {}
    exec(compile(CODE, str(path), "exec"), scope)
    try:
        scope["step"](error)
    except Exception:
        wrapper = ExceptionWrapper(where="in DataLoader worker process 0")  # type: ignore[no-untyped-call]
    text = " ".join(str(error).split())
    with pytest.raises(ExplorerError) as caught, blamed("the data failed", always=False):
        wrapper.reraise()  # type: ignore[no-untyped-call]
    assert caught.value.message == f"the data failed at {path}:2: {type(error).__name__}: {text}"
