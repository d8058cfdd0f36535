"""A folder as Hugging Face's libraries save a model: weights in one or several files, and config.json.

A pickle beside safetensors of the same model is not read: the libraries prefer safetensors.
"""

import re
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models import shards
from explorer.models.bounds import clean, parse_json
from explorer.models.checkpoint import plain_value
from explorer.models.shards import Reader
from explorer.schemas.events import Finding
from explorer.schemas.model_results import ExternalFile, InspectResult

CONFIG = "config.json"
CONFIG_LIMIT_BYTES = 5_000_000
INDEX_ENDING = ".index.json"
WEIGHTS = ("model.safetensors", "diffusion_pytorch_model.safetensors", "adapter_model.safetensors", "pytorch_model.bin")
PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.(safetensors|bin)")
SHOWN_KEYS = 40


def weights_of(folder: Path) -> Path | None:
    """The index or the weights file of a folder that looks like a saved model; None when it does not."""
    names = sorted(item.name for item in folder.iterdir())
    indexes = [name for name in names if name.endswith(INDEX_ENDING)]
    for ending in ("safetensors", "bin"):
        found = [name for name in indexes if name.removesuffix(INDEX_ENDING).endswith(ending)]
        if found:
            return folder / found[0]
    known = [name for name in WEIGHTS if name in names]
    single = [name for name in names if name.endswith(".safetensors")]
    if CONFIG in names and known:
        return folder / known[0]
    parts = [name for name in names if PART.fullmatch(name)]
    if parts:
        return folder / parts[0]
    return folder / single[0] if CONFIG in names and len(single) == 1 else None


def describe(folder: Path, reader: Reader) -> InspectResult:
    """The folder's weights with what its config.json says."""
    weights = weights_of(folder)
    if weights is None:
        raise ExplorerError(f"{folder} is a folder, not a model", "name a model file")
    result = _weights(weights, reader)
    config = _config(folder)
    code = _own_code(config)
    files = result.external_files or [ExternalFile(name=weights.name, bytes=weights.stat().st_size)]
    kind = str(config.get("model_type") or "model")
    return result.model_copy(
        update={
            "source": str(folder),
            "format": "hub_folder",
            "format_name": f"{clean(kind, 50)} folder, {result.format_name}",
            "references": [*result.references, *code],
            "external_files": files,
            "metadata": {**result.metadata, **_facts(config)},
            "findings": [*result.findings, *_findings(config, code)],
        }
    )


def _weights(weights: Path, reader: Reader) -> InspectResult:
    if weights.name.endswith(INDEX_ENDING):
        return shards.describe(weights, reader)
    match = PART.fullmatch(weights.name)
    return _parts(weights, match.group("stem"), int(match.group("parts")), reader) if match else reader(weights)


def _parts(first: Path, stem: str, count: int, reader: Reader) -> InspectResult:
    """Numbered files without an index."""
    if count > shards.SHARD_LIMIT:
        raise ExplorerError(f"{first} claims to be one of {count} files", "fetch it again")
    names = [f"{stem}-{number:05}-of-{count:05}{first.suffix}" for number in range(1, count + 1)]
    files = [ExternalFile(name=name, bytes=_size(first.with_name(name))) for name in names]
    lost = [file.name for file in files if file.bytes is None]
    findings = [Finding(severity="error", title=f"{name} is missing", remedy="fetch the missing file") for name in lost]
    remedy = f"fetch {stem}*{INDEX_ENDING} too"
    findings.append(Finding(severity="warning", title="the files have no index", evidence=first.name, remedy=remedy))
    results = {file.name: reader(first.with_name(file.name)) for file in files if file.bytes is not None}
    return shards.joined(first, results, files, findings).model_copy(update={"bytes": sum(file.bytes or 0 for file in files)})


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _config(folder: Path) -> dict[str, Any]:
    """config.json; empty when it is not there."""
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        if path.stat().st_size > CONFIG_LIMIT_BYTES:
            raise ValueError("too big")
        parsed = parse_json(path.read_bytes())
    except (ValueError, OSError):
        raise ExplorerError(f"{path} is damaged JSON", "fetch or save it again") from None
    return parsed if isinstance(parsed, dict) else {}


def _facts(config: dict[str, Any]) -> dict[str, Any]:
    """Settings that are plain values, and the names of the model's classes."""
    plain = {clean(key, 100): plain_value(value) for key, value in list(config.items())[:SHOWN_KEYS]}
    facts: dict[str, Any] = {key: value for key, value in plain.items() if value is not None}
    architectures = config.get("architectures")
    if isinstance(architectures, list):
        facts["architectures"] = [clean(name, 100) for name in architectures[:5]]
    quantization = config.get("quantization_config")
    if isinstance(quantization, dict):
        facts["quantization"] = clean(quantization.get("quant_method", "?"), 50)
    return facts


def _own_code(config: dict[str, Any]) -> list[str]:
    """Classes in the folder's own Python files that config.json asks for."""
    table = config.get("auto_map")
    return sorted({clean(name) for name in table.values() if isinstance(name, str)}) if isinstance(table, dict) else []


def _findings(config: dict[str, Any], code: list[str]) -> list[Finding]:
    findings = []
    if code:
        title = f"{CONFIG} names code of its own: {code[0]}"
        remedy = "with trust_remote_code=True transformers would run it; read it first"
        findings.append(Finding(severity="warning", title=title, evidence="auto_map", remedy=remedy))
    if isinstance(config.get("quantization_config"), dict):
        method = clean(config["quantization_config"].get("quant_method", "?"), 50)
        findings.append(Finding(severity="info", title=f"compressed: quantized by {method}", evidence=CONFIG))
    return findings
