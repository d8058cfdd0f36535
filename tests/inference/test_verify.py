"""Are two models the same? Each way of pairing inputs and outputs, and each way in which they may differ."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.inference.verify import run
from explorer.models.trust import sha256
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import VerifyResult
from explorer.schemas.model_specs import VerifySpec
from tests.inference.coreml.packages import traced_package
from tests.inference.onnx_files import Node, Ports, linear, written

WEIGHT = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
NETS = f"""
import torch
from torch import nn

WEIGHT = torch.tensor({WEIGHT.tolist()})

class Linear(nn.Module):
    def __init__(self, shift=0.0):
        super().__init__()
        self.layer = nn.Linear(3, 4)
        with torch.no_grad():
            self.layer.weight.copy_(WEIGHT.T)
            self.layer.bias.fill_(shift)
    def forward(self, x):
        return self.layer(x)

class Noisy(Linear):
    def forward(self, x):
        return self.layer(x) + torch.rand(4)

class Image(nn.Module):
    def forward(self, image):
        return image * torch.tensor([1.0, 2.0, 3.0]).reshape(1, 3, 1, 1)

def image():
    return Image(), (torch.rand(1, 3, 4, 5),)

class Named(nn.Module):
    def forward(self, a, b):
        return {{"difference": a - b, "total": a + b}}

def named():
    return Named(), (torch.rand(1, 3), torch.rand(1, 3))

class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
        nn.init.ones_(self.table.weight)
    def forward(self, ids):
        return self.table(ids)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


def verified(first: Path | str, second: Path | str, **fields: Any) -> VerifyResult:
    return run(VerifySpec(first=str(first), second=str(second), **fields), QuietReporter(Path("artifacts")))


def titles(result: VerifyResult) -> list[str]:
    return [finding.title for finding in result.findings]


def test_torch_equals_its_onnx(work: Path) -> None:
    result = verified("nets.py:Linear", linear(work / "a.onnx", WEIGHT))
    assert result.same
    assert result.max_abs_error is not None
    assert result.max_abs_error < 1e-5
    assert result.runtimes == ["PyTorch", "ONNX Runtime"]
    assert [port.shape for port in result.inputs] == [[1, 3]]
    (output,) = result.outputs
    assert (output.name, output.other_name, output.shape, output.agreement) == ("output", "y", [1, 4], 1.0)


def test_a_small_change_of_one_weight_is_seen_and_measured(work: Path) -> None:
    result = verified("nets.py:Linear", "nets.py:Linear(shift=0.01)")
    assert not result.same
    assert result.max_abs_error == pytest.approx(0.01, rel=1e-3)
    assert "output output differs" in titles(result)
    assert verified("nets.py:Linear", "nets.py:Linear(shift=0.01)", tolerance=0.02).same


def test_the_negative_side_is_tried(work: Path) -> None:
    one = written(work / "a.onnx", [("Relu", ["x"], ["y"], {})], {"x": [1, 8]}, {"y": [1, 8]})
    other = written(work / "b.onnx", [("Abs", ["x"], ["y"], {})], {"x": [1, 8]}, {"y": [1, 8]})
    assert not verified(one, other, samples=1).same


def test_axes_of_channels_last_images_are_permuted_and_said(work: Path) -> None:
    scale = np.array([1, 2, 3], dtype=np.float32)
    last = written(work / "a.onnx", [("Mul", ["im", "s"], ["y"], {})], {"im": ["n", 4, 5, 3]}, {"y": ["n", 4, 5, 3]}, s=scale)
    first = written(
        work / "b.onnx", [("Mul", ["im", "s"], ["y"], {})], {"im": [1, 3, 4, 5]}, {"y": [1, 3, 4, 5]}, s=scale.reshape(3, 1, 1)
    )
    result = verified(first, last)
    assert result.same
    assert "the axes of im are permuted for im" in titles(result)
    assert "the axes of output y are permuted back" in titles(result)
    assert verified(last, first).same
    assert not verified(
        first, written(work / "c.onnx", [("Neg", ["im"], ["y"], {})], {"im": [1, 4, 5, 3]}, {"y": [1, 4, 5, 3]})
    ).same


