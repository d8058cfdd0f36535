"""What goes beyond one operator: state, blocks, lists, flexible shapes, pictures, classes, several functions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import Evaluator, evaluate, evaluate_samples
from explorer.inference.coreml.gru_loop import gru_loop
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from tests.inference.coreml.packages import built_package, traced_package

Written = Callable[..., Path]


class Accumulator(nn.Module):
    """Adds its input to a buffer that stays."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total * 2.0


def converted(module: nn.Module, example: Tensor, path: Path, **options: Any) -> Path:
    ct = coremltools()
    with quiet(), torch.no_grad():
        graph = torch.jit.trace(module.eval(), example)  # type: ignore[no-untyped-call]
        options.setdefault("inputs", [ct.TensorType(name="x", shape=example.shape)])
        options.setdefault("minimum_deployment_target", ct.target.iOS18)
        options.setdefault("compute_precision", ct.precision.FLOAT32)
        ct.convert(graph, skip_model_load=True, **options).save(str(path))
    return path


def test_state_is_carried_from_call_to_call(tmp_path: Path) -> None:
    ct = coremltools()
    states = [ct.StateType(wrapped_type=ct.TensorType(shape=(1, 3), dtype=np.float16), name="total")]
    package = converted(Accumulator(), torch.zeros(1, 3), tmp_path / "m.mlpackage", states=states)
    evaluator = Evaluator(package, "float16")
    feed = {"x": np.array([[1.0, 2.0, 3.0]], np.float32)}
    assert evaluator.run(feed).output.tolist() == [[2.0, 4.0, 6.0]]
    second = evaluator.run(feed)
    assert second.output.tolist() == [[4.0, 8.0, 12.0]]
    assert second.state["total"].tolist() == evaluator.state["total"].tolist() == [[2.0, 4.0, 6.0]]
    evaluator.reset()
    assert evaluator.run(feed).output.tolist() == [[2.0, 4.0, 6.0]]
    start = {"total": np.full((1, 3), 10.0, np.float32)}
    assert evaluate(package, feed, "float32", state=start).output.tolist() == [[22.0, 24.0, 26.0]]
    with pytest.raises(ExplorerError, match=r"keeps no state other: it keeps total"):
        evaluate(package, feed, "float32", state={"other": np.zeros(1)})
    with pytest.raises(ExplorerError, match=r"the state total of .* is 1x3, given 2"):
        evaluate(package, feed, "float32", state={"total": np.zeros(2)})


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A condition around a loop around a list."""
    ct = coremltools()
    with quiet():
        from coremltools.converters.mil.mil import Builder as mb

        def positive(x: Any) -> Any:
            values = mb.make_list(init_length=4, dynamic_length=False, elem_shape=(3,), dtype="fp32")

            def body(i: Any, ls: Any) -> Any:
                scaled = mb.mul(x=x, y=mb.cast(x=i, dtype="fp32"))
                return mb.add(x=i, y=1), mb.list_write(ls=ls, index=i, value=scaled)

            _, filled = mb.while_loop(_cond=lambda i, ls: mb.less(x=i, y=4), _body=body, loop_vars=(0, values))
            return mb.list_gather(ls=filled, indices=[1, 3])

        def chosen(x: Any) -> Any:
            test = mb.greater(x=mb.reduce_sum(x=x, axes=[0], keep_dims=False), y=0.0)
            return mb.cond(pred=test, _true_fn=lambda: positive(x), _false_fn=lambda: mb.fill(shape=[2, 3], value=-1.0), name="y")

        written = mb.program(input_specs=[mb.TensorSpec(shape=(3,))], opset_version=ct.target.iOS16)(chosen)
    return built_package(written, tmp_path_factory.mktemp("blocks") / "m.mlpackage", target="iOS16")


def test_a_condition_chooses_and_a_loop_fills_a_list(program: Path) -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    assert evaluate(program, {"x": x}, "float32").output.tolist() == [x.tolist(), (3 * x).tolist()]
    assert evaluate(program, {"x": -x}, "float32").output.tolist() == [[-1.0] * 3] * 2


def test_values_inside_blocks_have_ranges_over_all_steps(program: Path) -> None:
    result = evaluate(program, {"x": np.array([1.0, 2.0, 3.0], np.float32)}, "float32")
    (scaled,) = [item for item in result.ranges if item.op_type == "mul"]
    assert (scaled.minimum, scaled.maximum) == (0.0, 9.0)


def test_a_loop_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with quiet():
        coremltools()
        from coremltools.converters.mil.mil import Builder as mb

        def body(x: Any) -> Any:
            return mb.while_loop(_cond=lambda a: mb.less(x=a, y=[1.0]), _body=lambda a: mb.mul(x=a, y=[0.5]), loop_vars=(x,))

        endless = mb.program(input_specs=[mb.TensorSpec(shape=(1,))])(body)
    monkeypatch.setattr("explorer.inference.coreml.plan.MAX_LOOP_STEPS", 20)
    package = built_package(endless, tmp_path / "m.mlpackage")
    with pytest.raises(ExplorerError, match=r"the loop at .* does not end"):
        evaluate(package, {"x": np.zeros(1, np.float32)}, "float32")


def test_ranges_and_enumerations_of_shapes_hold(tmp_path: Path) -> None:
    ct = coremltools()
    ranged = [ct.TensorType(name="x", shape=(ct.RangeDim(2, 6), 3))]
    package = converted(nn.ReLU(), torch.zeros(2, 3), tmp_path / "range.mlpackage", inputs=ranged)
    assert load_program(package).inputs["x"].bounds == ((2, 6), (3, 3))
    assert evaluate(package, {"x": np.ones((6, 3), np.float32)}, "float32").output.shape == (6, 3)
    with pytest.raises(ExplorerError, match=r"input x of .* is 2\.\.6x3, given 7x3"):
        evaluate(package, {"x": np.ones((7, 3), np.float32)}, "float32")
    seven = np.arange(21, dtype=np.float32).reshape(7, 3)
    assert evaluate_samples(package, seven, "float32").output.tolist() == seven.tolist()
    shapes = [ct.TensorType(name="x", shape=ct.EnumeratedShapes([(1, 4), (1, 8)]))]
    package = converted(nn.ReLU(), torch.zeros(1, 4), tmp_path / "enumerated.mlpackage", inputs=shapes)
    assert evaluate(package, {"x": np.ones((1, 8), np.float32)}, "float32").output.shape == (1, 8)
    with pytest.raises(ExplorerError, match=r"input x of .* is 1x4 or 1x8, given 1x6"):
        evaluate(package, {"x": np.ones((1, 6), np.float32)}, "float32")


@pytest.mark.parametrize(("layout", "order"), [("RGB", [0, 1, 2]), ("BGR", [2, 1, 0])])
def test_a_picture_is_laid_out_scaled_and_shifted_as_declared(layout: str, order: list[int], tmp_path: Path) -> None:
    ct = coremltools()
    image = ct.ImageType(
        name="x", shape=(1, 3, 4, 5), scale=1 / 255, bias=[-0.1, -0.2, -0.3], color_layout=getattr(ct.colorlayout, layout)
    )  # fmt: skip
    package = converted(nn.LeakyReLU(2.0), torch.zeros(1, 3, 4, 5), tmp_path / "m.mlpackage", inputs=[image])
    picture = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype(np.uint8)
    planes = np.moveaxis(picture[..., order], -1, 0)[None].astype(np.float32)
    expected = planes / 255 - np.array([0.1, 0.2, 0.3], np.float32).reshape(1, 3, 1, 1)
    expected = np.where(expected < 0, 2 * expected, expected)
    for feed in (picture, planes):
        np.testing.assert_allclose(evaluate(package, {"x": feed}, "float32").output, expected, atol=1e-6)


def test_a_grey_picture(tmp_path: Path) -> None:
    ct = coremltools()
    image = ct.ImageType(name="x", shape=(1, 1, 4, 5), scale=2.0, color_layout=ct.colorlayout.GRAYSCALE)
    package = converted(nn.ReLU(), torch.zeros(1, 1, 4, 5), tmp_path / "m.mlpackage", inputs=[image])
    grey = np.arange(20, dtype=np.uint8).reshape(4, 5)
    assert evaluate(package, {"x": grey}, "float32").output.tolist() == (2.0 * grey[None, None]).tolist()
    with pytest.raises(ExplorerError, match=r"input x of .* is 1x1x4x5, given 1x1x3x5"):
        evaluate(package, {"x": grey[:3]}, "float32")


@pytest.mark.parametrize("labels", [["cat", "dog", "owl"], [7, 8, 9]])
def test_a_classifier_gives_its_label_and_probabilities(labels: list[Any], tmp_path: Path) -> None:
    ct = coremltools()
    module = nn.Softmax(-1)
    package = converted(
        module, torch.zeros(1, 3), tmp_path / "m.mlpackage", classifier_config=ct.ClassifierConfig(labels)
    )  # fmt: skip
    loaded = load_program(package)
    assert loaded.classes == labels
    result = evaluate(loaded, {"x": np.array([[0.0, 3.0, 1.0]], np.float32)}, "float32")
    label, probabilities = result.outputs.values()
    assert label.item() == labels[1]
    np.testing.assert_allclose(probabilities, torch.softmax(torch.tensor([0.0, 3.0, 1.0]), -1), atol=1e-6)


def test_each_function_of_a_package_by_name(tmp_path: Path) -> None:
    ct = coremltools()
    doubled = converted(nn.Identity(), torch.zeros(1, 3), tmp_path / "a.mlpackage")
    rectified = converted(nn.ReLU(), torch.zeros(2, 3), tmp_path / "b.mlpackage")
    joined = tmp_path / "both.mlpackage"
    with quiet():
        functions = ct.utils.MultiFunctionDescriptor()
        functions.add_function(str(doubled), "main", "same")
        functions.add_function(str(rectified), "main", "relu")
        functions.default_function_name = "relu"
        ct.utils.save_multifunction(functions, str(joined))
    x = np.array([[-1.0, 2.0, 3.0]], np.float32)
    program = load_program(joined)
    assert sorted(program.functions) == ["relu", "same"]
    assert evaluate(program, {"x": np.repeat(x, 2, 0)}, "float32").output.tolist() == [[0.0, 2.0, 3.0]] * 2
    assert evaluate(load_program(joined, "same"), {"x": x}, "float32").output.tolist() == x.tolist()
    with pytest.raises(ExplorerError, match=r"has no function third: it has relu, same|it has same, relu"):
        load_program(joined, "third")


class Gru(nn.Module):
    """A recurrent layer of torch, all states out."""

    def __init__(self, both: bool) -> None:
        super().__init__()
        self.layer = nn.GRU(4, 3, bidirectional=both)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x)[0]
        return output


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("target", ["iOS15", "iOS18"])
def test_a_gru_as_one_layer_is_the_loop_that_it_stands_for(both: bool, target: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, x = Gru(both), torch.randn(6, 2, 4)
    package = load_program(traced_package(module, [x], tmp_path / "m.mlpackage", target=target))
    loops = [step for step in package.steps() if step.op_type == "while_loop"]
    assert len(loops) == 1 + both
    assert all(gru_loop(step, package.constants) is not None for step in loops)
    feed = {"x0": x.numpy()}
    quick, stepwise = evaluate(package, feed, "float32", ranges=False), evaluate(package, feed, "float32", ranges=True)
    np.testing.assert_allclose(quick.output, stepwise.output, atol=1e-6)
    np.testing.assert_allclose(quick.output, module(x).detach().numpy(), atol=1e-6)
    assert not quick.ranges
    assert any(item.op_type == "tanh" for item in stepwise.ranges)


def test_a_loop_that_differs_from_a_gru_is_not_taken_for_one(tmp_path: Path) -> None:
    x = torch.randn(3, 1, 4)
    package = load_program(traced_package(Gru(False), [x], tmp_path / "m.mlpackage"))
    (loop,) = [step for step in package.steps() if step.op_type == "while_loop"]
    body = loop.blocks[1]
    gates = [step for step in body.steps if step.op_type == "sigmoid"]
    last = [step for step in body.steps if step.op_type == "mul"][-1]
    reset = next(step for step in gates if step.results[0].variable not in last.inputs.values())
    last.inputs["x"] = reset.results[0].variable
    assert gru_loop(loop, package.constants) is None


def test_integers_wrap_at_their_declared_type(tmp_path: Path) -> None:
    with quiet():
        ct = coremltools()
        from coremltools.converters.mil.mil import Builder as mb
        from coremltools.converters.mil.mil import types

        specs = [mb.TensorSpec(shape=(2,), dtype=types.int32)]
        product = mb.program(input_specs=specs, opset_version=ct.target.iOS17)(lambda x: mb.mul(x=x, y=65536))
    package = built_package(product, tmp_path / "m.mlpackage")
    assert evaluate(package, {"x": np.array([3, 40000], np.int32)}, "float32").output.tolist() == [196608, -1673527296]


def test_sums_in_half_are_a_mode_of_their_own(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 500)
    package = load_program(traced_package(nn.Linear(500, 8), [x], tmp_path / "m.mlpackage", "FLOAT16"))
    exact, half, sums = (
        evaluate(package, {"x0": x.numpy()}, mode).output for mode in ("float32", "float16", "float16_accumulate")
    )
    assert 0 < np.abs(half - exact).max() < np.abs(sums - exact).max() < 1e-2


def test_random_numbers_are_refused_with_the_reason(tmp_path: Path) -> None:
    with quiet():
        coremltools()
        from coremltools.converters.mil.mil import Builder as mb

        specs = [mb.TensorSpec(shape=(2,))]
        noisy = mb.program(input_specs=specs)(lambda x: mb.add(x=x, y=mb.random_normal(shape=[2], seed=3)))
    package = built_package(noisy, tmp_path / "m.mlpackage")
    with pytest.raises(ExplorerError, match=r"no rule for random_normal .*generator is not published"):
        evaluate(package, {"x": np.zeros(2, np.float32)}, "float32")
