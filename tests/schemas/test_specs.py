"""One definition of a spec: TOML, wire and record give the same spec back, and mistakes are named."""

from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.schemas.convert_spec import EvaluateSpec, HintsSpec, OperatorsSpec, ProveSpec
from explorer.schemas.fields import spec_fields
from explorer.schemas.model_specs import DiffSpec, GraphSpec, LayersSpec, MatchSpec, ValuesSpec, VerifySpec
from explorer.schemas.paths import absolute_source, short_name, with_absolute_paths
from explorer.schemas.specs import (
    SPEC_ADAPTER,
    SPEC_TYPES,
    BenchmarkSpec,
    CeilingsSpec,
    ConvertSpec,
    ExportSpec,
    InspectSpec,
    PruneSpec,
    QuantizeSpec,
    Spec,
    TrainSpec,
    parent_jobs,
    parse_spec,
    spec_from_toml,
    spec_to_toml,
)

EXAMPLES: list[Spec] = [
    InspectSpec(source="a.onnx"),
    TrainSpec(epochs=3, learning_rate=1e-4, clip_grad_norm=1.0),
    TrainSpec(
        source="net.py:make(width=8)",
        weights="job:1",
        data="table.csv,target=price,task=regression",
        step="net.py:step",
        max_steps=50,
        optimizer="rmsprop",
        momentum=0.5,
        schedule="plateau",
        warmup_share=0.0,
        accumulate_batches=4,
        early_stopping_epochs=2,
        keep_best=True,
        mps_fallback=False,
        mps_high_watermark=1.2,
        mps_low_watermark=0.9,
        processes=2,
        nodes=2,
        rendezvous="a.example:29500",
        backend="gloo",
        deterministic=True,
        time_every_steps=0,
        check_gradients="always",
        keep_checkpoints=1,
    ),
    ConvertSpec(source="job:1", target="coreml", dynamic_batch=False),
    EvaluateSpec(package="a.mlpackage", input="x.npz", output="y.npz", float16=True, accumulate="float16"),
    OperatorsSpec(package="a.mlpackage"),
    HintsSpec(package="job:1"),
    ProveSpec(source="job:1", time_limit_s=30),
    QuantizeSpec(source="a.onnx", per_channel=False),
    PruneSpec(source="net.py:make", amount=0.25, max_accuracy_drop=0.01),
    BenchmarkSpec(models=["job:1", "b.onnx"], names=["one", "two"]),
    CeilingsSpec(devices="cpu", threads=2, seconds=0.1),
    ValuesSpec(source="a.onnx", tensor="fc.weight"),
    DiffSpec(first="a.pth", second="job:1", tolerance=1e-6),
    VerifySpec(first="a.onnx", second="b.mlpackage", shapes=["audio=1x512"]),
    MatchSpec(source="net.py:make", weights="w.pth"),
    LayersSpec(source="net.py:make", latency=False),
    GraphSpec(source="a.onnx"),
    ExportSpec(source="job:1", to="tensorboard", output="runs/a", overwrite=True),
]


@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda spec: spec.kind)
def test_a_spec_survives_toml_and_json(spec: Spec) -> None:
    assert spec_from_toml(spec_to_toml(spec), "x.toml") == spec
    assert SPEC_ADAPTER.validate_json(spec.model_dump_json()) == spec


def test_there_is_an_example_of_every_kind() -> None:
    assert {spec.kind for spec in EXAMPLES} == set(SPEC_TYPES)


@pytest.mark.parametrize("spec_type", SPEC_TYPES.values(), ids=SPEC_TYPES.keys())
def test_every_field_has_help_and_its_choices(spec_type: type[Spec]) -> None:
    for field in spec_fields(spec_type):
        assert field.help, field.name
        assert (field.type == "choice") == bool(field.choices)
        assert field.required == (field.default is None and not field.optional)


def test_fields_carry_bounds_units_and_defaults() -> None:
    fields = {field.name: field for field in spec_fields(TrainSpec)}
    epochs = fields["epochs"]
    assert (epochs.type, epochs.minimum, epochs.maximum, epochs.unit) == ("int", 1, 100_000, "epochs")
    assert fields["device"].choices == ("auto", "cpu", "mps", "cuda", "xla")
    assert fields["weights"].optional
    assert fields["source"].is_path
    assert fields["learning_rate"].flag == "--learning-rate"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "train"\nepochs = 0', "epochs: input should be greater than or equal to 1"),
        ('kind = "train"\nepoch = 3', "epoch: extra inputs are not permitted"),
        ('kind = "dance"', "kind is 'dance'"),
        ("epochs = 3", "kind is None"),
        ("epochs = = 3", "is not TOML"),
    ],
)
def test_a_wrong_toml_names_file_and_field(text: str, words: str) -> None:
    with pytest.raises(ExplorerError) as caught:
        spec_from_toml(text, "run.toml")
    assert "run.toml" in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.remedy


