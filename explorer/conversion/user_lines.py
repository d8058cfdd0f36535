"""Lines of the user's own code in stacks and traces, as "model.py:12"."""

import os
import re
import sys
import sysconfig
import traceback

import torch

FRAME = re.compile(r'File "([^"]+)", line (\d+), in [\w<>]+')
INSTALLED = (sysconfig.get_path(key) for key in ("stdlib", "purelib"))
TORCH = os.path.dirname(torch.__file__)
LIBRARIES = (TORCH, os.path.dirname(os.path.dirname(__file__)), *INSTALLED)
DEEPEST_STACK = 400


def is_user_file(path: str) -> bool:
    """Whether a file is neither Python's, nor a library's, nor of this package."""
    return not path.startswith((*LIBRARIES, "<"))


def user_frame(text: str) -> tuple[str, int] | None:
    """Path and line of the last frame of the user's that a text quotes."""
    frames = [(path, int(line)) for path, line in FRAME.findall(text) if is_user_file(path)]
    return frames[-1] if frames else None


def user_line(text: str) -> str:
    """The same in short; empty when there is none."""
    frame = user_frame(text)
    return f"{os.path.basename(frame[0])}:{frame[1]}" if frame else ""


def raised_line(error: BaseException) -> str:
    """The innermost line of the user's that torch ran when the error came up; empty when it had not yet come to one."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((at for at, frame in enumerate(frames) if frame.filename.startswith(TORCH)), len(frames))
    found = [frame for frame in frames[first:] if is_user_file(frame.filename)]
    return f"{os.path.basename(found[-1].filename)}:{found[-1].lineno}" if found else ""


def current_line() -> str:
    """The innermost line of the user's that runs now; empty when there is none."""
    frame = sys._getframe(1)
    for _ in range(DEEPEST_STACK):
        if is_user_file(frame.f_code.co_filename):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""
