"""Versions of installed frameworks, from their package metadata: nothing is imported."""

from importlib import metadata

from explorer.hardware.answers import known, missing
from explorer.schemas.readings import Reading

# A framework may come under several names: onnxruntime has a package for each kind of device.
PACKAGES = {
    "torch": ("torch",),
    "coremltools": ("coremltools",),
    "onnx": ("onnx",),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-silicon", "onnxruntime-directml"),
    "numpy": ("numpy",),
    "torchvision": ("torchvision",),
    "torchao": ("torchao",),
    "torch_xla": ("torch-xla",),
    "transformers": ("transformers",),
    "timm": ("timm",),
    "safetensors": ("safetensors",),
    "executorch": ("executorch",),
    "coreai_torch": ("coreai-torch",),
}


def readings() -> dict[str, Reading]:
    """`framework.NAME` for each, absent when not installed in this Python."""
    return {f"framework.{name}": _version(names) for name, names in PACKAGES.items()}


def _version(packages: tuple[str, ...]) -> Reading:
    for package in packages:
        try:
            return known(metadata.version(package), f"metadata of {package}")
        except (metadata.PackageNotFoundError, KeyError, OSError, ValueError):
            continue
    return missing(f"{packages[0]} is not installed", "package metadata")