def test_parents_are_the_jobs_a_spec_builds_on() -> None:
    assert parent_jobs(PruneSpec(source="job:a", weights="job:b")) == ["a", "b"]
    assert parent_jobs(BenchmarkSpec(models=["job:a", "x.onnx", "job:a"])) == ["a"]
    assert parent_jobs(DiffSpec(first="job:b", second="job:a")) == ["b", "a"]
    assert parent_jobs(ExportSpec(source="job:a", output="a.csv")) == ["a"]
    assert parent_jobs(HintsSpec(package="job:a")) == ["a"]
    assert parent_jobs(OperatorsSpec()) == []
    assert parent_jobs(TrainSpec()) == []


def test_paths_become_absolute_and_other_sources_stay(tmp_path: Path) -> None:
    spec = ConvertSpec(source="net.py:make", weights="w.pth", output="out/m.onnx")
    moved = with_absolute_paths(spec, tmp_path)
    assert moved == spec.model_copy(
        update={"source": f"{tmp_path}/net.py:make", "weights": f"{tmp_path}/w.pth", "output": f"{tmp_path}/out/m.onnx"}
    )
    evaluate = with_absolute_paths(EvaluateSpec(package="a.mlpackage", input="x.npz", output="y.npz"), tmp_path)
    assert evaluate == EvaluateSpec(package=f"{tmp_path}/a.mlpackage", input=f"{tmp_path}/x.npz", output=f"{tmp_path}/y.npz")
    for text in ("job:12", "torchvision.models:resnet18", "samples/digits_cnn.py:digits_cnn"):
        assert absolute_source(text, tmp_path) == text
    benchmark = with_absolute_paths(BenchmarkSpec(models=["a.onnx", "job:1"]), tmp_path)
    assert benchmark == BenchmarkSpec(models=[f"{tmp_path}/a.onnx", "job:1"])


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("digits", "digits"),
        ("digits,validation=0.1", "digits,validation=0.1"),
        ("a.npz", "{folder}/a.npz"),
        ("t.csv,target=price,validation=0.1", "{folder}/t.csv,target=price,validation=0.1"),
        ("photos,size=64", "{folder}/photos,size=64"),
        ("/data/photos,size=64", "/data/photos,size=64"),
        ("data.py:make", "{folder}/data.py:make"),
        ("data.py:make(3, name='a,b=c')", "{folder}/data.py:make(3, name='a,b=c')"),
        ("data.py:make(size=3),validation=0.5", "{folder}/data.py:make(size=3),validation=0.5"),
        ("package.module:make", "package.module:make"),
    ],
)
def test_data_becomes_absolute_and_keeps_its_options(text: str, moved: str, tmp_path: Path) -> None:
    asked = with_absolute_paths(TrainSpec(data=text), tmp_path)
    assert asked == TrainSpec(data=moved.format(folder=tmp_path))
    assert with_absolute_paths(asked, tmp_path / "elsewhere") == asked


def test_an_export_and_a_training_name_files_from_any_folder(tmp_path: Path) -> None:
    export = with_absolute_paths(ExportSpec(source="runs/log.csv", output="out"), tmp_path)
    assert export == ExportSpec(source=f"{tmp_path}/runs/log.csv", output=f"{tmp_path}/out")
    kept = ExportSpec(source="job:1", output="/out")
    assert with_absolute_paths(kept, tmp_path) == kept
    train = with_absolute_paths(TrainSpec(step="net.py:step"), tmp_path)
    assert train == TrainSpec(step=f"{tmp_path}/net.py:step")


def test_short_names() -> None:
    assert short_name("samples/digits_cnn.py:digits_cnn") == "digits_cnn"
    assert short_name("/a/b/model.onnx") == "model"
    assert short_name("pkg.models:make") == "make"


def test_parse_spec_names_every_wrong_field() -> None:
    with pytest.raises(ExplorerError, match=r"source: field required.*amount: input should be less than 1"):
        parse_spec({"kind": "prune", "amount": 1.5})
