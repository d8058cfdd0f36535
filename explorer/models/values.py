"""What the numbers in a model file are: statistics of one tensor, or every tensor that holds NaN or infinity."""

import time

import numpy as np

from explorer.errors import ExplorerError
from explorer.models.job_files import resolve_file
from explorer.models.statistics import PASSES, statistics
from explorer.models.tensor_reader.decoding import all_finite, holds_only_finite
from explorer.models.tensor_reader.reading import find, stored_tensors
from explorer.models.tensor_reader.stored import StoredTensor
from explorer.reporter import Reporter
from explorer.schemas.events import Finding
from explorer.schemas.model_results import TensorValues, ValuesResult
from explorer.schemas.model_specs import ValuesSpec

ARTIFACTS = ("model.safetensors", "model.onnx", "model.mlpackage")
SHOWN = 3
REPORTED_LIMIT = 1000


def run(spec: ValuesSpec, report: Reporter) -> ValuesResult:
    """Statistics of `spec.tensor`; without one, of those tensors that are not finite, after reading all of them.

    Raises `ExplorerError` when the file is no model, or the named tensor is not there or cannot be read. In a sweep tensors that
    cannot be read are a finding.
    """
    started = time.perf_counter()
    path = resolve_file(spec.source, ARTIFACTS)
    tensors = stored_tensors(path)
    if spec.tensor is not None:
        chosen = find(tensors, spec.tensor, path)
        values = _statistics(chosen, spec.bins, report)
        return _result(spec, [chosen], [values], _of_one(values), started)
    sweep = _Sweep([tensor for tensor in tensors if not tensor.parts], report)
    found = sweep.run(spec.bins)
    return _result(spec, sweep.checked, found, sweep.findings(), started)


def _result(
    spec: ValuesSpec, checked: list[StoredTensor], values: list[TensorValues], findings: list[Finding], started: float
) -> ValuesResult:
    return ValuesResult(
        source=spec.source,
        checked=len(checked),
        bytes=sum(tensor.bytes for tensor in checked),
        seconds=time.perf_counter() - started,
        tensors=values,
        findings=findings,
    )


class _Sweep:
    """One pass over a file: a cheap test of every piece, and statistics only for a tensor that fails it."""

    def __init__(self, tensors: list[StoredTensor], report: Reporter) -> None:
        self._tensors = tensors
        self._report = report
        self._total = sum(tensor.bytes for tensor in tensors)
        self._done = 0
        self._unread: list[ExplorerError] = []
        self._bad: list[str] = []
        self.checked: list[StoredTensor] = []

    def run(self, bins: int) -> list[TensorValues]:
        found = []
        for tensor in self._tensors:
            self._report.control()
            self._report.progress(self._done, self._total, tensor.name, "bytes")
            try:
                if not self._is_finite(tensor) and (values := self._statistics(tensor, bins)) is not None:
                    found.append(values)
                self.checked.append(tensor)
            except ExplorerError as error:
                self._unread.append(error)
        self._report.progress(self._total, self._total, "", "bytes")
        return found

    def findings(self) -> list[Finding]:
        findings = []
        if self._bad:
            title = f"{len(self._bad)} of {len(self.checked)} tensors hold NaN or infinity: {_few(self._bad)}"
            remedy = "use an earlier checkpoint, or train on with a lower learning rate or without float16"
            findings.append(Finding(severity="error", title=title, evidence="every stored number was read", remedy=remedy))
        elif self.checked:
            findings.append(Finding(severity="info", title=f"all numbers of {len(self.checked)} tensors are finite"))
        if self._unread:
            first = self._unread[0]
            title = f"{len(self._unread)} tensors could not be read"
            findings.append(Finding(severity="warning", title=title, evidence=first.message, remedy=first.remedy))
        return findings

    def _is_finite(self, tensor: StoredTensor) -> bool:
        """A view is tested with the gaps between its numbers; statistics then tell which of them are meant."""
        tensor.check()
        before = self._done
        if tensor.make is not None:
            finite = all(bool(np.isfinite(chunk).all()) for chunk in tensor.chunks())
        elif holds_only_finite(tensor.dtype):
            finite = True
        else:
            finite = self._pieces_finite(tensor)
        self._done = before + tensor.bytes
        return finite

    def _pieces_finite(self, tensor: StoredTensor) -> bool:
        for raw, count in tensor.raw():
            if not all_finite(raw, tensor.dtype, count):
                return False
            self._done += len(raw)
            self._report.control()
            self._report.progress(min(self._done, self._total), self._total, tensor.name, "bytes")
        return True

    def _step(self, elements: int) -> None:
        self._report.control()

    def _statistics(self, tensor: StoredTensor, bins: int) -> TensorValues | None:
        values = statistics(tensor, bins, self._step)
        if not values.nans and not values.infinities:
            return None
        self._bad.append(tensor.name)
        return values if len(self._bad) <= REPORTED_LIMIT else None


def _statistics(tensor: StoredTensor, bins: int, report: Reporter) -> TensorValues:
    done = 0

    def step(elements: int) -> None:
        nonlocal done
        done += elements
        report.control()
        report.progress(done, PASSES * tensor.elements, tensor.name, "elements")

    return statistics(tensor, bins, step)


def _of_one(values: TensorValues) -> list[Finding]:
    if not values.nans and not values.infinities:
        return []
    title = f"{values.name} holds {values.nans} NaN and {values.infinities} infinite numbers of {values.elements}"
    return [Finding(severity="error", title=title, remedy="use an earlier checkpoint")]


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
