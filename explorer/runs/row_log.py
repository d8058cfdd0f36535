"""What readers of row by row logs share: an axis that may prove unfit, after which the log is read again."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from explorer.runs.axis import NotAnAxis, RowAxis
from explorer.runs.columns import Batch
from explorer.runs.growing_file import GrowingFile, whole_lines
from explorer.runs.table import Table, batch_of

CHUNK_BYTES = 4 * 2**20


class RowLogReader(ABC):
    """Reads a growing text file; a subclass makes tables of its whole lines."""

    problem = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = GrowingFile(path)
        self._axis = RowAxis()

    @abstractmethod
    def tables(self, lines: bytes) -> Iterator[Table]:
        """The rows in whole lines."""

    def begin(self) -> None:  # noqa: B027 - only some formats remember anything
        """Forget what the first lines said."""

    def read(self) -> Iterator[Batch]:
        """What is new."""
        if not self._file.look():
            return
        if self._file.replaced():
            self._start_over(RowAxis())
            yield Batch(restarted=True)
        while True:
            try:
                yield from self._batches()
                return
            except NotAnAxis as doubt:
                self._start_over(RowAxis(by_row=doubt.step_name is None, step_name=doubt.step_name))
                yield Batch(restarted=True)

    def _batches(self) -> Iterator[Batch]:
        while lines := whole_lines(self._file, CHUNK_BYTES):
            for table in self.tables(lines):
                if table.count:
                    yield batch_of(table, self._axis)

    def _start_over(self, axis: RowAxis) -> None:
        self._file.rewind()
        self._axis = axis
        self.begin()
