import json
import shutil
from pathlib import Path
from typing import Literal

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from explorer import home
from explorer.errors import ExplorerError
from explorer.models.missing_packages import absent, install
from explorer.models.sources import resolve, resolve_file, save_model, source_data
from explorer.reporter import QuietReporter
from explorer.schemas.jobs import JobRecord
from explorer.schemas.specs import ConvertSpec, QuantizeSpec, Spec, TrainSpec

CNN = "samples/digits_cnn.py:digits_cnn"
FACTORY = """
import torch
from dataclasses import dataclass
from torch import nn
import neighbour

@dataclass
class Size:
    inputs: int = neighbour.INPUTS

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(Size().inputs, 2)

    def forward(self, x):
        return self.layer(x)

def with_inputs():
    return Net(), (torch.zeros(1, 3),)

def broken():
    return Net().missing

def number():
    return 3

def needs_package():
    import not_there

class Sized(nn.Linear):
    def __init__(self, width, depth=1):
        super().__init__(width, depth)

    @classmethod
    def wide(cls):
        return cls(64)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home and a working folder with a model file in it."""
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(FACTORY)
    (tmp_path / "neighbour.py").write_text("INPUTS = 3\n")
    return tmp_path


def make_job(job_id: str, spec: Spec) -> QuietReporter:
    folder = home.jobs_folder() / job_id
    (folder / "artifacts").mkdir(parents=True)
    (folder / "spec.json").write_text(JobRecord(id=job_id, created=0, host="h", cwd="/", model="", spec=spec).model_dump_json())
    return QuietReporter(folder / "artifacts")


def test_sample_is_found_from_any_folder(work: Path) -> None:
    model = resolve(CNN)
    assert model.source == CNN
    assert model.module(*model.example_inputs).shape == (1, 10)
    assert (model.data, model.structure) == (None, "as_built")


def test_own_file_with_neighbour_and_dataclass_becomes_absolute(work: Path) -> None:
    model = resolve("net.py:with_inputs")
    assert model.source == f"{work / 'net.py'}:with_inputs"
    assert model.example_inputs[0].shape == (1, 3)
    assert resolve("net.py:Net").example_inputs == ()


def test_two_folders_may_have_a_neighbour_of_one_name(work: Path) -> None:
    (work / "net.py").write_text("import neighbour\nfrom torch import nn\n\ndef net(): return nn.Linear(neighbour.INPUTS, 1)\n")
    for folder, inputs in (("first", 5), ("second", 7)):
        (work / folder).mkdir()
        shutil.copy(work / "net.py", work / folder)
        (work / folder / "neighbour.py").write_text(f"INPUTS = {inputs}\n")
    for folder, inputs in (("first", 5), ("second", 7), ("first", 5), (".", 3)):
        assert resolve(f"{folder}/net.py:net").module.in_features == inputs


def test_an_edited_file_is_read_afresh(work: Path) -> None:
    resolve("net.py:Net")
    (work / "net.py").write_text(FACTORY.replace("self.layer = nn.Linear", "self.other = nn.Linear"))
    assert "other.weight" in resolve("net.py:Net").module.state_dict()


def test_package_module_is_imported(work: Path) -> None:
    assert isinstance(resolve("torch.nn:Identity").module, nn.Identity)


def test_arguments_reach_the_factory_and_stay_in_its_name(work: Path) -> None:
    model = resolve("net.py:Sized(width=5, depth=2)")
    assert tuple(model.module.get_parameter("weight").shape) == (2, 5)
    assert model.source == f"{work / 'net.py'}:Sized(width=5, depth=2)"
    assert tuple(resolve("torch.nn:Linear(4, out_features=3, bias=False)").module.get_parameter("weight").shape) == (3, 4)
    assert tuple(resolve("net.py:Sized.wide").module.get_parameter("weight").shape) == (1, 64)


def test_packages_have_other_names_on_the_index() -> None:
    assert [install(name) for name in ("sklearn", "timm")] == ["`pip install scikit-learn`", "`pip install timm`"]
    assert absent(ModuleNotFoundError("", name="torch.no_such")) is None


def test_job_of_a_factory_with_arguments_comes_back(work: Path) -> None:
    model = resolve("net.py:Sized(width=5)")
    save_model(model.module, make_job("sized", TrainSpec()), model.source, None)
    assert tuple(resolve("job:sized").module.get_parameter("weight").shape) == (1, 5)


