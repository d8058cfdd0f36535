"""Which endings belong to which format."""

from pathlib import Path

from explorer.models.content import Format
from explorer.schemas.events import Finding

TORCH = (".pth", ".pt", ".bin", ".ckpt", ".pkl", ".pickle", ".th", ".tar")
ENDINGS: dict[Format, tuple[str, ...]] = {
    "torch_zip": TORCH,
    "torch_legacy": TORCH,
    "pickle": TORCH,
    "torchscript": (".pt", ".pth", ".ts", ".jit", ".ptl", ".torchscript"),
    "exported_program": (".pt2",),
    "aoti_package": (".pt2",),
    "safetensors": (".safetensors", ".sft"),
    "onnx": (".onnx",),
    "coreml_spec": (".mlmodel",),
    "gguf": (".gguf",),
}
ENDINGS_IN_USE = {ending for endings in ENDINGS.values() for ending in endings}


def misnamed(path: Path, kind: Format) -> list[Finding]:
    """A warning when the ending of a file's name belongs to other formats than its content."""
    endings = ENDINGS.get(kind, ())
    if not endings or path.suffix in endings or path.suffix not in ENDINGS_IN_USE:
        return []
    title = f"{path.name} is {kind.replace('_', ' ')} by its content, whatever its name says"
    remedy = f"rename it to {path.stem}{endings[0]}: other programs go by the name"
    return [Finding(severity="warning", title=title, evidence="first bytes", remedy=remedy)]
