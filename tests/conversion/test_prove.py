"""The proof on a Mac, with Core ML played by the evaluator: what is asked of it, and what becomes of each way it can end."""

import inspect
import json
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.conversion import convert, prove, prove_child, prove_units
from explorer.conversion.inputs import Feed, Proof
from explorer.conversion.proof_file import read_proof, write_proof
from explorer.conversion.prove_child import accepted, answers, picture, placed
from explorer.conversion.prove_elsewhere import mac_line
from explorer.conversion.prove_source import proof_for, to_prove
from explorer.conversion.prove_units import Outcome, run_unit, unit_run
from explorer.errors import Cancelled, ExplorerError
from explorer.files import size_bytes
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools
from explorer.reporter import QuietReporter
from explorer.schemas.convert_result import ProveResult
from explorer.schemas.convert_spec import ConvertSpec, ProveSpec
from tests.conversion.fake_core_ml import MLComputePlan, MLModel, fake_coremltools, pixels
from tests.inference.coreml.packages import traced_package


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.layer(x))


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job folder as a conversion leaves it."""
    torch.manual_seed(0)
    artifacts = tmp_path_factory.mktemp("job") / "artifacts"
    artifacts.mkdir()
    module = Net()
    inputs = [torch.randn(1, 6) for _ in range(3)]
    traced_package(module, inputs[:1], artifacts / "model.mlpackage", "FLOAT16")
    with torch.no_grad():
        feeds = [Feed({"x0": x.numpy()}, {"y": module(x).numpy()}, f"seed {seed}") for seed, x in enumerate(inputs)]
    write_proof(artifacts / "proof.npz", Proof(feeds))
    return artifacts.parent


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine as a Mac whose children are the fake's."""
    monkeypatch.setattr(prove, "can_prove", lambda: True)
    command = [sys.executable, "-m", "tests.conversion.fake_child"]
    monkeypatch.setattr(prove, "child_command", lambda *words: [*command, *map(str, words)])


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_proof_survives_its_file(tmp_path: Path) -> None:
    first = Feed(
        {"a/b": np.arange(3, dtype=np.int64), "x": np.full(1, 2, np.float32)}, {"y": np.zeros((2, 0), np.float32)}, "own"
    )
    second = Feed({"a/b": np.ones(3, np.int64), "x": np.ones(1, np.float32)}, {"y": np.ones((2, 1), np.float32)}, "mirrored")
    write_proof(tmp_path / "proof.npz", Proof([first, second], classes=True, carries_state=True))
    back = read_proof(tmp_path / "proof.npz")
    assert (back.classes, back.carries_state, [feed.origin for feed in back.feeds]) == (True, True, ["own", "mirrored"])
    for feed, stored in zip([first, second], back.feeds, strict=True):
        for side in ("inputs", "expected"):
            for name, value in getattr(feed, side).items():
                np.testing.assert_array_equal(getattr(stored, side)[name], value)
                assert getattr(stored, side)[name].dtype == value.dtype


def test_a_large_proof_keeps_its_first_feeds(tmp_path: Path) -> None:
    feeds = [Feed({"x": np.zeros(1000, np.float32)}, {"y": np.zeros(1, np.float32)}, str(index)) for index in range(5)]
    write_proof(tmp_path / "proof.npz", Proof(feeds), max_bytes=9000)
    assert [feed.origin for feed in read_proof(tmp_path / "proof.npz").feeds] == ["0", "1"]
    write_proof(tmp_path / "proof.npz", Proof(feeds), max_bytes=1)
    assert len(read_proof(tmp_path / "proof.npz").feeds) == 1


def test_a_damaged_proof_is_named(tmp_path: Path) -> None:
    (tmp_path / "proof.npz").write_bytes(b"PK")
    with pytest.raises(ExplorerError, match=r"proof\.npz cannot be read"):
        read_proof(tmp_path / "proof.npz")


