"""What a model really takes on disk."""

from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from explorer.files import size_bytes


def onnx_bytes(path: Path) -> int:
    """Bytes of an ONNX file together with the weight files beside it that it refers to."""
    tensors = onnx.load(path, load_external_data=False).graph.initializer
    locations = {ExternalDataInfo(tensor).location for tensor in tensors if uses_external_data(tensor)}
    beside = [path.parent / location for location in locations]
    return size_bytes(path) + sum(size_bytes(file) for file in beside if file.is_file())
