"""TorchScript archives: listed, never loaded, since loading runs the code inside."""

from pathlib import Path

from explorer.models.archive import opened
from explorer.models.torch_tensors import contents_of, count_parameters, storage_bytes
from explorer.models.torch_zip import read_data
from explorer.schemas.events import Finding
from explorer.schemas.results import InspectResult


def describe(path: Path) -> InspectResult:
    """Tensors by attribute path and the code files that the archive holds."""
    contents = contents_of(read_data(path), path)
    with opened(path) as archive:
        code = sorted(name.partition("/")[2] for name in archive.names if "/code/" in name and name.endswith(".py"))
    return InspectResult(
        source=str(path),
        format="torchscript",
        format_name="TorchScript",
        runs_code_on_load=True,
        safety="torch.jit.load runs the code inside; read here without loading",
        references=[name for name in contents.code if not name.startswith("__torch__.")],
        tensors=contents.infos,
        parameters=count_parameters(contents.tensors),
        bytes=path.stat().st_size,
        metadata={"code_files": code[:200], "storage_bytes": storage_bytes(contents.tensors)},
        findings=[_deprecated()],
    )


def _deprecated() -> Finding:
    return Finding(
        severity="warning",
        title="TorchScript is deprecated and runs code when loaded",
        evidence="the archive holds code/",
        remedy="export the model from its source to .pt2 or ONNX",
    )