def test_elsewhere_it_gives_one_line_for_a_mac(converted: Path, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="macOS only") as caught:
        prove.run(ProveSpec(source=str(converted)), QuietReporter(tmp_path))
    assert mac_line(converted) in caught.value.remedy
    spaced = tmp_path / "with space" / "260101-1"
    (spaced / "artifacts").mkdir(parents=True)
    words = shlex.split(mac_line(spaced))
    assert words[:2] == ["scp", "-r"]
    assert words[2].endswith(f":{spaced}")
    assert words[3:8] == [".", "&&", "explorer", "prove", "260101-1"]
    assert words[8:] == ["&&", "scp", "260101-1/artifacts/prove.json", f"{words[2]}/artifacts/"]
    assert "prove.json" not in mac_line(tmp_path / "loose.mlpackage")


def test_every_unit_is_run_and_the_truth_goes_into_the_job(converted: Path, tmp_path: Path, on_a_mac: None) -> None:
    report = QuietReporter(tmp_path)
    result = prove.run(ProveSpec(source=str(converted), time_limit_s=60), report)
    runs = {unit.compute_units: unit for unit in result.units}
    assert list(runs) == ["all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"]
    good = runs["all"]
    assert good.check is not None
    assert good.check.passed
    assert (good.check.samples, good.check.runtime, good.check.mode) == (3, "Core ML on all", "float16")
    assert good.operators_by_device == {"Neural Engine": 2, "CPU": 1}
    assert good.load_s is not None
    assert good.call_s is not None
    assert runs["cpu_and_gpu"].problem == "RuntimeError: Error in declaring network."
    assert "SIGKILL" in runs["cpu_and_ne"].problem
    assert "exit code 7" in runs["cpu_only"].problem
    assert runs["cpu_and_ne"].check is None
    assert [title for _, title in report.findings] == [f"{name}: {runs[name].problem}" for name in list(runs)[1:]]
    for folder in (converted / "artifacts", tmp_path):
        text = (folder / "prove.json").read_text()
        assert ProveResult.model_validate_json(text) == result
        assert json.loads(text)["operators"]["all"][1]["device"] == "Neural Engine"


def test_what_the_child_asks_of_core_ml(converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, Any]] = []
    proof = read_proof(converted / "artifacts" / "proof.npz")
    outputs = answers(fake_coremltools(), converted / "artifacts" / "model.mlpackage", proof, "ALL", said.append)
    assert [next(iter(item)) for item in said] == ["load_s", "operators", "call_s"]
    assert sorted(outputs) == ["0/y", "1/y", "2/y"]
    np.testing.assert_allclose(outputs["1/y"], proof.feeds[1].expected["y"], atol=1e-2)


def test_a_missing_plan_costs_only_the_plan(converted: Path) -> None:
    class NoPlan(MLComputePlan):
        @classmethod
        def load_from_path(cls, path: str, compute_units: Any) -> MLComputePlan:
            raise ValueError("MLComputePlan is not supported.")

    said: list[dict[str, Any]] = []
    proof = read_proof(converted / "artifacts" / "proof.npz")
    outputs = answers(fake_coremltools(NoPlan), converted / "artifacts" / "model.mlpackage", proof, "ALL", said.append)
    assert len(outputs) == 3
    outcome = Outcome({"no_plan": said[1]["no_plan"]}, [{"y": outputs[f"{index}/y"]} for index in range(3)])
    run = unit_run("all", outcome, proof, "float16")
    assert run.problem == "no compute plan (ValueError: MLComputePlan is not supported.)"
    assert run.check is not None
    assert run.check.passed


def test_the_plan_is_read_with_nested_blocks() -> None:
    operators = placed(MLComputePlan("m", "ALL"))
    assert [(item["operator"], item["device"], item["cost"]) for item in operators] == [
        ("ios17.cast", "CPU", None),
        ("ios17.conv", "Neural Engine", 0.25),
        ("tanh", "Neural Engine", None),
    ]
    assert operators[0]["supported"] == ["GPU", "CPU"]