def test_the_example_of_a_factory_tells_the_order_of_axes(work: Path) -> None:
    scale = np.array([1, 2, 3], dtype=np.float32)
    last = written(work / "a.onnx", [("Mul", ["im", "s"], ["y"], {})], {"im": ["n", 4, 5, 3]}, {"y": ["n", 4, 5, 3]}, s=scale)
    for first, second in (("nets.py:image", last), (last, "nets.py:image")):
        result = verified(first, second)
        assert result.same, result
    wide = written(
        work / "b.onnx", [("Mul", ["im", "s"], ["y"], {})], {"im": [1, 3, 8, 9]}, {"y": [1, 3, 8, 9]}, s=scale.reshape(3, 1, 1)
    )
    result = verified("nets.py:image", wide)
    assert (result.same, result.inputs[0].shape) == (True, [1, 3, 8, 9])


def test_an_image_and_its_output_are_no_carried_state(work: Path) -> None:
    nodes: list[Node] = [("Mul", ["image", "mask"], ["image_out"], {})]
    one = written(work / "a.onnx", nodes, {"image": [1, 3], "mask": [1, 3]}, {"image_out": [1, 3]})
    result = verified(one, one)
    assert [port.name for port in result.inputs] == ["image", "mask"]
    only = written(work / "b.onnx", [("Relu", ["state"], ["state_out"], {})], {"state": [1, 3]}, {"state_out": [1, 3]})
    assert [port.name for port in verified(only, only).inputs] == ["state"]


def test_inputs_and_outputs_go_by_name_before_order(work: Path) -> None:
    nodes: list[Node] = [("Add", ["b", "a"], ["total"], {}), ("Sub", ["a", "b"], ["difference"], {})]
    swapped = written(work / "a.onnx", nodes, {"b": [1, 3], "a": [1, 3]}, {"total": [1, 3], "difference": [1, 3]})
    result = verified("nets.py:named", swapped)
    assert result.same
    assert [(item.name, item.other_name) for item in result.outputs] == [("difference", "difference"), ("total", "total")]


def test_outputs_in_another_order_go_by_shape_and_values_with_a_warning(work: Path) -> None:
    nodes: list[Node] = [("Relu", ["x"], ["a"], {}), ("Neg", ["x"], ["b"], {}), ("Flatten", ["x"], ["c"], {"axis": 3})]
    shapes = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [6, 1]}
    one = written(work / "a.onnx", nodes, {"x": [1, 2, 3]}, shapes)
    renamed = [("Flatten", ["x"], ["k"], {"axis": 3}), ("Neg", ["x"], ["m"], {}), ("Relu", ["x"], ["l"], {})]
    other = written(work / "b.onnx", renamed, {"x": [1, 2, 3]}, {"k": [6, 1], "m": [1, 2, 3], "l": [1, 2, 3]})
    result = verified(one, other)
    assert result.same
    assert {(item.name, item.other_name) for item in result.outputs} == {("a", "l"), ("b", "m"), ("c", "k")}
    assert "outputs are paired by shape and values" in titles(result)


def test_an_output_without_counterpart_is_never_the_same(work: Path) -> None:
    nodes: list[Node] = [("Relu", ["x"], ["a"], {}), ("Neg", ["x"], ["b"], {})]
    both = written(work / "a.onnx", nodes, {"x": [1, 3]}, {"a": [1, 3], "b": [1, 3]})
    one = written(work / "b.onnx", nodes[:1], {"x": [1, 3]}, {"a": [1, 3]})
    result = verified(both, one)
    assert not result.same
    assert f"only {both} gives b" in titles(result)


def test_outputs_of_other_shapes_are_not_compared(work: Path) -> None:
    one = written(work / "a.onnx", [("Relu", ["x"], ["y"], {})], {"x": [1, 4]}, {"y": [1, 4]})
    axes = np.array([0, 4], dtype=np.int64)[:1]
    other = written(
        work / "b.onnx",
        [("Squeeze", ["r", "axes"], ["y"], {}), ("Relu", ["x"], ["r"], {})][::-1],
        {"x": [1, 4]},
        {"y": [4]},
        axes=axes,
    )
    result = verified(one, other)
    assert not result.same
    assert result.max_abs_error is None
    assert (result.outputs[0].shape, result.outputs[0].other_shape, result.outputs[0].max_abs_error) == ([1, 4], [4], None)
    assert "output y has another shape" in titles(result)


