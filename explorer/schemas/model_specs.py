"""What can be asked about model files: values, layers, operators, and how two models differ."""

from typing import Literal

from pydantic import Field

from explorer.schemas.base import Request, note

SOURCE_HELP = "a file, file.py:factory, package.module:factory or job:ID"
TRUST_HELP = "SHA-256 of a file that may run its own code when loaded, as `explorer inspect` shows it"


class ValuesSpec(Request):
    """Statistics of one stored tensor, or a sweep of every tensor for NaN and infinity."""

    kind: Literal["values"] = "values"
    source: str = Field(min_length=1, description="a model file or job:ID", json_schema_extra=note(path=True))
    tensor: str | None = Field(None, description="the tensor; default: look for NaN and infinity in all of them")
    bins: int = Field(64, ge=2, le=4096, description="bins of the histogram", json_schema_extra=note(group="histogram"))


class DiffSpec(Request):
    """Compare the tensors of two models, of any format."""

    kind: Literal["diff"] = "diff"
    first: str = Field(min_length=1, description="a model file or job:ID", json_schema_extra=note(path=True))
    second: str = Field(min_length=1, description="the other one", json_schema_extra=note(path=True))
    tolerance: float = Field(0.0, ge=0, description="largest absolute change that still counts as the same")


class VerifySpec(Request):
    """Run two models on the same inputs and say how far their outputs are apart."""

    kind: Literal["verify"] = "verify"
    first: str = Field(min_length=1, description=f"the reference: {SOURCE_HELP}", json_schema_extra=note(path=True))
    second: str = Field(min_length=1, description="the other one", json_schema_extra=note(path=True))
    samples: int = Field(8, ge=1, le=10_000, description="inputs that both run", json_schema_extra=note(unit="samples"))
    tolerance: float = Field(1e-4, gt=0, description="largest absolute difference that still counts as the same")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="seed of the inputs", json_schema_extra=note(group="inputs"))
    shapes: list[str] = Field(
        default_factory=list,
        description="shape of an input such as audio=1x512, or a scalar such as sr=8000; default what the models say",
        json_schema_extra=note(group="inputs"),
    )
    trust: list[str] = Field(default_factory=list, description=TRUST_HELP, json_schema_extra=note(group="safety"))


class MatchSpec(Request):
    """Lay the names and shapes of stored weights against a module that is built without memory."""

    kind: Literal["match"] = "match"
    source: str = Field(min_length=1, description="file.py:factory or package.module:factory", json_schema_extra=note(path=True))
    weights: str = Field(min_length=1, description="a weights file or job:ID", json_schema_extra=note(path=True))


class LayersSpec(Request):
    """What each layer costs: output shape, parameters, FLOPs, activation memory, and its share of the latency."""

    kind: Literal["layers"] = "layers"
    source: str = Field(
        min_length=1,
        description="file.py:factory, package.module:factory or job:ID",
        json_schema_extra=note(path=True),
    )
    weights: str | None = Field(None, description="weights for the model", json_schema_extra=note(path=True, group="model"))
    batch_size: int = Field(1, ge=1, le=65_536, description="samples in one call", json_schema_extra=note(unit="samples"))
    shapes: list[str] = Field(
        default_factory=list,
        description="shape of an input such as 1x3x224x224 or audio=1x512; default what the source gives",
        json_schema_extra=note(group="inputs"),
    )
    latency: bool = Field(True, description="also time the layers on the CPU")
    threads: int = Field(1, ge=1, le=1024, description="CPU threads of the timing", json_schema_extra=note(unit="threads"))


class GraphSpec(Request):
    """The operators of an ONNX file, a Core ML program or an exported program, without running or loading it."""

    kind: Literal["graph"] = "graph"
    source: str = Field(min_length=1, description="a model file or job:ID", json_schema_extra=note(path=True))