@pytest.mark.parametrize("structure", ["as_built", "resized"])
def test_lazy_layers_take_their_sizes_from_the_weights(work: Path, structure: Literal["as_built", "resized"]) -> None:
    """They have none before the first call."""
    (work / "lazy.py").write_text(
        "from torch import nn\ndef net(): return nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2))\n"
    )
    trained = resolve("lazy.py:net").module
    inputs = torch.rand(5, 3)
    expected = trained(inputs).detach()
    save_model(trained, make_job("lazy", TrainSpec()), str(work / "lazy.py:net"), None, structure)
    module = resolve("job:lazy").module.train()
    torch.testing.assert_close(module(inputs), expected)
    assert "Linear(in_features=3, out_features=4" in str(module)
    assert "BatchNorm1d(4, eps" in str(module)
    save_file({"0.weight": torch.zeros(4, 3)}, work / "part.safetensors")
    with pytest.raises(ExplorerError, match=r"0\.bias has no size before the model's first call"):
        resolve("lazy.py:net", "part.safetensors")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("net.py:broken", r"net\.py:broken failed at .*net\.py:\d+: AttributeError"),
        ("net.py:number", "gave int, not a module"),
        ("net.py:nothing", r"has no factory nothing: it has Size, Net, with_inputs, broken, number, needs_package, Sized"),
        ("net.py", r"names no factory: add one, such as net\.py:Sized"),
        ("syntax.py:f", r"syntax\.py failed to load at .*syntax\.py:2: SyntaxError"),
        ("raises.py:f", r"raises\.py failed to load at .*raises\.py:3: ZeroDivisionError"),
        ("missing.py:f", "does not exist"),
        ("no_such_package.models:f", r"there is no module no_such_package: install it with `pip install no_such_package`"),
        ("torch.no_such:f", r"there is no module torch\.no_such: check the name"),
        ("imports.py:f", r"imports\.py needs not_here, which is not installed: `pip install not_here`"),
        ("net.py:needs_package", r"needs not_there, which is not installed: `pip install not_there`"),
        ("net.py:Net(width=8)", r"got an unexpected keyword argument 'width': it takes \(\) -> None"),
        ("net.py:Sized(width=open)", "are not all literals"),
        ("net.py:Sized()", r"missing a required argument: 'width'"),
        ("weights.pth", "holds no class .* give file.py:factory as the source and this file as its weights"),
        ("nonsense", "is not a model source"),
        ("job:nothing", "there is no job nothing"),
    ],
)
def test_wrong_source_is_one_sentence(work: Path, source: str, sentence: str) -> None:
    (work / "syntax.py").write_text("x = 1\ndef f(:\n")
    (work / "raises.py").write_text("\n\n1 / 0\n")
    (work / "imports.py").write_text("import not_here.part\n")
    torch.save({}, work / "weights.pth")
    with pytest.raises(ExplorerError, match=sentence) as caught:
        resolve(source)
    assert "\n" not in str(caught.value)


def test_saved_model_comes_back_through_its_job(work: Path) -> None:
    model = resolve("net.py:with_inputs")
    report = make_job("20260101-train-abc", TrainSpec(source="net.py:with_inputs"))
    save_model(model.module, report, model.source, "digits", "as_built")
    for name in ("job:20260101-train-abc", "job:abc", "job:2026"):
        again = resolve(name)
        assert torch.equal(again.module.state_dict()["layer.weight"], model.module.state_dict()["layer.weight"])
        assert (again.source, again.data) == (model.source, "digits")
    assert resolve("net.py:Net", weights="job:abc").data == "digits"


def test_ambiguous_job_is_named(work: Path) -> None:
    make_job("a1", TrainSpec())
    make_job("a2", TrainSpec())
    with pytest.raises(ExplorerError, match="fits 2 jobs"):
        resolve("job:a")


def test_resize_applies_a_pruned_model(work: Path) -> None:
    model = resolve(CNN)
    pruned = resolve(CNN).module
    keep = torch.arange(16)
    state = {name: tensor.clone() for name, tensor in pruned.state_dict().items()}
    for name in ("conv1.weight", "conv1.bias", "norm1.weight", "norm1.bias", "norm1.running_mean", "norm1.running_var"):
        state[name] = state[name][keep]
    state["conv2.weight"] = state["conv2.weight"][:, keep]
    report = make_job("pruned", TrainSpec())
    save_model(Held(state), report, model.source, "digits", "resized")
    again = resolve("job:pruned")
    assert again.structure == "resized"
    layers = dict(again.module.named_modules())
    assert (layers["conv1"].out_channels, layers["conv2"].in_channels, layers["norm1"].num_features) == (16, 16, 16)
    assert all(torch.equal(tensor, state[name]) for name, tensor in again.module.state_dict().items())
    assert again.module.eval()(torch.rand(3, 1, 8, 8)).shape == (3, 10)


