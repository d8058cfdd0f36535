"""Each replacement equals what it stands in for, on inputs that it was not made from."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from explorer.conversion.rewrites import decompositions, rewritten
from explorer.conversion.rewrites.rule import COREML, Rule
from explorer.inference.coreml.quiet import quiet
from tests.conversion.cases.case import Calls
from tests.conversion.cases.patterns import Rotary, SelfAttention, cell, half_mask, hand_rms

Function = Callable[..., Any]
RELATIVE_ERROR = 1e-6


def parts(x: Tensor) -> Tensor:
    return torch.view_as_real(x)


def column(x: Tensor, at: Tensor, value: Any) -> Tensor:
    x = x.clone()
    x[:, at] = value
    return x


def stft(x: Tensor, **named: Any) -> Tensor:
    return parts(torch.stft(x, 16, return_complex=True, **named))


def like_rotary(x: Tensor) -> Tensor:
    angle = x * 0.3
    return parts(torch.polar(torch.ones_like(x), angle) * torch.complex(x, x.flip(-1)) / 2 + 1j * x - x)


attention = F.scaled_dot_product_attention
FUNCTIONS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), [(2, 3, 8)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, (2, 3)), [(2, 3, 8, 9)]),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), [(1, 2, 4, 4, 4)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [(2, 3, 8, 8)]),
    "avg_pool2d_ceil": (lambda x: F.avg_pool2d(x, 2, ceil_mode=True), [(2, 3, 5, 7)]),
    "avg_pool2d_ceil_padded": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), [(2, 3, 6, 8)]),
    "grouped_query": (lambda q, k, v: attention(q, k, v, enable_gqa=True), [(2, 8, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4)]),
    "grouped_query_causal": (lambda q, k: attention(q, k, k, is_causal=True, enable_gqa=True), [(2, 4, 5, 4), (2, 1, 5, 4)]),
    "bicubic": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bicubic"), [(2, 3, 6, 7)]),
    "bicubic_corners": (lambda x: F.interpolate(x, size=(11, 4), mode="bicubic", align_corners=True), [(2, 3, 6, 7)]),
    "antialias": (lambda x: F.interpolate(x, size=(3, 5), mode="bilinear", antialias=True), [(2, 3, 8, 9)]),
    "bicubic_antialias": (lambda x: F.interpolate(x, scale_factor=(0.5, 0.7), mode="bicubic", antialias=True), [(2, 3, 8, 9)]),
    "trilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), [(1, 2, 3, 4, 5)]),
    "linear": (lambda x: F.interpolate(x, size=11, mode="linear"), [(2, 3, 6)]),
    "nearest_exact": (lambda x: F.interpolate(x, size=(5, 11), mode="nearest-exact"), [(2, 3, 8, 8)]),
    "rms_norm": (lambda x: F.rms_norm(x, (8,)), [(2, 5, 8)]),
    "rms_norm_weighted": (lambda x, w: F.rms_norm(x, (4, 8), weight=w, eps=1e-3), [(2, 4, 8), (4, 8)]),
    "hand_rms_norm": (hand_rms, [(2, 5, 8)]),
    "root_of_mean": (lambda x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5), [(2, 5, 8)]),
    "log_sum_exp": (lambda x: torch.log(torch.exp(x).sum(-1, keepdim=True)), [(2, 5, 8)]),
    "mask": (half_mask, [(1, 6, 6)]),
    "masked_fill": (lambda x: x.masked_fill(x > 0.5, torch.finfo(x.dtype).min).softmax(-1), [(2, 5, 8)]),
    "mask_by_where": (lambda x: torch.where(x > 0.5, x, -1e38).softmax(-1), [(2, 5, 8)]),
    "einsum": (lambda x, y: torch.einsum("...ij,jk", x, y), [(2, 3, 4, 5), (5, 6)]),
    "einsum_broadcast": (lambda x, y: torch.einsum("...ij, ...jk -> ...ki", x, y), [(2, 3, 4, 5), (3, 5, 6)]),
    "complex": (like_rotary, [(2, 5, 8)]),
    "complex_abs": (lambda x: torch.complex(x, 1 - x).abs() + torch.angle(torch.complex(x, x + 1)), [(2, 5, 8)]),
    "fft": (lambda x: parts(torch.fft.fft(x, norm="ortho")), [(2, 5, 12)]),
    "ifft": (lambda x: torch.fft.ifft(torch.fft.fft(x, dim=1) * 2, dim=1).real, [(2, 5, 12)]),
    "rfft": (lambda x: torch.fft.rfft(x).abs().pow(2), [(2, 15)]),
    "irfft": (lambda x: torch.fft.irfft(torch.fft.rfft(x), n=15), [(2, 15)]),
    "irfft_even": (lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1), dim=1), [(2, 8, 3)]),
    "fft2": (lambda x: parts(torch.fft.fft2(x)), [(2, 4, 6)]),
    "rfft2": (lambda x: torch.fft.ifft2(torch.fft.fft2(x)).real + torch.fft.rfft2(x).abs().sum(), [(2, 4, 6)]),
    "stft": (lambda x: stft(x, hop_length=4, window=torch.hann_window(16)), [(2, 64)]),
    "stft_plain": (lambda x: stft(x, center=False, normalized=True, window=torch.ones(16)), [(64,)]),
    "inverse": (lambda x: torch.linalg.inv(x + 4 * torch.eye(3)), [(2, 3, 3)]),
    "inverse_2": (lambda x: torch.inverse(x + 4 * torch.eye(2)), [(2, 2, 2)]),
    "determinant": (torch.linalg.det, [(4, 3, 3)]),
    "circular_pad": (lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"), [(2, 3, 5, 6)]),
    "reflection_pad": (lambda x: F.pad(x, (1, 2, 0, 1, 2, 1), mode="reflect"), [(1, 2, 4, 4, 4)]),
    "replication_pad": (lambda x: F.pad(x, (1, 2, 0, 1, 2, 1), mode="replicate"), [(1, 2, 4, 4, 4)]),
    "diagonal": (lambda x: torch.diagonal(x, 1, 1, 2), [(2, 5, 7)]),
    "diagonal_below": (lambda x: x.diagonal(offset=-2), [(5, 7, 3)]),
    "cdist": (torch.cdist, [(2, 4, 3), (2, 5, 3)]),
    "cdist_1": (lambda x, y: torch.cdist(x, y, p=1.0), [(4, 3), (5, 3)]),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.2, 0.9])), [(2, 5, 8)]),
    "search_sorted": (lambda x: torch.searchsorted(torch.tensor([-1.0, 0.2]), x, side="right"), [(2, 5)]),
    "masked_scatter": (lambda x, y: x.masked_scatter(x > 0, y), [(2, 5, 8), (2, 5, 8)]),
    "adaptive_max_pool": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), [(2, 3, 7, 8)]),
    "max_pool_places": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [(2, 3, 7, 8)]),
    "negative_pad": (lambda x: F.pad(x, (1, 0, 2, -1), value=0.5), [(2, 3, 5, 6)]),
    "fold": (lambda x: F.fold(x, (5, 6), 3, padding=1, stride=2), [(2, 18, 9)]),
    "fold_dilated": (lambda x: F.fold(x, (6, 6), (2, 3), dilation=2), [(2, 12, 8)]),
    "nan_mean": (lambda x: torch.where(x > -0.5, x, torch.nan).nanmean(1), [(2, 9, 8)]),
    "nan_sum": (lambda x: torch.where(x > 0, x, torch.nan).nansum((0, 2), keepdim=True), [(2, 5, 8)]),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), [(2, 5, 8)]),
    "assignment": (lambda x: column(x, torch.tensor([1, -1]), 7.0), [(2, 5, 3)]),
    "assignment_of_tensor": (lambda x, y: column(x, torch.tensor([3, 0]), y), [(2, 5, 3), (2, 2, 3)]),
    "assignment_at_one": (lambda x, y: column(x, torch.tensor(2), y), [(2, 5, 3), (2, 3)]),
}  # fmt: skip
MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "rotary": (Rotary, (2, 6, 8)),
    "lstm_cell": (lambda: cell(nn.LSTMCell(8, 6)), (2, 8)),
    "gru_cell": (lambda: cell(nn.GRUCell(8, 6)), (2, 8)),
    "rnn_cell": (lambda: cell(nn.RNNCell(8, 6)), (2, 8)),
    "rnn_relu_cell": (lambda: cell(nn.RNNCell(8, 6, nonlinearity="relu", bias=False)), (2, 8)),
}


def drawn(shapes: list[tuple[int, ...]], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def assert_equal(module: nn.Module, shapes: list[tuple[int, ...]]) -> nn.Module:
    changed, lines = rewritten(module, drawn(shapes, 0), "coreml")
    assert lines
    for seed in range(1, 6):
        inputs = drawn(shapes, seed)
        with torch.no_grad():
            for expected, got in zip(*(pytree.tree_leaves(item(*inputs)) for item in (module, changed)), strict=True):
                assert got.shape == expected.shape
                assert (got - expected).abs().max() <= RELATIVE_ERROR * max(1.0, float(expected.abs().max()))
    return changed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_replaced_function_gives_the_same(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    assert_equal(Calls(function), shapes)


@pytest.mark.parametrize("name", MODULES)
def test_a_replaced_module_gives_the_same(name: str) -> None:
    torch.manual_seed(0)
    build, shape = MODULES[name]
    assert_equal(build().eval(), [shape])


@pytest.mark.parametrize("name", ["rms_norm", "bicubic", "complex", "grouped_query", "stft", "circular_pad", "diagonal", "mask"])
def test_both_captures_see_the_replacement(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    changed, _ = rewritten(Calls(function), drawn(shapes, 0), "coreml")
    inputs = tuple(drawn(shapes, 1))
    with torch.no_grad(), quiet():
        exported = torch.export.export(changed, inputs).run_decompositions({})
        traced = torch.jit.trace(changed, inputs)  # type: ignore[no-untyped-call]
        for graph in (exported.module(), traced):
            torch.testing.assert_close(graph(*inputs), function(*inputs))
    names = {str(node.target) for node in exported.graph.nodes if node.op == "call_function"}
    lacking = {"rms_norm", "bicubic", "complex", "polar", "gqa", "stft", "hann", "circular", "diagonal"}
    assert [item for item in names if any(word in item for word in lacking)] == []


@pytest.mark.parametrize("name", ["rms_norm", "bicubic", "complex", "grouped_query", "circular_pad", "lstm_cell", "rotary"])
def test_an_open_batch_size_stays_open(name: str) -> None:
    if name in MODULES:
        module, shapes = MODULES[name][0](), [MODULES[name][1]]
    else:
        module, shapes = Calls(FUNCTIONS[name][0]), FUNCTIONS[name][1]
    changed, _ = rewritten(module, drawn(shapes, 0), "coreml")
    dynamic = tuple({0: torch.export.Dim.DYNAMIC} for _ in shapes)
    with torch.no_grad(), quiet():
        program = torch.export.export(changed, tuple(drawn(shapes, 0)), dynamic_shapes=(dynamic,))
        inputs = drawn([(5, *shape[1:]) for shape in shapes], 1)
        torch.testing.assert_close(program.module()(*inputs), module(*inputs))


def half(function: Function, x: Tensor) -> tuple[Tensor, Tensor]:
    """What float16 gives before and after."""
    changed, _ = rewritten(Calls(function), [x], "coreml")
    with torch.no_grad():
        return function(x.half()).float(), changed(x.half()).float()


def test_a_hand_written_norm_holds_in_half() -> None:
    x = 300 + torch.randn(1, 4, 16)
    before, after = half(hand_rms, x)
    assert before.abs().max() == 0
    torch.testing.assert_close(after, hand_rms(x), rtol=2e-3, atol=0)


def test_a_mask_with_a_full_row_holds_in_half() -> None:
    def masked(x: Tensor) -> Tensor:
        keep = torch.ones(6, 6).tril(-1).to(x.dtype)
        return torch.softmax(x + (1 - keep) * torch.finfo(torch.float32).min, -1)

    x = torch.randn(1, 6, 6)
    before, after = half(masked, x)
    assert before.isnan().any()
    torch.testing.assert_close(after, masked(x), rtol=0, atol=2e-3)


def test_log_sum_exp_holds_in_half() -> None:
    x = 12 + torch.randn(1, 4, 8)
    before, after = half(lambda item: item.exp().sum(-1).log(), x)
    assert before.isinf().any()
    torch.testing.assert_close(after, torch.logsumexp(x, -1), rtol=2e-3, atol=0)


def test_a_replacement_that_differs_is_not_used() -> None:
    module = Calls(lambda x: torch.tanh(x))
    wrong = Rule((torch.tanh,), "tanh by sine", lambda constants, x: torch.sin(x), COREML)
    right = Rule((torch.tanh,), "tanh by sigmoid", lambda constants, x: 2 * torch.sigmoid(2 * x) - 1, COREML)
    assert rewritten(module, [torch.randn(3)], "coreml", [wrong]) == (module, [])
    assert rewritten(module, [torch.randn(3)], "coreml", [right])[1] == ["tanh by sigmoid"]
    assert rewritten(module, [torch.randn(3)], "onnx", [right]) == (module, [])


def test_a_replacement_that_differs_on_mirrored_inputs_only_is_not_used() -> None:
    module = Calls(lambda x: torch.relu(x))
    rule = Rule((torch.relu,), "relu by nothing", lambda constants, x: x * 1, COREML)
    assert rewritten(module, [torch.ones(3)], "coreml", [rule]) == (module, [])


def test_a_replacement_that_breaks_is_not_used() -> None:
    def breaks(constants: Any, x: Tensor) -> Tensor:
        raise ValueError

    module = Calls(lambda x: torch.tanh(x))
    assert rewritten(module, [torch.ones(3)], "coreml", [Rule((torch.tanh,), "", breaks, COREML)]) == (module, [])


@pytest.mark.parametrize("function", [lambda x: torch.fft.fft(x), lambda x: torch.fft.fft(x).cumsum(-1).abs()])
def test_complex_numbers_that_leave_or_go_astray_are_left_alone(function: Function) -> None:
    module = Calls(function)
    assert rewritten(module, [torch.randn(2, 6)], "coreml") == (module, [])


def test_a_size_that_stays_open_keeps_the_original_call() -> None:
    module = Calls(lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"))
    changed, _ = rewritten(module, [torch.randn(1, 3, 6, 6)], "coreml")
    with quiet():
        program = torch.export.export(changed, (torch.randn(1, 3, 6, 6),), dynamic_shapes=(({2: torch.export.Dim.DYNAMIC},),))
    assert any("bicubic" in str(node.target) for node in program.graph.nodes if node.op == "call_function")
    x = torch.randn(1, 3, 9, 6)
    torch.testing.assert_close(program.module()(x), module(x))


def test_a_model_without_such_patterns_is_left_alone() -> None:
    module = SelfAttention().eval()
    assert rewritten(module, [torch.randn(1, 5, 8)], "coreml") == (module, [])


def test_what_was_replaced_is_said_with_its_module() -> None:
    module = nn.Sequential(nn.Linear(8, 8), nn.RMSNorm(8), nn.Sequential(nn.RMSNorm(8)))
    _, lines = rewritten(module, [torch.randn(1, 8)], "coreml")
    assert lines == ["rms_norm in plain arithmetic (coremltools#2164) in 1, 2.0"]
    assert not any(child._forward_hooks for child in module.modules())


def test_the_original_stays_as_it_was() -> None:
    module = Rotary()
    rewritten(module, [torch.randn(1, 6, 8)], "coreml")
    assert type(module) is Rotary
    assert module.turns.is_complex()


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_a_cumulative_product_for_onnx_gives_the_same(size: int) -> None:
    module = Calls(lambda x: x.cumprod(1))
    changed, lines = rewritten(module, drawn([(2, size, 3)], 0), "onnx")
    assert lines
    x = drawn([(2, size, 3)], 1)[0]
    torch.testing.assert_close(changed(x), module(x))


def test_exported_operators_without_a_rule_are_decomposed_and_others_kept() -> None:
    module = Calls(lambda x: F.gelu(torch.frac(x)) + torch.logaddexp(x, x * 2) + F.celu(x))
    inputs = (torch.randn(2, 5),)
    with quiet():
        program = torch.export.export(module, inputs)
        changed = program.run_decompositions(decompositions("coreml"))
    names = {str(node.target) for node in changed.graph.nodes if node.op == "call_function"}
    assert not names & {"aten.logaddexp.default", "aten.celu.default"}
    assert "aten.gelu.default" in names
    torch.testing.assert_close(changed.module()(*inputs), module(*inputs))
    assert decompositions("onnx") == {}


def test_large_inverses_are_left_alone() -> None:
    module = Calls(torch.linalg.inv)
    assert rewritten(module, [torch.eye(5)[None]], "coreml")[1] == []
    assert math.isclose(float(module(torch.eye(5)[None]).sum()), 5)