def recurrent(path: Path, factor: float, names: tuple[str, str] = ("state", "stateN")) -> Path:
    """y = x + state, next state = factor (x + state): wrong factors show from the second call on."""
    nodes: list[Node] = [("Add", ["x", names[0]], ["y"], {}), ("Mul", ["y", "f"], [names[1]], {})]
    shapes: Ports = {"x": [1, 3], names[0]: ["batch", 3]}
    return written(path, nodes, shapes, {"y": [1, 3], names[1]: [1, 3]}, f=np.array([factor], dtype=np.float32))


def test_state_is_carried_from_call_to_call(work: Path) -> None:
    one, other = recurrent(work / "a.onnx", 0.5), recurrent(work / "b.onnx", 0.5, ("h0", "hn"))
    result = verified(one, other)
    assert result.same
    assert [item.name for item in result.outputs] == ["y"]
    assert f"hn of {other} is carried on to h0" in titles(result)
    wrong = recurrent(work / "c.onnx", 0.6, ("h0", "hn"))
    assert not verified(one, wrong).same
    assert verified(one, wrong, samples=1).same


def test_a_model_that_keeps_state_and_context_equals_one_that_is_given_them(work: Path) -> None:
    path = scripted(work / "stream.pt", Stream())
    nodes: list[Node] = [
        ("ReduceSum", ["input", "axes"], ["sum"], {"keepdims": 1}),
        ("Cast", ["sr"], ["rate"], {"to": 1}),
        ("Div", ["sum", "rate"], ["share"], {}),
        ("Add", ["share", "state"], ["output"], {}),
        ("Identity", ["output"], ["stateN"], {}),
    ]
    inputs: Ports = {"input": ["n", "length"], "state": ["n", 1], "sr": []}
    onnx = written(work / "a.onnx", nodes, inputs, {"output": ["n", 1], "stateN": ["n", 1]}, axes=np.array([1]))
    trust = [sha256(path)]
    for first, second in ((path, onnx), (onnx, path)):
        result = verified(first, second, trust=trust, tolerance=1e-6)
        assert result.same, result
        assert result.inputs[0].shape == [1, 48]  # the only length that the script accepts, named in its refusal
        assert "sr is set to 16000" in titles(result)
        assert "input gets the last 4 values of the call before in front" in titles(result)
    assert "sr is set to 8000" in titles(verified(path, onnx, trust=trust, shapes=["sr=8000"]))


class Stream(nn.Module):
    """Sums its input and the 4 values before it, over all calls."""

    context_size: int
    state: torch.Tensor
    tail: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.context_size = 4
        self.state = torch.zeros(1, 1)
        self.tail = torch.zeros(1, 4)

    def forward(self, x: torch.Tensor, sr: int) -> torch.Tensor:
        if x.shape[1] != 48:
            raise ValueError("48 samples in a call")
        joined = torch.cat([self.tail, x], 1)
        self.tail = joined[:, -4:]
        self.state = self.state + joined.sum(1, keepdim=True) / sr
        return self.state


def scripted(path: Path, module: nn.Module) -> Path:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        torch.jit.script(module).save(str(path))  # type: ignore[no-untyped-call]
    return path


def test_torchscript_runs_after_a_yes_for_that_file(work: Path) -> None:
    module = nn.Linear(3, 4, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(WEIGHT.T.copy()))
    path, onnx = scripted(work / "net.pt", module), linear(work / "a.onnx", WEIGHT)
    with pytest.raises(ExplorerError, match=r"net\.pt runs its own code when it is loaded \(TorchScript\).*--trust"):
        verified(path, onnx)
    result = verified(path, onnx, trust=[sha256(path)[:12]])
    assert result.same
    assert result.runtimes[0] == "TorchScript"


