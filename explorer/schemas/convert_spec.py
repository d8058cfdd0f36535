"""What can be asked of a conversion, and of the evaluator that proves it."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Request, note
from explorer.schemas.choices import DATA_HELP, SOURCE_HELP, DeploymentTarget

ConvertTarget = Literal["onnx", "coreml", "pt2"]
ComputeUnits = Literal["all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"]


class ConvertSpec(Request):
    """Convert a torch model to ONNX, Core ML or an exported program and prove the result against its source."""

    kind: Literal["convert"] = "convert"
    source: str = Field(min_length=1, description=f"the model: {SOURCE_HELP}", json_schema_extra=note(path=True))
    weights: str | None = Field(
        None,
        description="weights for the model: a state dict file or job:ID",
        json_schema_extra=note(path=True, group="model"),
    )
    target: ConvertTarget = Field("onnx", description="the format to write", json_schema_extra=note(flag="to"))
    precision: Literal["float16", "float32"] = Field("float16", description="of the Core ML program; ONNX keeps float32")
    deployment_target: DeploymentTarget = Field("iOS17", description="oldest system that must run the Core ML program")
    inputs: list[str] = Field(
        default_factory=list,
        description="NAME=SHAPE:DTYPE each, such as image=1x3x224x224, ids=1x1..512:int32, image=1x3x224x224|1x3x384x384",
        json_schema_extra=note(group="inputs"),
    )
    dynamic_batch: bool = Field(
        True, description="leave the batch size open (1 to 64 in Core ML); fixed at 1 suits the Neural Engine better"
    )
    image: list[str] = Field(
        default_factory=list,
        description="inputs that are pictures: NAME:rgb,scale=1/255,mean=0.485/0.456/0.406,std=0.229/0.224/0.225 (Core ML)",
        json_schema_extra=note(group="inputs"),
    )
    labels: str | None = Field(
        None,
        description="a text file with a class label a line; makes a Core ML classifier",
        json_schema_extra=note(path=True, group="outputs"),
    )
    input_name: str = Field("input", min_length=1, description="name of a single input", json_schema_extra=note(group="inputs"))
    output_name: str = Field(
        "output", min_length=1, description="name of a single output", json_schema_extra=note(group="outputs")
    )
    state: list[str] = Field(
        default_factory=list,
        description="buffers that the Core ML program keeps between calls (iOS18)",
        json_schema_extra=note(group="inputs"),
    )
    metadata: list[str] = Field(
        default_factory=list,
        description="KEY=TEXT each: author, license, version, description or your own",
        json_schema_extra=note(group="outputs"),
    )
    compute_units: ComputeUnits = Field(
        "all", description="where Core ML may run it; tried on a Mac, noted elsewhere", json_schema_extra=note(group="coreml")
    )
    keep_float32: list[str] = Field(
        default_factory=list,
        description="operators of the Core ML program that stay in float32, by type or name",
        json_schema_extra=note(group="coreml"),
    )
    repair_float16: bool = Field(
        False,
        description="keep in float32 what breaks in float16, and prove again",
        json_schema_extra=note(group="coreml"),
    )
    opset: int = Field(18, ge=18, le=23, description="ONNX operator set", json_schema_extra=note(group="onnx"))
    exporter: Literal["auto", "dynamo", "torchscript"] = Field(
        "auto", description="torch's exporter to ONNX; auto tries both", json_schema_extra=note(group="onnx")
    )
    external_data: Literal["auto", "always"] = Field(
        "auto", description="weights in a file beside the ONNX file; auto above 2 GB", json_schema_extra=note(group="onnx")
    )
    layers: bool = Field(False, description="compare every layer of the ONNX file", json_schema_extra=note(group="check"))
    rewrites: bool = Field(
        True,
        description="replace patterns that the converters cannot take or get wrong by equal ones",
        json_schema_extra=note(group="check"),
    )
    data: str | None = Field(
        None,
        description=f"data for the proof; default what the model was trained on, else random inputs ({DATA_HELP})",
        json_schema_extra=note(path=True, group="check"),
    )
    check_inputs: str | None = Field(
        None,
        description="a .npz with inputs by name for the proof, samples first",
        json_schema_extra=note(path=True, group="check"),
    )
    check_samples: int = Field(
        360,
        ge=2,
        le=100_000,
        description="inputs that the proof runs",
        json_schema_extra=note(unit="samples", group="check"),
    )
    output: str | None = Field(None, description="also write the result here", json_schema_extra=note(path=True, group="outputs"))
    trust: list[str] = Field(
        default_factory=list,
        description="SHA-256 of a source file that may run its own code when it is loaded",
        json_schema_extra=note(group="safety"),
    )


class EvaluateSpec(Request):
    """Run a Core ML program in the reference evaluator, on any system."""

    kind: Literal["evaluate"] = "evaluate"
    package: str = Field(min_length=1, description="the .mlpackage or job:ID", json_schema_extra=note(path=True))
    input: str = Field(min_length=1, description="a .npz with the inputs by name", json_schema_extra=note(path=True))
    output: str | None = Field(None, description="the .npz to write the outputs to", json_schema_extra=note(path=True))
    float16: bool = Field(False, description="round every half-precision value, as the program declares it")
    accumulate: Literal["float32", "float16"] = Field("float32", description="sums within an operator in float16 mode")


class OperatorsSpec(Request):
    """Which operators of Core ML's ML Programs the reference evaluator knows."""

    kind: Literal["operators"] = "operators"
    package: str | None = Field(None, description="only those of this .mlpackage", json_schema_extra=note(path=True))


class ProveSpec(Request):
    """Run a converted model on this Mac's compute units and add the truth to its job."""

    kind: Literal["prove"] = "prove"
    source: str = Field(
        min_length=1, description="job:ID of the conversion, its folder, or an .mlpackage", json_schema_extra=note(path=True)
    )
    time_limit_s: float = Field(120, gt=0, le=3600, description="for each compute unit", json_schema_extra=note(unit="s"))


class HintsSpec(Request):
    """What published rules say about a Core ML program on the Neural Engine: hints, never a measurement."""

    kind: Literal["hints"] = "hints"
    package: str = Field(min_length=1, description="the .mlpackage or job:ID", json_schema_extra=note(path=True))