class Held(nn.Module):
    """Gives a fixed state dict."""

    def __init__(self, state: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.state = state

    def state_dict(self, *args: object, **kwargs: object) -> dict[str, torch.Tensor]:  # type: ignore[override]
        return self.state


def test_weights_of_another_model_name_keys_and_the_prefix(work: Path) -> None:
    state = resolve("net.py:Net").module.state_dict()
    torch.save({f"module.{name}": tensor for name, tensor in state.items()}, work / "parallel.pth")
    with pytest.raises(
        ExplorerError, match=r"2 missing: layer\.weight, layer\.bias; 2 unexpected: .*with 'module\.' removed.*`explorer match`"
    ):
        resolve("net.py:Net", weights="parallel.pth")
    torch.save({"layer.weight": torch.zeros(5, 5), "layer.bias": torch.zeros(2)}, work / "other.pth")
    with pytest.raises(ExplorerError, match=r"1 of another shape: layer\.weight is 5x5, not 2x3"):
        resolve("net.py:Net", weights="other.pth")


def test_checkpoint_dict_is_taken_as_weights(work: Path) -> None:
    state = {"layer.weight": torch.ones(2, 3), "layer.bias": torch.ones(2)}
    torch.save({"state_dict": state, "epoch": 3}, work / "c.ckpt")
    loaded = resolve("net.py:Net", weights="c.ckpt").module.state_dict()
    assert torch.equal(loaded["layer.weight"], torch.ones(2, 3))


def test_sharded_weights_and_a_hub_folder_are_read_whole(work: Path) -> None:
    folder = work / "hub"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "net"}')
    save_file({"layer.weight": torch.ones(2, 3)}, folder / "model-00001-of-00002.safetensors")
    save_file({"layer.bias": torch.ones(2)}, folder / "model-00002-of-00002.safetensors")
    places = {"layer.weight": "model-00001-of-00002.safetensors", "layer.bias": "model-00002-of-00002.safetensors"}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    for weights in ("hub", "hub/model.safetensors.index.json"):
        assert torch.equal(resolve("net.py:Net", weights=weights).module.get_parameter("layer.weight"), torch.ones(2, 3))
    index.write_text(json.dumps({"metadata": {}, "weight_map": {**places, "layer.bias": "../other.safetensors"}}))
    with pytest.raises(ExplorerError, match=r"names \.\./other\.safetensors, which is no file of weights beside it"):
        resolve("net.py:Net", weights=str(index))


def test_whole_module_as_weights_is_refused_without_running_it(work: Path) -> None:
    torch.save(nn.Linear(3, 2), work / "whole.pth")
    with pytest.raises(ExplorerError, match="holds more than tensors"):
        resolve("net.py:Net", weights="whole.pth")


def test_tied_weights_are_saved_under_each_name(work: Path) -> None:
    (work / "tied.py").write_text(
        "from torch import nn\nclass Tied(nn.Module):\n  def __init__(self):\n    super().__init__()\n"
        "    self.a = nn.Linear(3, 3)\n    self.b = nn.Linear(3, 3)\n    self.b.weight = self.a.weight\n"
    )
    model = resolve("tied.py:Tied")
    save_model(model.module, make_job("tied", TrainSpec()), model.source, None)
    again = resolve("job:tied").module
    assert again.get_parameter("a.weight") is again.get_parameter("b.weight")
    assert torch.equal(again.get_parameter("a.weight"), model.module.get_parameter("a.weight"))


def test_data_is_followed_through_jobs(work: Path) -> None:
    model = resolve("net.py:Net")
    save_model(model.module, make_job("t1", TrainSpec()), model.source, "linear")
    report = make_job("c1", ConvertSpec(source="job:t1"))
    (report.folder / "model.onnx").touch()
    make_job("q1", QuantizeSpec(source="job:c1"))
    make_job("w1", ConvertSpec(source=CNN, weights="job:t1"))
    assert [source_data(f"job:{name}") for name in ("t1", "c1", "q1", "w1")] == ["linear"] * 4
    assert source_data(str(report.folder / "model.onnx")) == "linear"
    assert source_data(CNN) is None


def test_resolve_file_finds_artifacts_and_paths(work: Path) -> None:
    report = make_job("c1", ConvertSpec(source=CNN))
    (report.folder / "model.onnx").touch()
    assert resolve_file("job:c1", ["model.mlpackage", "model.onnx"]) == report.folder / "model.onnx"
    assert resolve_file("net.py", []) == work / "net.py"
    with pytest.raises(ExplorerError, match=r"job:c1 made no model\.mlpackage: name the job that did, or wait until it ends"):
        resolve_file("job:c1", ["model.mlpackage"])
    checkpoint = report.folder / "checkpoint.pt"
    checkpoint.touch()
    with pytest.raises(ExplorerError, match=f"or take the weights of its last checkpoint, {checkpoint}"):
        resolve_file("job:c1", ["model.safetensors"])
    with pytest.raises(ExplorerError, match="or wait until it ends"):
        resolve_file("job:c1", ["model.mlpackage"])
    with pytest.raises(ExplorerError, match="does not exist"):
        resolve_file("nothing.onnx", [])
