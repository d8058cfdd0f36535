"""Packages of AOTInductor: compiled libraries of one machine in a zip archive, listed and never loaded.

Layout: data/aotinductor/MODEL/ with libraries, CUDA kernels and metadata, see torch/export/pt2_archive/constants.py
"""

from pathlib import Path, PurePosixPath
from typing import Any

from explorer.models.archive import Archive, opened
from explorer.models.bounds import clean, parse_json
from explorer.models.checkpoint import plain_value
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult

FOLDER = "data/aotinductor/"
LIBRARIES = (".so", ".dylib", ".dll", ".cubin", ".ptx", ".metallib", ".o")
SHOWN = 100


def describe(path: Path) -> InspectResult:
    """Models, libraries with their bytes, and the metadata that the compiler left."""
    with opened(path) as archive:
        files = archive.below(FOLDER)
        facts = _facts(archive, files)
    models = sorted({clean(name.partition("/")[0], 100) for name in files if "/" in name})
    libraries = {name: size for name, size in files.items() if PurePosixPath(name).suffix in LIBRARIES}
    shown = {clean(name): size for name, size in list(libraries.items())[:SHOWN]}
    return InspectResult(
        source=str(path),
        format="aoti_package",
        format_name="AOTInductor package",
        runs_code_on_load=True,
        safety="compiled libraries: loading it runs native code on this machine; listed here, not loaded",
        references=list(shown),
        unknown=list(shown),
        parameters=0,
        bytes=path.stat().st_size,
        metadata={"models": models[:SHOWN], "libraries": shown, **facts},
        findings=[
            Finding(
                severity="warning",
                title="holds native code for one kind of machine; the weights are inside the libraries",
                evidence=f"{len(libraries)} libraries, {sum(libraries.values()):,} bytes",
                remedy="load it only if you trust its sender; it fits only the device and torch that it was compiled for",
            )
        ],
    )


def _facts(archive: Archive, files: dict[str, int]) -> dict[str, Any]:
    """Plain values of the metadata files, such as AOTI_DEVICE_KEY."""
    facts: dict[str, Any] = {}
    for name in [name for name in files if name.endswith("metadata.json")][:SHOWN]:
        member = archive.find(FOLDER + name)
        try:
            parsed = parse_json(archive.read(member)) if member else {}
        except ValueError:
            continue
        pairs = list(parsed.items())[:SHOWN] if isinstance(parsed, dict) else []
        facts.update({clean(key, 100): plain for key, value in pairs if (plain := plain_value(value)) is not None})
    return facts
