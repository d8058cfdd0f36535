"""Operators and patterns from public reports, each with its issue or pull request."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from tests.conversion.cases.case import Case, image, net, of, rows
from tests.conversion.cases.patterns import LastStates, assigned_cells, cell, scatter_loop, written_constant

CT, PT, ET = "coremltools#", "pytorch#", "executorch#"


def wide() -> Tensor:
    return 100 + rows()


def unit(*shape: int) -> Tensor:
    return torch.rand(1, *shape) * 0.98 + 0.01


def edges() -> Tensor:
    return torch.tensor([-1.0, -0.3, 0.2, 0.9])


REPORTS = (
    Case("cdist", lambda: of(torch.cdist, rows(4, 3), rows(5, 3)), f"{CT}2198"),
    Case("tensordot", lambda: of(lambda x, y: torch.tensordot(x, y, dims=([2], [1])), rows(4, 5), rows(5, 3)), f"{CT}2137"),
    Case("cross", lambda: of(lambda x, y: torch.linalg.cross(x, y, dim=-1), rows(4, 3), rows(4, 3)), f"{CT}1618"),
    Case("repeat_interleave", lambda: of(lambda x: torch.repeat_interleave(x, 3, dim=1), rows()), f"{CT}2207"),
    Case("repeat_batch", lambda: of(lambda x: x.repeat(x.shape[1], x.shape[1]), rows(5)), f"{CT}1642"),
    Case("diagonal", lambda: of(lambda x: torch.diagonal(x, dim1=1, dim2=2), rows(5, 5)), f"{CT}2565"),
    Case("average_pool_padded", lambda: net(nn.AvgPool2d(7, 4, 3), image(2, 16)), f"{CT}1901"),
    Case("average_pool_ceil", lambda: of(lambda x: F.avg_pool2d(x, 2, stride=2, ceil_mode=True), image(2, 5)), f"{CT}2772"),
    Case("average_pool_skips", lambda: net(nn.AvgPool2d(3, 3, 1, ceil_mode=True), image(3, 2)), f"{PT}131272"),
    Case("adaptive_pool_uneven", lambda: net(nn.AdaptiveAvgPool2d((6, 1)), image(1)), f"{CT}1733"),
    Case("adaptive_max_pool", lambda: net(nn.AdaptiveMaxPool2d((3, 2)), image()), f"{PT}68003"),
    Case("max_pool_indices", lambda: of(lambda x: F.max_pool2d(x, 3, 1, 1, return_indices=True)[1], image()), f"{CT}2456"),
    Case("square_far_from_zero", lambda: of(lambda x: torch.pow(x, 2), wide()), f"{CT}2601"),
    Case("log2", lambda: of(torch.log2, unit(6, 8)), f"{CT}1535"),
    Case("uneven_kernel", lambda: net(nn.Conv2d(2, 2, (3, 2), stride=2, padding=1), image(2, 5)), f"{CT}2515"),
    Case("minimum_and_place", lambda: of(lambda x: tuple(torch.min(x, -1)), rows()), f"{CT}1269"),
    Case("constant_pad", lambda: of(lambda x: F.pad(x, (1, 0, 2, -1), value=0.5), image()), f"{CT}751"),
    Case("clamp_minimum", lambda: of(lambda x, low: torch.clamp(x, min=low), rows(), rows(8)), f"{CT}1479"),
    Case(
        "masked_scatter", lambda: of(lambda x: x.masked_scatter(x > 0, torch.arange(48.0).reshape(1, 6, 8)), rows()), f"{CT}2638"
    ),
    Case(
        "complex_product",
        lambda: of(lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)), rows(4, 2), rows(4, 2)),
        f"{CT}1929",
    ),
    Case("full_like", lambda: of(lambda x: x + torch.full_like(x, 0.5), rows()), f"{CT}1220"),
    Case("new_zeros", lambda: of(lambda x: torch.cat([x, x.new_zeros(x.shape)], -1), rows()), f"{CT}1588"),
    Case(
        "least_squares",
        lambda: of(lambda a, b: torch.linalg.lstsq(a, b).solution, rows(5, 3), rows(5, 2)),
        f"{CT}2085",
        "lstsq",
        "lstsq",
    ),
    Case(
        "feature_dropout", lambda: net(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Dropout2d(0.5, inplace=True)), image()), f"{CT}1327"
    ),
    Case("constant_in_forward", lambda: of(written_constant, rows()), f"{CT}2115"),
    Case("logical_xor", lambda: of(lambda x, y: torch.logical_xor(x > 0, y > 0).float(), rows(), rows()), f"{CT}1458"),
    Case("fraction", lambda: of(lambda x: torch.frac(x * 3), rows()), f"{CT}1592"),
    Case("nan_to_num", lambda: of(lambda x: torch.nan_to_num(torch.log(x), nan=-1.0), rows()), f"{CT}2403"),
    Case("cumulative_product", lambda: of(lambda x: x.cumprod(-1), rows()), f"{CT}2403"),
    Case("search_sorted", lambda: of(lambda x: torch.searchsorted(edges(), x), rows()), f"{CT}2403"),
    Case("bucketize", lambda: of(lambda x: torch.bucketize(x, edges(), right=True), rows()), f"{PT}148098"),
    Case("gated_linear_unit", lambda: net(nn.GLU(), rows()), f"{PT}125894"),
    Case("nonzero", lambda: of(lambda x: torch.nonzero(x > 0.5), rows()), f"{CT}2406"),
    Case("length", lambda: of(lambda x: x * len(x), rows()), f"{CT}2100"),
    Case("histogram", lambda: of(lambda x: torch.histc(x, 4, -2.0, 2.0), rows()), f"{PT}74032", "histc"),
    Case("expm1", lambda: of(torch.expm1, rows()), f"{PT}129530"),
    Case("circular_pad", lambda: net(nn.CircularPad2d(2), image()), f"{ET}11710"),
    Case("circular_convolution", lambda: net(nn.Conv1d(5, 5, 3, padding=1, padding_mode="circular"), rows(5, 6)), f"{ET}11703"),
    Case("reflection_pad_3d", lambda: net(nn.ReflectionPad3d(1), torch.randn(1, 2, 4, 4, 4)), f"{CT}2576"),
    Case("replication_pad_3d", lambda: net(nn.ReplicationPad3d(2), torch.randn(1, 2, 4, 4, 4)), f"{CT}2571"),
    Case("pixel_unshuffle", lambda: net(nn.PixelUnshuffle(2), image()), f"{CT}1321"),
    Case("unbind", lambda: of(lambda x: sum(torch.unbind(x, 1)), rows()), f"{CT}1053"),
    Case("unsqueeze_in_place", lambda: of(lambda x: (x * 1).unsqueeze_(1), rows()), f"{CT}1305"),
    Case("weight_norm", lambda: net(weight_norm(nn.Linear(8, 4)), rows()), f"{CT}1347"),
    Case("spectral_norm", lambda: net(spectral_norm(nn.Linear(8, 4)), rows()), f"{CT}778"),
    Case("norm", lambda: of(lambda x: x / torch.norm(x, 2, dim=-1, keepdim=True), rows()), f"{CT}1000"),
    Case("assigned_cells", lambda: of(assigned_cells, torch.randn(28)), f"{CT}1065"),
    Case("scatter_loop", lambda: of(scatter_loop, rows(4)), f"{PT}29647"),
    Case("index_select", lambda: of(lambda x: x.index_select(1, torch.tensor([2, 0, 2])), rows()), f"{PT}68003"),
    Case("resize_to_one", lambda: of(lambda x: F.interpolate(x, size=(1, 1), mode="bilinear"), image()), f"{PT}183523"),
    Case("type_as", lambda: of(lambda x: torch.arange(8).type_as(x) * x, rows()), f"{CT}1145"),
    Case("arc_tangent", lambda: of(torch.atan2, rows(), rows()), f"{CT}1551"),
    Case(
        "overlapping_fold",
        lambda: of(lambda x: F.fold(x, (5, 5), 3, padding=1, stride=2), torch.randn(1, 18, 9)),
        f"{CT}1912",
    ),
    Case("gru_cell", lambda: net(cell(nn.GRUCell(8, 6)), torch.randn(1, 8)), f"{CT}1124"),
    Case("rnn_cell", lambda: net(cell(nn.RNNCell(8, 6)), torch.randn(1, 8)), f"{CT}1344"),
    Case("last_states", lambda: net(LastStates(), rows(5, 4)), f"{CT}824"),
    Case("full", lambda: of(lambda x: x + torch.full((1, 6, 1), 0.5), rows()), f"{CT}2268"),
    Case("mean_of_masked", lambda: of(lambda x: torch.where(x > 0, x, torch.nan).nanmean(-1), rows()), f"{CT}2403"),
    Case(
        "trilinear",
        lambda: of(lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), torch.randn(1, 2, 3, 4, 4)),
        f"{CT}1747",
    ),
    Case("nearest_exact", lambda: of(lambda x: F.interpolate(x, size=(5, 11), mode="nearest-exact"), image()), f"{CT}1747"),
    Case("dictionary_input", lambda: of(lambda x, y: {"a": {"b": x + y}, "c": (x, y * 2)}, rows(), rows()), f"{CT}2104"),
)
