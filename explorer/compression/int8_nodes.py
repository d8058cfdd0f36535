"""Which nodes of an ONNX file really compute in eight bits once ONNX Runtime has fused it.

A quantized file holds float nodes between QuantizeLinear and DequantizeLinear; only where the runtime's pattern
matches do they become integer kernels. So the file is loaded and the optimized graph is read back.
"""

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from explorer.inference.onnx_runtime import session

INT8_OPS = frozenset(
    {
        "QLinearConv",
        "QLinearMatMul",
        "QGemm",
        "ConvInteger",
        "MatMulInteger",
        "MatMulIntegerToFloat",
        "DynamicQuantizeMatMul",
        "DynamicQuantizeLSTM",
        "QAttention",
        "QOrderedMatMul",
    }
)
FLOAT_OPS = frozenset(
    {
        "Conv",
        "FusedConv",
        "NhwcFusedConv",
        "ConvTranspose",
        "Gemm",
        "FusedGemm",
        "GemmFloat8",
        "MatMul",
        "FusedMatMul",
        "FusedMatMulActivation",
        "TransposeMatMul",
        "Attention",
        "MultiHeadAttention",
        "GroupQueryAttention",
        "Einsum",
        "LSTM",
        "GRU",
        "RNN",
    }
)


@dataclass
class ComputeNodes:
    """Names of the nodes that multiply and add, by the arithmetic they run in."""

    int8: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)


def compute_nodes(path: Path) -> ComputeNodes:
    """The compute nodes of the graph that ONNX Runtime's CPU provider makes of the file at `path`."""
    with tempfile.TemporaryDirectory() as folder:
        optimized = Path(folder) / "optimized.onnx"
        session(path, threads=1, optimized_path=optimized)
        return _collect(onnx.load(optimized, load_external_data=False).graph, ComputeNodes())


def _collect(graph: onnx.GraphProto, found: ComputeNodes) -> ComputeNodes:
    for node in graph.node:
        if node.op_type in INT8_OPS:
            found.int8.append(_label(node))
        elif node.op_type in FLOAT_OPS:
            found.floating.append(_label(node))
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                _collect(inner, found)
    return found


def _label(node: onnx.NodeProto) -> str:
    """The node's name as in the file (fusions append `_token_N`), with its operator."""
    return f"{re.sub(r'_token_[0-9]+$', '', node.name) or node.output[0]} ({node.op_type})"