def test_coremltools_has_the_names_that_the_child_uses() -> None:
    models = coremltools().models
    plan = models.compute_plan
    for fake, real in ((MLModel, models.MLModel), (MLComputePlan, plan.MLComputePlan)):
        for name, method in vars(fake).items():
            if not name.startswith("_"):
                theirs = inspect.signature(getattr(real, name)).parameters
                ours = inspect.signature(getattr(fake, name) if isinstance(method, classmethod) else method).parameters
                assert set(ours) <= set(theirs), name
    assert "compute_units" in inspect.signature(models.MLModel).parameters
    assert isinstance(plan.MLComputePlan.model_structure, property)
    assert {"operator_name", "outputs", "blocks"} <= {item.name for item in fields(plan.MLModelStructureProgramOperation)}
    assert "preferred_compute_device" in {item.name for item in fields(plan.MLComputePlanDeviceUsage)}
    assert all(hasattr(models.compute_device, name) for name in prove_child.DEVICES)
    assert all(hasattr(coremltools().ComputeUnit, name.upper()) for name in prove_units.UNITS)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import time; time.sleep(60)", "gave no answer within 0.5 s"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import os; os.abort()", "ended by SIGABRT"),
        ("raise ValueError('no such layer')", "ValueError: no such layer"),
        ("import sys; sys.exit(7)", "exit code 7"),
    ],
)
def test_a_child_that_ends_badly_is_a_problem(code: str, problem: str, tmp_path: Path) -> None:
    limit_s = 0.5 if "sleep" in code else 30.0
    outcome = run_unit(python(code), tmp_path / "out.npz", limit_s, lambda: None)
    assert problem in outcome.problem
    assert unit_run("all", outcome, Proof([]), "float32").check is None


def test_what_was_said_before_the_end_is_kept(tmp_path: Path) -> None:
    code = "import os; print('noise'); print('{\"load_s\": 1.5}', flush=True); os.kill(os.getpid(), 9)"
    run = unit_run("cpu_and_ne", run_unit(python(code), tmp_path / "out.npz", 30, lambda: None), Proof([]), "float32")
    assert (run.load_s, run.check) == (1.5, None)
    assert "SIGKILL" in run.problem
    silent = unit_run("all", run_unit(python("pass"), tmp_path / "out.npz", 30, lambda: None), Proof([]), "float32")
    assert silent.problem == "ended without an answer"


