"""TorchScript archives: listed, never loaded, since loading runs the code inside."""

from pathlib import Path

from explorer.models.allowlist import unknown_names
from explorer.models.archive import opened
from explorer.models.bounds import clean
from explorer.models.compressed import compression_findings
from explorer.models.pickle_safety import findings_of
from explorer.models.summary import common_prefixes
from explorer.models.torch_tensors import Contents, contents_of, storage_findings
from explorer.models.torch_zip import pickled_in
from explorer.models.torchscript_code import other_tensors
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult

OWN_NAMES = ("__torch__.", "torch.jit._pickle.")  # classes in the archive's own code, and lists of numbers


def describe(path: Path) -> InspectResult:
    """Tensors by attribute path and the code files that the archive holds."""
    with opened(path) as archive:
        described = pickled_in(archive)
        contents = contents_of(described, path)
        buffers = other_tensors(archive, described.value)
        code = sorted(f"code/{name}" for name in archive.below("code/") if name.endswith(".py"))
        held = archive.below("data/")
    contents = Contents(contents.tensors, contents.references, contents.buffers | buffers)
    references = [name for name in contents.references if not name.startswith(OWN_NAMES)]
    infos = contents.infos
    return InspectResult(
        source=str(path),
        format="torchscript",
        format_name="TorchScript",
        runs_code_on_load=True,
        safety="torch.jit.load runs the code inside; read here without loading",
        references=references,
        unknown=unknown_names(references),
        tensors=infos,
        parameters=contents.parameters(),
        bytes=path.stat().st_size,
        bytes_by_dtype=contents.bytes_by_dtype(),
        prefixes=common_prefixes([info.name for info in infos]),
        metadata={"code_files": [clean(name) for name in code[:200]], "storage_bytes": contents.storage_bytes},
        findings=[
            _deprecated(len(code)),
            *(finding for finding in findings_of(references, path.name) if finding.severity == "error"),
            *storage_findings(contents, held),
            *compression_findings([(info.name, info.dtype) for info in infos]),
        ],
    )


def _deprecated(files: int) -> Finding:
    return Finding(
        severity="warning",
        title="TorchScript is deprecated and runs code when loaded",
        evidence=f"the archive holds {files} code files",
        remedy="export the model from its source to .pt2 or ONNX",
    )
