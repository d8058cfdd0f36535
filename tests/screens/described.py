"""Model files of every kind as the engine describes them, and what it answers about them, for the screens' tests."""

import math

from explorer.schemas.events import Finding
from explorer.schemas.model_results import (
    DiffResult,
    ExternalFile,
    GraphResult,
    InspectResult,
    LayerCost,
    LayersResult,
    MatchResult,
    Operator,
    OutputDifference,
    PortInfo,
    ShapeMismatch,
    TensorChange,
    TensorInfo,
    TensorValues,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.model_specs import VerifySpec

DIGEST = "9f2c41d07be85a3366e0f1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6"


def a_checkpoint(source: str) -> InspectResult:
    """A checkpoint of a small language model with an optimizer, a tied head and a view."""
    tensors = [TensorInfo(name="model.embed.weight", shape=[32_000, 256], dtype="float32", bytes=32_768_000)]
    for place in range(4):
        block = f"model.blocks.{place}"
        tensors += [
            TensorInfo(name=f"{block}.attention.qkv.weight", shape=[768, 256], dtype="float32", bytes=786_432),
            TensorInfo(name=f"{block}.attention.out.weight", shape=[256, 256], dtype="float32", bytes=262_144),
            TensorInfo(name=f"{block}.norm.weight", shape=[256], dtype="float32", bytes=1024),
        ]
    tensors += [
        TensorInfo(name="model.rope", shape=[128, 2], dtype="float32", bytes=1024, storage_bytes=1_048_576),
        TensorInfo(name="model.head.weight", shape=[32_000, 256], dtype="float32", bytes=32_768_000, shares="model.embed.weight"),
    ]
    return InspectResult(
        source=source,
        format="torch_zip",
        format_name="PyTorch checkpoint (zip)",
        runs_code_on_load=False,
        safety="tensors and plain containers only: torch.load(weights_only=True) reads it without running code",
        references=["torch._utils._rebuild_tensor_v2", "collections.OrderedDict"],
        tensors=tensors,
        parameters=9_241_856,
        bytes=110_905_344,
        bytes_by_dtype={"float32": 36_967_424, "int64": 8},
        prefixes=["model."],
        contents={"epoch": "12", "global_step": "48,000", "optimizer": "AdamW state of 14 tensors, 73.9 MB", "ema": "14 tensors"},
        metadata={"torch": "2.13.0", "byteorder": "little"},
        findings=[
            Finding(
                severity="warning",
                title="two thirds of the file are the optimizer's state",
                evidence="73.9 of 110.9 MB",
                remedy="save model.state_dict() alone to ship it",
            )
        ],
    )


def a_pickled_module(source: str) -> InspectResult:
    """A whole module that loading would import and call."""
    return InspectResult(
        source=source,
        format="torch_zip",
        format_name="PyTorch module (zip)",
        runs_code_on_load=True,
        safety="loading it would import and call nets.encoder.Encoder, posix.system; read here with stand-ins, nothing was run",
        references=["torch._utils._rebuild_tensor_v2", "collections.OrderedDict", "nets.encoder.Encoder", "posix.system"],
        unknown=["nets.encoder.Encoder", "posix.system"],
        tensors=[TensorInfo(name="conv.weight", shape=[8, 3, 3, 3], dtype="float32", bytes=864)],
        parameters=216,
        bytes=2_113,
        bytes_by_dtype={"float32": 864},
        findings=[
            Finding(
                severity="error",
                title="encoder.pt names posix.system, which would run code when loaded",
                evidence="names in the pickle",
                remedy="do not load it; ask its sender for .safetensors",
            )
        ],
    )


def an_onnx_file(source: str) -> InspectResult:
    """The ONNX file that `a_graph` is in."""
    weights = [("encoder.conv1.weight", [32, 1, 3, 3]), ("encoder.conv1.bias", [32]), ("head.weight", [10, 32])]
    return InspectResult(
        source=source,
        format="onnx",
        format_name="ONNX, opset 18",
        runs_code_on_load=False,
        safety="a graph of standard operators; it holds no code",
        tensors=[TensorInfo(name=name, shape=dims, dtype="float32", bytes=4 * math.prod(dims)) for name, dims in weights],
        parameters=640,
        bytes=3_411,
        bytes_by_dtype={"float32": 2_560},
        external_files=[ExternalFile(name="weights.bin", bytes=2_560), ExternalFile(name="more.bin")],
        inputs=[PortInfo(name="image", shape=["batch", 1, 8, 8], dtype="float32")],
        outputs=[PortInfo(name="classes", shape=["batch", 10], dtype="float32")],
        metadata={"producer": "pytorch 2.13.0", "ir_version": 10},
    )


def a_graph(source: str) -> GraphResult:
    """A few operators, one of them with a nested block, two in modules, one weight read twice."""

    def one(name: str, kind: str, inputs: list[str], dims: list[int | str], **more: object) -> Operator:
        outputs = [{"name": f"{name}_out", "shape": dims, "dtype": "float32"}]
        return Operator.model_validate({"name": name, "type": kind, "inputs": inputs, "outputs": outputs} | more)

    stack = {"module": "encoder.conv1"}
    attributes = {"kernel_shape": "[3, 3]", "pads": "[1, 1, 1, 1]", "strides": "[1, 1]"}
    conv = ["image", "encoder.conv1.weight", "encoder.conv1.bias"]
    return GraphResult(
        source=source,
        format="onnx",
        inputs=[PortInfo(name="image", shape=["batch", 1, 8, 8], dtype="float32")],
        outputs=[PortInfo(name="classes", shape=["batch", 10], dtype="float32")],
        operators=[
            one("node_conv", "Conv", conv, ["batch", 32, 8, 8], attributes=attributes, **stack),
            one("node_relu", "Relu", ["node_conv_out"], ["batch", 32, 8, 8], **stack),
            one("node_pool", "GlobalAveragePool", ["node_relu_out"], ["batch", 32, 1, 1], module="encoder"),
            one("node_flat", "Reshape", ["node_pool_out"], ["batch", 32]),
            one("node_if", "If", ["is_large"], ["batch", 10]),
            one("node_then", "Gemm", ["node_flat_out", "head.weight"], ["batch", 10], block="node_if", module="head"),
            one("node_else", "MatMul", ["node_flat_out", "head.weight"], ["batch", 10], block="node_if", module="head"),
            one("classes", "Softmax", ["node_if_out"], ["batch", 10]),
        ],
        weights=["encoder.conv1.weight", "encoder.conv1.bias", "head.weight"],
    )


def values_of(name: str, nans: int = 0) -> TensorValues:
    """Numbers around zero, as of a trained layer."""
    counts = [round(4000 * math.exp(-(((place - 31.5) / 11) ** 2))) for place in range(64)]
    return TensorValues(
        name=name,
        shape=[768, 256],
        dtype="float32",
        elements=196_608,
        minimum=-0.9134,
        maximum=0.8702,
        mean=0.00213,
        std=0.1148,
        norm=50.91,
        zeros=12,
        nans=nans,
        infinities=nans // 2,
        histogram=counts,
        edges=[-0.9134 + place * (0.8702 + 0.9134) / 64 for place in range(65)],
    )


def some_values(name: str) -> ValuesResult:
    return ValuesResult(source="a.pt", checked=1, bytes=786_432, seconds=0.01, tensors=[values_of(name)])


def a_sweep() -> ValuesResult:
    """Two broken tensors among many."""
    return ValuesResult(
        source="/models/encoder.pt",
        checked=164,
        bytes=1_530_000_000,
        seconds=1.9,
        tensors=[values_of("model.blocks.2.attention.qkv.weight", nans=412), values_of("model.blocks.3.norm.weight", nans=2)],
        findings=[
            Finding(
                severity="error",
                title="2 of 164 tensors hold NaN or infinity: model.blocks.2.attention.qkv.weight, model.blocks.3.norm.weight",
                evidence="every stored number was read",
                remedy="use an earlier checkpoint, or train on with a lower learning rate or without float16",
            )
        ],
    )


def a_diff() -> DiffResult:
    """A fine-tuned model against its base."""

    def moved(name: str, relative: float) -> TensorChange:
        dims = [256, 256]
        return TensorChange(
            name=name,
            shape=dims,
            other_shape=dims,
            dtype="float32",
            other_dtype="float16",
            max_abs=relative / 3,
            mean_abs=relative / 40,
            relative=relative,
        )

    return DiffResult(
        first="/models/base.safetensors",
        second="/models/tuned.safetensors",
        same=9,
        added=[TensorInfo(name="adapter.weight", shape=[16, 256], dtype="float32", bytes=16_384)],
        removed=[TensorInfo(name="model.blocks.0.norm.bias", shape=[256], dtype="float32", bytes=1024)],
        reshaped=[
            TensorChange(
                name="model.embed.weight", shape=[32_000, 256], other_shape=[32_064, 256], dtype="float32", other_dtype="float32"
            )
        ],
        changed=[moved("model.blocks.3.attention.out.weight", 0.31), moved("model.blocks.0.attention.out.weight", 0.0071)],
        renaming="'module.' set aside in the names of tuned.safetensors",
        findings=[
            Finding(
                severity="info", title="types changed: 2 from float32 to float16", evidence="values were compared all the same"
            )
        ],
    )


def a_verification(same: bool = False) -> VerifyResult:
    """An ONNX file against a Core ML package whose second output is off."""
    off = OutputDifference(
        name="note",
        other_name="Identity_1",
        shape=[8, 172, 88],
        other_shape=[8, 172, 88],
        max_abs_error=3.1e-6 if same else 0.214,
        max_rel_error=1e-5,
        snr_db=118.0 if same else 11.0,
        agreement=1.0 if same else 0.83,
    )
    near = {"name": "onset", "other_name": "onset", "max_abs_error": 2.4e-6, "snr_db": 121.0, "agreement": 1.0}
    evidence = "largest difference 0.214, tolerance 0.0001, signal-to-noise 11.0 dB"
    finding = Finding(severity="error", title="output note differs", evidence=evidence)
    return VerifyResult(
        first="/models/nmp.onnx",
        second="/models/nmp.mlpackage",
        same=same,
        max_abs_error=3.1e-6 if same else 0.214,
        tolerance=1e-4,
        samples=8,
        runtimes=["ONNX Runtime 1.23", "Core ML reference evaluator"],
        inputs=[PortInfo(name="input_2", shape=[1, 43_844, 1], dtype="float32")],
        outputs=[off.model_copy(update=near), off],
        findings=[] if same else [finding],
    )


def a_dry_run() -> MatchResult:
    """Weights saved from a wrapped module, with one wrong head."""
    return MatchResult(
        source="/models/nets.py:encoder",
        weights="/models/encoder.pt",
        matched=0,
        missing=["blocks.0.norm.weight", "blocks.0.attention.qkv.weight"],
        unexpected=["module.blocks.0.norm.weight", "module.blocks.0.attention.qkv.weight"],
        mismatched=[ShapeMismatch(name="head.weight", expected=[10, 256], found=[1000, 256])],
        suggestion="remove 'module.' from the start of the weights' names",
        suggested_matches=2,
        fits=False,
    )


def some_layers() -> LayersResult:
    """The layers of the digits CNN."""

    def one(name: str, kind: str, dims: list[int], parameters: int, flops: int | None, share: float) -> LayerCost:
        return LayerCost(
            name=name,
            type=kind,
            output_shapes=[dims],
            parameters=parameters,
            flops=flops,
            activation_bytes=4 * math.prod(dims),
            latency_ms=0.42 * share,
            latency_share=share,
        )

    return LayersResult(
        source="samples/digits_cnn.py:digits_cnn",
        batch_size=1,
        input_shapes=[[1, 1, 8, 8]],
        parameters=96_124,
        flops=3_633_664,
        uncounted=["aten.max_pool2d"],
        activation_bytes=41_832,
        latency_ms=0.42,
        threads=1,
        findings=[Finding(severity="info", title="FLOPs leave out what has no formula", evidence="aten.max_pool2d")],
        layers=[
            one("", "DigitsCNN", [1, 10], 96_124, 3_633_664, 1.0),
            one("conv1", "Conv2d", [1, 32, 8, 8], 320, 36_864, 0.08),
            one("norm1", "BatchNorm2d", [1, 32, 8, 8], 64, 0, 0.05),
            one("conv2", "Conv2d", [1, 64, 8, 8], 18_496, 2_359_296, 0.41),
            one("conv3", "Conv2d", [1, 64, 4, 4], 36_928, 1_179_648, 0.22),
            one("hidden", "Linear", [1, 150], 38_550, 76_800, 0.11),
            one("classes", "Linear", [1, 10], 1_510, 3_000, 0.03),
        ],
    )


def a_verify_request() -> VerifySpec:
    return VerifySpec(first="/models/encoder.pt", second="/models/encoder.onnx")