def test_cancelling_ends_the_child(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def control() -> None:
        if mark.exists() and mark.read_text():
            raise Cancelled

    with pytest.raises(Cancelled):
        run_unit(python(code), tmp_path / "out.npz", 30, control)
    assert subprocess.run(["ps", "-p", mark.read_text()], capture_output=True, check=False).returncode != 0


def test_a_wrong_output_fails_its_check() -> None:
    proof = Proof([Feed({"x": np.ones(1, np.float32)}, {"y": np.ones((1, 3), np.float32)}, "seed 1")])
    wrong = unit_run("all", Outcome({"done": True}, [{"y": np.zeros((1, 3), np.float32)}]), proof, "float16")
    assert wrong.check is not None
    assert not wrong.check.passed
    nothing = unit_run("all", Outcome({"done": True}, []), proof, "float16")
    assert nothing.check is not None
    assert not nothing.check.passed


def test_probabilities_and_scalars_take_the_sources_shape() -> None:
    expected = {"scores": np.array([[0.2, 0.8]], np.float32), "loss": np.full((), 3, np.float32)}
    proof = Proof([Feed({"x": np.ones((1, 1), np.float32)}, expected, "seed 1")])
    got = {"classLabel_probs": np.array([0.2, 0.8], np.float32), "loss": np.array([3.0], np.float32)}
    run = unit_run("all", Outcome({"done": True}, [got]), proof, "float32")
    assert run.check is not None
    assert run.check.passed


def test_inputs_are_pictures_and_32_bit_numbers() -> None:
    proto = coremltools().proto.FeatureTypes_pb2 if hasattr(coremltools(), "proto") else None
    assert proto is not None
    from coremltools.proto import Model_pb2

    description = Model_pb2.ModelDescription()
    for name in ("ids", "mask", "scale"):
        item = description.input.add(name=name)
        item.type.multiArrayType.dataType = proto.ArrayFeatureType.FLOAT32
    image = description.input.add(name="image")
    image.type.imageType.colorSpace = proto.ImageFeatureType.BGR
    values: dict[str, np.ndarray] = {
        "ids": np.arange(2, dtype=np.int64),
        "mask": np.ones(2, np.float64),
        "scale": np.ones((), np.float32),
    }
    given = accepted(Feed({**values, "image": pixels(1, 3, 4, 5)}, {}, ""), description.input)
    assert (given["ids"].dtype, given["mask"].dtype, given["scale"].shape) == (np.int32, np.float32, (1,))
    assert (given["image"].mode, given["image"].size) == ("RGB", (5, 4))
    np.testing.assert_array_equal(np.asarray(given["image"])[..., 0], pixels(1, 3, 4, 5)[0, 2])
    assert picture(pixels(1, 1, 4, 5), "L").mode == "L"
    assert picture(pixels(1, 1, 4, 5), "F").mode == "F"


def test_what_can_be_proven(converted: Path, tmp_path: Path) -> None:
    package = converted / "artifacts" / "model.mlpackage"
    assert to_prove(str(converted)) == to_prove(str(package))
    assert to_prove(str(converted)).artifacts == converted / "artifacts"
    with pytest.raises(ExplorerError, match="does not exist"):
        to_prove(str(tmp_path / "none"))
    with pytest.raises(ExplorerError, match=r"holds no model\.mlpackage"):
        to_prove(str(tmp_path))


def test_a_loose_package_is_held_against_the_evaluator(converted: Path, tmp_path: Path) -> None:
    loose = tmp_path / "loose.mlpackage"
    loose.symlink_to(converted / "artifacts" / "model.mlpackage")
    found = to_prove(str(loose))
    assert (found.proof_file, found.artifacts, found.job) == (None, None, loose)
    proof = proof_for(found, load_program(loose))
    assert len({feed.inputs["x0"].tobytes() for feed in proof.feeds}) == 3
    assert all(feed.expected["y"].shape == (1, 3) for feed in proof.feeds)
    assert "reference evaluator" in proof.feeds[0].origin


NET = """
import torch
from torch import nn


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 3), nn.Tanh()), (torch.randn(1, 6),)


def seen():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 3)), (torch.randn(1, 3, 8, 8),)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 6))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 2


def counter():
    return Counter(), (torch.randn(1, 6),)
"""


def test_a_conversion_leaves_its_proof_and_the_line_for_a_mac(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    report = QuietReporter(tmp_path / "job" / "artifacts")
    result = convert.run(ConvertSpec(source=f"{tmp_path}/net.py:make", target="coreml"), report)
    proof = read_proof(report.folder / "proof.npz")
    assert {feed.origin for feed in proof.feeds} >= {"the example", "mirrored"}
    assert to_prove(str(tmp_path / "job")).proof_file == report.folder / "proof.npz"
    (told,) = [item for item in result.findings if "not run on Core ML" in item.title]
    assert mac_line(tmp_path / "job") in told.remedy
    assert result.bytes == size_bytes(report.folder / "model.mlpackage")


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        ("seen", {"image": ["input:bgr,scale=1/255"], "labels": "labels.txt", "input_name": "input"}),
        ("counter", {"state": ["total"], "deployment_target": "iOS18"}),
    ],
)
def test_pictures_labels_and_state_reach_core_ml(factory: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    if "labels" in options:
        options = {**options, "labels": str(tmp_path / "labels.txt")}
    report = QuietReporter(tmp_path / "artifacts")
    convert.run(ConvertSpec(source=f"{tmp_path}/net.py:{factory}", target="coreml", **options), report)
    proof, said = read_proof(report.folder / "proof.npz"), [{"done": True}]
    outputs = answers(fake_coremltools(), report.folder / "model.mlpackage", proof, "ALL", said.append)
    found = [
        {name.split("/")[1]: value for name, value in outputs.items() if name.startswith(f"{index}/")}
        for index in range(len(proof.feeds))
    ]
    run = unit_run("all", Outcome({"done": True}, found), proof, "float16")
    assert run.check is not None
    assert run.check.passed, run.check
