"""The child process that reads runs: `python -m explorer.runs.server`. It ends with its standard input.

Requests are JSON lines with an `id` and a `method`: `curves` (`query`), `watch` (`path`, `again`), `next` and `unwatch`. A watch
gives one batch of news, and one more for each `next` with its id. An answer is a JSON line `{"id", "bytes"}` and so many bytes of
JSON lines after it, or `{"id", "error", "remedy"}`.
"""

import json
import os
import select
import sys
import time
from typing import Any, BinaryIO

from pydantic import ValidationError

from explorer.errors import ExplorerError
from explorer.runs.curves import answer
from explorer.runs.library import Library
from explorer.runs.sources import OpenRun, find_source
from explorer.runs.watching import Watch
from explorer.schemas.curves import CurvesAnswer, CurvesQuery, RunCurves

POLL_S = 0.25
# All curves of an answer together, so that it fits into one message.
MOST_POINTS = 1_000_000


class Server:
    """Answers one parent, one request after the other; between them it looks at what is watched, four times a second."""

    def __init__(self, requests: int, answers: BinaryIO, poll_s: float = POLL_S) -> None:
        self._requests = requests
        self._answers = answers
        self._poll_s = poll_s
        self._rest = b""
        self._library = Library()
        self._watches: dict[int, Watch] = {}
        self._hungry: set[int] = set()

    def serve(self) -> None:
        """Run until the parent hangs up."""
        due_s = 0.0
        while True:
            wait_s = max(0.0, due_s - time.monotonic()) if self._hungry else None
            if select.select([self._requests], [], [], wait_s)[0] and not self._take_requests():
                return
            if self._hungry and (time.monotonic() >= due_s or any(self._watches[at].behind for at in self._hungry)):
                due_s = time.monotonic() + self._poll_s
                self._feed()

    def _take_requests(self) -> bool:
        """Answer what came; False at the end."""
        data = os.read(self._requests, 2**20)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            self._guarded(request["id"], lambda request=request: self._handle(request))
        return bool(data)

    def _guarded(self, request_id: int, work: Any) -> None:
        """No request ends the process: what fails is said in one sentence."""
        try:
            work()
        except ExplorerError as error:
            self._fail(request_id, error.message, error.remedy)
        except ValidationError as error:
            self._fail(request_id, f"this is no question about curves: {error.errors()[0]['msg']}", "see CurvesQuery")
        except MemoryError:
            self._fail(request_id, "the run is too long for this machine's memory", "watch a shorter one")
        except BrokenPipeError:
            raise
        except Exception as error:
            self._fail(request_id, f"reading failed: {type(error).__name__}: {error}", "see engine.log")

    def _handle(self, request: dict[str, Any]) -> None:
        request_id, method = request["id"], request["method"]
        if method == "curves":
            self._send(request_id, self._curves(CurvesQuery.model_validate(request["query"])).model_dump_json().encode())
        elif method == "watch":
            self._watches[request_id] = Watch(request["path"], self._library, again=request.get("again", False))
            self._hungry.add(request_id)
        elif method == "next" and request_id in self._watches:
            self._hungry.add(request_id)
        elif method == "unwatch":
            self._forget(request_id)

    def _curves(self, query: CurvesQuery) -> CurvesAnswer:
        runs = [self._open(source) for source in query.sources]
        curves = sum(len(query.names or run.history.series) for run in runs if isinstance(run, OpenRun))
        fitting = query.model_copy(update={"points": min(query.points, max(8, MOST_POINTS // max(1, curves)))})
        found = [
            answer(source, run, fitting) if isinstance(run, OpenRun) else run
            for source, run in zip(query.sources, runs, strict=True)
        ]
        self._shrink()
        return CurvesAnswer(runs=found)

    def _open(self, source: str) -> OpenRun | RunCurves:
        """The run, or why there is none."""
        try:
            return self._library.open(find_source(source))
        except ExplorerError as error:
            return RunCurves(source=source, name=os.path.basename(source.rstrip("/")) or source, problem=str(error))

    def _feed(self) -> None:
        """One batch to each watcher that asked and has news."""
        for request_id in list(self._hungry):
            self._guarded(request_id, lambda request_id=request_id: self._feed_one(request_id))
        self._shrink()

    def _feed_one(self, request_id: int) -> None:
        if batch := self._watches[request_id].batch():
            self._hungry.discard(request_id)
            self._send(request_id, batch)

    def _shrink(self) -> None:
        self._library.shrink({found for watch in self._watches.values() for found in watch.pinned})

    def _forget(self, request_id: int) -> None:
        self._watches.pop(request_id, None)
        self._hungry.discard(request_id)

    def _fail(self, request_id: int, message: str, remedy: str) -> None:
        self._forget(request_id)
        self._write(json.dumps({"id": request_id, "error": message, "remedy": remedy}).encode() + b"\n")

    def _send(self, request_id: int, body: bytes) -> None:
        self._write(b'{"id":%d,"bytes":%d}\n' % (request_id, len(body)) + body)

    def _write(self, data: bytes) -> None:
        self._answers.write(data)
        self._answers.flush()


def main() -> None:
    # Nothing else may write to the pipe.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        Server(0, answers).serve()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)


if __name__ == "__main__":
    main()
