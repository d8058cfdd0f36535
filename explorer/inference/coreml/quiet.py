"""Converters without their chatter: warnings about missing macOS libraries, untested versions, progress bars."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any, TextIO


@contextlib.contextmanager
def quiet(stream: TextIO | None = None) -> Iterator[None]:
    """Inside, only errors are logged, warnings are dropped and what is printed goes to `stream`, or nowhere."""
    before = logging.root.manager.disable
    target = io.StringIO() if stream is None else stream
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(target), contextlib.redirect_stdout(target):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def coremltools() -> Any:
    """The coremltools module, imported quietly; the first call takes about two seconds."""
    with quiet():
        import coremltools as module
    return module
