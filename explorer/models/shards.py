"""A model in several files with an index, as the Hugging Face libraries write it: the index is checked against every header.

Layout: {"metadata": {"total_size": bytes}, "weight_map": {tensor: file}}, beside the files that it names.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.bounds import check_tensors, clean, parse_json
from explorer.models.pickle_safety import few
from explorer.models.summary import bytes_by_dtype, common_prefixes, count_parameters
from explorer.schemas.events import Finding
from explorer.schemas.model_results import ExternalFile, InspectResult

AGAIN = "fetch or save it again"
INDEX_LIMIT_BYTES = 50_000_000
SHARD_LIMIT = 5000
SHARD_FORMATS = ("safetensors", "torch_zip", "torch_legacy")
Reader = Callable[[Path], InspectResult]


@dataclass
class Index:
    """Which file holds each tensor, by clean names; `total_bytes` as the index claims."""

    places: dict[str, str]
    total_bytes: int | None

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(self.places.values()))


@dataclass
class _Shards:
    """What the headers of all files say."""

    results: dict[str, InspectResult] = field(default_factory=dict)
    files: list[ExternalFile] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read_index(path: Path) -> Index | None:
    """The index in a JSON file; None when it is none. Raises `ExplorerError` when it is damaged."""
    if path.stat().st_size > INDEX_LIMIT_BYTES:
        raise ExplorerError(f"{path} is too big for an index of weights", "name the model file")
    try:
        parsed = parse_json(path.read_bytes())
    except ValueError:
        raise ExplorerError(f"{path} is damaged JSON", AGAIN) from None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("weight_map"), dict):
        return None
    try:
        check_tensors(len(parsed["weight_map"]))
        places = {clean(name): _place(file) for name, file in parsed["weight_map"].items()}
    except ValueError as error:
        raise ExplorerError(f"{path} is a damaged index ({error})", AGAIN) from None
    total = parsed["metadata"].get("total_size") if isinstance(parsed.get("metadata"), dict) else None
    return Index(places, int(total) if isinstance(total, int | float) and 0 <= total < 1 << 62 else None)


def describe(path: Path, reader: Reader) -> InspectResult:
    """All shards of an index as one model; `reader` describes one file."""
    index = read_index(path)
    if index is None:
        raise ExplorerError(f"{path} is JSON, not a model", "name the model file beside it")
    if len(index.files) > SHARD_LIMIT:
        raise ExplorerError(f"{path} names more than {SHARD_LIMIT} files", "it is no sound index")
    shards = _read(path, index, reader)
    return joined(path, shards.results, shards.files, [*shards.findings, *_compared(index, shards)])


def joined(path: Path, results: dict[str, InspectResult], files: list[ExternalFile], findings: list[Finding]) -> InspectResult:
    """One description of the files of a model."""
    tensors = [tensor for result in results.values() for tensor in result.tensors]
    first = next(iter(results.values()), None)
    metadata: dict[str, Any] = {"shards": len(files)}
    return InspectResult(
        source=str(path),
        format=f"{first.format}_sharded" if first else "safetensors_sharded",
        format_name=f"{first.format_name if first else 'weights'} in {len(files)} files",
        runs_code_on_load=any(result.runs_code_on_load for result in results.values()),
        safety=next((item.safety for item in results.values() if item.unknown), first.safety if first else "no file is there"),
        references=list(dict.fromkeys(name for result in results.values() for name in result.references)),
        unknown=list(dict.fromkeys(name for result in results.values() for name in result.unknown)),
        tensors=tensors,
        parameters=count_parameters(tensors),
        bytes=path.stat().st_size + sum(file.bytes or 0 for file in files),
        bytes_by_dtype=bytes_by_dtype(tensors),
        prefixes=common_prefixes([tensor.name for tensor in tensors]),
        external_files=files,
        metadata=(first.metadata if first else {}) | metadata,
        findings=[*findings, *_own_findings(results)],
    )


def _place(file: Any) -> str:
    if not isinstance(file, str) or not file:
        raise ValueError("a file without a name")
    return clean(file)


def _read(path: Path, index: Index, reader: Reader) -> _Shards:
    shards = _Shards()
    seen: dict[str, str] = {}
    for name in index.files:
        problem = _refused(path, name, seen)
        target = path.parent / name
        if problem:
            shards.files.append(ExternalFile(name=name))
            shards.findings.append(_error(problem, remedy="do not load it; fetch the index again"))
        elif not target.is_file():
            shards.files.append(ExternalFile(name=name))
            count = sum(place == name for place in index.places.values())
            shards.findings.append(_error(f"{name} is missing, with {count} tensors", remedy="fetch the missing file"))
        else:
            shards.files.append(ExternalFile(name=name, bytes=target.stat().st_size))
            _read_one(target, name, shards, reader)
    return shards


def _refused(path: Path, name: str, seen: dict[str, str]) -> str:
    """Why a file that the index names is not opened; empty when it is."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts:
        return f"the index names a file outside its folder: {name}"
    normal = os.path.normpath(name)
    if normal in seen:
        return f"the index names {normal} twice, as {seen[normal]} and {name}"
    seen[normal] = name
    if normal.endswith(".json"):
        return f"the index names an index as a shard: {name}"
    return ""


def _read_one(target: Path, name: str, shards: _Shards, reader: Reader) -> None:
    try:
        result = reader(target)
    except ExplorerError as error:
        shards.findings.append(_error(error.message, remedy=error.remedy))
        return
    if result.format in SHARD_FORMATS:
        shards.results[name] = result
    else:
        shards.findings.append(_error(f"{name} is {result.format_name}, not a file of weights", remedy=AGAIN))


def _compared(index: Index, shards: _Shards) -> list[Finding]:
    """The index against the headers, in both directions."""
    held: dict[str, list[str]] = {}
    for file, result in shards.results.items():
        for tensor in result.tensors:
            held.setdefault(tensor.name, []).append(file)
    stale = [name for name, file in index.places.items() if file in shards.results and name not in held]
    moved = [name for name, file in index.places.items() if name in held and file in shards.results and file not in held[name]]
    extra = [name for name in held if name not in index.places]
    twice = [name for name, files in held.items() if len(files) > 1]
    checks = (
        (stale, "the index is stale: no file holds {}", "fetch index and files of the same version"),
        (moved, "the index looks in the wrong file for {}", "fetch index and files of the same version"),
        (extra, "the files hold tensors that the index does not name: {}", "fetch index and files of the same version"),
        (twice, "several files hold {}", "fetch index and files of the same version"),
    )
    found = [_error(text.format(few(names)), f"{len(names)} tensors", remedy) for names, text, remedy in checks if names]
    return found + _size(index, shards.results)


def _size(index: Index, results: dict[str, InspectResult]) -> list[Finding]:
    total = sum(tensor.bytes for result in results.values() for tensor in result.tensors if not tensor.shares)
    if index.total_bytes is None or len(results) < len(index.files) or total == index.total_bytes:
        return []
    title = f"the index claims {index.total_bytes:,} bytes of tensors, the files hold {total:,}"
    remedy = "fetch index and files of the same version"
    return [Finding(severity="warning", title=title, evidence="metadata.total_size", remedy=remedy)]


def _own_findings(results: dict[str, InspectResult]) -> list[Finding]:
    """What the files themselves show, each statement once."""
    return list({finding.title: finding for result in results.values() for finding in result.findings}.values())


def _error(title: str, evidence: str = "", remedy: str = "") -> Finding:
    return Finding(severity="error", title=title, evidence=evidence, remedy=remedy)
