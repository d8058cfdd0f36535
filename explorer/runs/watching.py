"""What is new in the runs below a path, for one watcher that takes it at its own pace."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.runs.curves import from_point, summary
from explorer.runs.find import Finder, Found
from explorer.runs.library import Library
from explorer.runs.series import History, Series
from explorer.runs.sources import OpenRun, find_source
from explorer.schemas.curves import Curve, RunCurves, RunNews

POINTS = 2048
FULL_CURVES_RUNS = 8
FEWEST_POINTS = 128
# All curves of a run together.
RUN_POINTS = 200_000
# A batch ends with the run that makes it this long; the next runs come with the next one.
BATCH_BYTES = 2**20
FIND_EVERY_S = 1.0
# Looking for runs may take this share of the time.
FIND_SHARE = 0.02


@dataclass(slots=True)
class _Cursor:
    """What the watcher has of a run: points sent and cuts known, by metric."""

    restarts: int
    problem: str
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)


class Watch:
    """News of one path. Nothing waits in memory: the cursor says what was sent, all else is in the runs themselves."""

    def __init__(self, path: str, library: Library, *, again: bool = False) -> None:
        self._again = again
        self._library = library
        self._root = find_source(path).path if path.startswith("job:") else Path(path)
        if not self._root.exists():
            raise ExplorerError(f"{path} does not exist", "name a log or a folder with logs")
        self._finder = Finder(self._root)
        self._runs: list[Found] = []
        self._cursors: dict[Found, _Cursor] = {}
        self._said = ""
        self._find_at_s = 0.0
        self._next = 0
        self.behind = False

    @property
    def pinned(self) -> set[Found]:
        return set(self._runs)

    def batch(self) -> bytes:
        """News as JSON lines; empty when there is none. `behind` says that more is ready now."""
        lines = [news.model_dump_json().encode() for news in self._find()]
        size, self.behind = sum(map(len, lines)), False
        for count, found in enumerate(self._runs[self._next :] + self._runs[: self._next], 1):
            if (news := self._news(found)) is not None:
                lines.append(news.model_dump_json().encode())
                size += len(lines[-1])
            if size > BATCH_BYTES and count < len(self._runs):
                self._next = (self._next + count) % len(self._runs)
                self.behind = True
                break
        return b"\n".join(lines)

    def _find(self) -> list[RunNews]:
        """Look for runs from time to time; gives those that are gone, and what there is to say of the path itself."""
        started_s = time.monotonic()
        if started_s < self._find_at_s:
            return []
        runs = self._finder.find()
        now_s = time.monotonic()
        self._find_at_s = now_s + max(FIND_EVERY_S, (now_s - started_s) / FIND_SHARE)
        gone = [found for found in self._runs if found not in set(runs)]
        self._runs, self._next = runs, self._next if self._next < len(runs) else 0
        for found in gone:
            self._cursors.pop(found, None)
        return [RunNews(run=_bare(found), gone=True) for found in gone] + self._about_path()

    def _about_path(self) -> list[RunNews]:
        said, self._said = self._said, self._finder.problem
        if said == self._said:
            return []
        run = RunCurves(source=str(self._root), name=self._root.name or str(self._root), problem=self._said)
        return [RunNews(run=run, gone=not self._said)]

    def _news(self, found: Found) -> RunNews | None:
        run = self._library.open(found)
        cursor = self._cursors.get(found)
        if cursor is None or cursor.restarts != run.history.restarts:
            return self._whole(run, restarted=cursor is not None or self._again)
        curves: list[Curve] = []
        for name, series in run.history.series.items():
            first = _first_unsent(series, *cursor.sent.get(name, (0, 0)))
            if first < len(series):
                curves.append(from_point(name, series, first, self._points(run.history)))
            elif first < cursor.sent.get(name, (0, 0))[0]:
                return self._whole(run, restarted=True)
        if not curves and run.problem == cursor.problem:
            return None
        self._cursors[found] = _cursor_at_end(run.history, run.problem)
        return RunNews(run=_about(run).model_copy(update={"curves": curves}))

    def _whole(self, run: OpenRun, *, restarted: bool) -> RunNews:
        self._cursors[run.found] = _cursor_at_end(run.history, run.problem)
        points = self._points(run.history)
        curves = [from_point(name, series, 0, points) for name, series in run.history.series.items() if len(series)]
        return RunNews(run=_about(run).model_copy(update={"curves": curves}), restarted=restarted)

    def _points(self, history: History) -> int:
        """Fewer points a curve when there are many runs, or many metrics."""
        by_runs = POINTS * FULL_CURVES_RUNS // max(FULL_CURVES_RUNS, len(self._runs))
        return max(FEWEST_POINTS, min(by_runs, RUN_POINTS // max(1, len(history.series))))


def _first_unsent(series: Series, sent: int, cuts_known: int) -> int:
    """From where the watcher's points are no longer those of the series."""
    return min([sent, *series.shortened[cuts_known:]])


def _cursor_at_end(history: History, problem: str) -> _Cursor:
    return _Cursor(history.restarts, problem, {name: (len(item), len(item.shortened)) for name, item in history.series.items()})


def _about(run: OpenRun) -> RunCurves:
    return summary(_source(run.found), run.found, run.history, run.problem)


def _bare(found: Found) -> RunCurves:
    return RunCurves(source=_source(found), name=found.name, format=found.format)


def _source(found: Found) -> str:
    return str(found.path)