def test_exported_program_runs_after_a_yes_with_its_open_batch(work: Path) -> None:
    module = nn.Linear(3, 4, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(WEIGHT.T.copy()))
    program = torch.export.export(module, (torch.rand(2, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.export.save(program, work / "net.pt2")
    with pytest.raises(ExplorerError, match=r"torch\.export\.load"):
        verified(work / "net.pt2", "nets.py:Linear")
    result = verified(work / "net.pt2", "nets.py:Linear", trust=[sha256(work / "net.pt2")])
    assert result.same
    assert result.runtimes[0] == "PyTorch exported program"


def test_a_pickled_module_runs_after_a_yes(work: Path) -> None:
    torch.save(nn.Linear(3, 4), work / "whole.pth")
    torch.save(nn.Linear(3, 4).state_dict(), work / "weights.pth")
    with pytest.raises(ExplorerError, match="a pickle of more than tensors"):
        verified(work / "whole.pth", "nets.py:Linear")
    result = verified(work / "whole.pth", work / "whole.pth", trust=[sha256(work / "whole.pth")])
    assert (result.same, result.max_abs_error) == (True, 0.0)
    with pytest.raises(ExplorerError, match="holds weights only"):
        verified(work / "weights.pth", "nets.py:Linear")


class Hostile:
    """Writes a file when it is unpickled."""

    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> Any:
        return Path.touch, (self.sentinel,)


@pytest.mark.parametrize("legacy", [True, False])
def test_no_code_of_an_untrusted_pickle_runs(work: Path, legacy: bool) -> None:
    torch.save(Hostile(work / "sentinel"), work / "evil.pth", _use_new_zipfile_serialization=not legacy)
    with pytest.raises(ExplorerError, match="runs its own code"):
        verified(work / "evil.pth", "nets.py:Linear", trust=["0" * 64])
    assert not (work / "sentinel").exists()


def test_core_ml_runs_in_the_evaluator(work: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    package = traced_package(module, [torch.rand(1, 3)], work / "net.mlpackage")
    torch.save(module, work / "net.pth")
    result = verified(work / "net.pth", package, trust=[sha256(work / "net.pth")])
    assert result.same
    assert result.runtimes[1] == "Core ML reference evaluator, float32"


def test_token_ids_stay_below_the_vocabulary(work: Path) -> None:
    table = np.ones((5, 3), dtype=np.float32)
    onnx = written(
        work / "a.onnx", [("Gather", ["t", "ids"], ["y"], {})], {"ids": ["n", "length"]}, {"y": ["n", "length", 3]}, t=table
    )
    result = verified("nets.py:Tokens", onnx, samples=20)
    assert result.same
    assert result.inputs[0].dtype == "int64"


def test_ids_of_an_unknown_vocabulary_are_lowered_until_both_accept(work: Path) -> None:
    table = np.eye(3, dtype=np.float32)
    files = [
        written(work / f"{name}.onnx", [("Gather", ["t", "ids"], ["y"], {})], {"ids": [1, 64]}, {"y": [1, 64, 3]}, t=table)
        for name in ("a", "b")
    ]
    assert verified(*files).same


def test_zeros_that_one_model_divides_by_are_set_aside_and_said(work: Path) -> None:
    shapes = {"x": [1, 3]}, {"y": [1, 3]}
    plain = [("ReduceMax", ["a"], ["m"], {"keepdims": 1}), ("Div", ["x", "m"], ["y"], {})]
    one = written(work / "a.onnx", [("Abs", ["x"], ["a"], {}), *plain], *shapes)
    guarded = [("Abs", ["x"], ["a"], {}), plain[0], ("Max", ["m", "tiny"], ["g"], {}), ("Div", ["x", "g"], ["y"], {})]
    other = written(work / "b.onnx", guarded, *shapes, tiny=np.array([1e-20], dtype=np.float32))
    result = verified(one, other)
    assert result.same
    assert result.samples == 7
    assert f"on an all-zero input only {one} gives NaN" in titles(result)


def test_nan_elsewhere_on_one_side_is_a_difference(work: Path) -> None:
    one = written(work / "a.onnx", [("Sqrt", ["x"], ["y"], {})], {"x": [1, 9]}, {"y": [1, 9]})
    other = written(work / "b.onnx", [("Relu", ["x"], ["r"], {}), ("Sqrt", ["r"], ["y"], {})], {"x": [1, 9]}, {"y": [1, 9]})
    result = verified(one, other)
    assert (result.same, result.max_abs_error) == (False, float("inf"))
    assert f"output y of {one} holds NaN" in titles(result)


def test_nothing_but_nan_on_both_sides_proves_nothing(work: Path) -> None:
    nodes: list[Node] = [
        ("Abs", ["x"], ["a"], {}), ("Neg", ["a"], ["n"], {}), ("Sub", ["n", "one"], ["m"], {}), ("Sqrt", ["m"], ["y"], {}),
    ]  # fmt: skip
    ports = {"x": [1, 9]}, {"y": [1, 9]}
    one, other = (written(work / name, nodes, *ports, one=np.ones(1, np.float32)) for name in ("a.onnx", "b.onnx"))
    result = verified(one, other)
    assert (result.same, result.max_abs_error) == (False, float("inf"))
    assert f"output y of {one} holds NaN" in titles(result)


def test_a_model_that_disagrees_with_itself_is_named(work: Path) -> None:
    result = verified("nets.py:Noisy", "nets.py:Linear")
    assert not result.same
    assert "nets.py:Noisy answers differently to the same inputs" in titles(result)
    assert not any("same inputs" in title for title in titles(verified("nets.py:Linear", "nets.py:Linear(shift=1.0)")))


def test_a_difference_of_rounding_is_said_to_be_one(work: Path) -> None:
    shapes = {"x": [1, 64]}, {"y": [1, 64]}
    once = written(work / "a.onnx", [("Mul", ["x", "s"], ["y"], {})], *shapes, s=np.array([3e6], dtype=np.float32))
    nodes: list[Node] = [("Mul", ["x", "s"], ["m"], {}), ("Mul", ["m", "t"], ["y"], {})]
    part, rest = np.array([3e3 / 7], dtype=np.float32), np.array([7e3], dtype=np.float32)
    twice = written(work / "b.onnx", nodes, *shapes, s=part, t=rest)
    result = verified(once, twice)
    assert not result.same
    assert f"the difference is of the size of rounding in {once}" in titles(result)
    assert not any("rounding" in title for title in titles(verified("nets.py:Linear", "nets.py:Linear(shift=0.01)")))


def test_shapes_are_taken_from_the_spec(work: Path) -> None:
    files = [written(work / f"{n}.onnx", [("Relu", ["x"], ["y"], {})], {"x": ["n", "t"]}, {"y": ["n", "t"]}) for n in ("a", "b")]
    assert verified(*files, shapes=["x=2x7"]).inputs[0].shape == [2, 7]
    assert verified(*files, shapes=["3x5"]).inputs[0].shape == [3, 5]


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        (["x=2xa"], "is no shape: write name=1x3x224x224"),
        (["x=0"], "is no shape"),
        (["x="], "is no shape"),
        (["x=99999x99999"], "is too large"),
        (["z=1x3"], "neither model has an input z: they have x"),
        (["x=1x5"], r"takes x 1x5; .* takes x \?x3|refuses x 1x5"),
    ],
)
def test_wrong_shapes_are_one_sentence(work: Path, shapes: list[str], sentence: str) -> None:
    files = [linear(work / f"{name}.onnx", WEIGHT) for name in ("a", "b")]
    with pytest.raises(ExplorerError, match=sentence) as caught:
        verified(*files, shapes=shapes)
    assert "\n" not in str(caught.value)


def test_the_line_that_fails_is_named(work: Path) -> None:
    wide = linear(work / "a.onnx", np.ones((7, 4), dtype=np.float32))
    with pytest.raises(ExplorerError, match=r"nets\.py:Linear fails on 1x7 at .*nets\.py:\d+ \(mat1 and mat2.*give the shapes"):
        verified("nets.py:Linear", wide)


def test_models_with_other_inputs_are_one_sentence(work: Path) -> None:
    one = written(work / "a.onnx", [("Relu", ["x"], ["y"], {})], {"x": [1, 4]}, {"y": [1, 4]})
    two = written(work / "b.onnx", [("Add", ["x", "z"], ["y"], {})], {"x": [1, 4], "z": [1, 4]}, {"y": [1, 4]})
    wide = written(work / "c.onnx", [("Relu", ["x"], ["y"], {})], {"x": [1, 5]}, {"y": [1, 5]})
    with pytest.raises(ExplorerError, match=r"takes x 1x4; .*takes x 1x4, z 1x4: compare models with the same inputs"):
        verified(one, two)
    with pytest.raises(ExplorerError, match=r"takes x 1x4; .*takes x 1x5"):
        verified(one, wide)


def test_outputs_beyond_memory_are_refused_with_a_number_that_fits(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.inference.verify.LARGEST_BYTES", 5 * 32)
    with pytest.raises(ExplorerError, match="set --samples 5"):
        verified("nets.py:Linear", "nets.py:Linear", samples=6)
    assert verified("nets.py:Linear", "nets.py:Linear", samples=5).same


def test_a_job_is_run_by_its_model(work: Path) -> None:
    artifacts = work / "home" / "jobs" / "c1" / "artifacts"
    artifacts.mkdir(parents=True)
    linear(artifacts / "model.onnx", WEIGHT)
    assert verified("nets.py:Linear", "job:c1").same
