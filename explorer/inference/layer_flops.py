"""FLOPs of each module by torch's formulas, on the meta device, where attention is counted and nothing is computed.

Convention of torch.utils.flop_counter: two for each multiply-add of matrix products, convolutions and attention; a bias, an
activation and a normalisation add nothing. Operators that compute and have no formula are listed beside the total.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_flop_count

from explorer.inference.torch_settings import plain_attention

# Operators that make, move, look up or reshape values and compute none.
MOVING = frozenset({
    "_local_scalar_dense", "_to_copy", "_unsafe_view", "alias_copy", "arange", "as_strided_", "bernoulli_", "cat", "clone",
    "constant_pad_nd", "copy", "copy_", "detach_", "embedding", "empty", "empty_like", "empty_strided", "expand_copy", "eye",
    "fill", "fill_", "flip", "full", "full_like", "gather", "index", "index_put", "index_put_", "index_select", "lift_fresh",
    "linspace", "masked_select", "native_dropout", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros",
    "one_hot", "ones", "ones_like", "permute_copy", "pixel_shuffle", "pixel_unshuffle", "rand", "rand_like", "randn",
    "randn_like", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "repeat", "repeat_interleave",
    "replication_pad1d", "replication_pad2d", "replication_pad3d", "roll", "scalar_tensor", "scatter", "select_copy",
    "select_scatter", "set_", "slice_copy", "slice_scatter", "split", "split_with_sizes_copy", "squeeze_", "stack", "t_",
    "transpose_", "tril", "triu", "unfold_copy", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_", "upsample_nearest1d",
    "upsample_nearest2d", "upsample_nearest3d", "view_copy", "zero_", "zeros", "zeros_like",
})  # fmt: skip
# The CPU runs attention by an operator that torch has no formula for; its shapes are those of the others.
CPU_ATTENTION = ("_scaled_dot_product_flash_attention_for_cpu",)


@dataclass(frozen=True)
class Counted:
    """FLOPs of one call: all, by module path ("" is the whole), and the operators that are not in them."""

    total: int
    by_module: Mapping[str, int]
    uncounted: list[str]


def count_on_meta(module: nn.Module, inputs: Sequence[Tensor]) -> Counted:
    """Count without computing. Raises whatever a module raises that cannot run without values."""
    state = {name: value.detach().to("meta") for name, value in [*module.named_parameters(), *module.named_buffers()]}
    return _count(module, lambda: functional_call(module, state, tuple(item.to("meta") for item in inputs)))


def count_by_running(module: nn.Module, inputs: Sequence[Tensor]) -> Counted:
    """Count during a real run on the module's own device."""
    return _count(module, lambda: module(*inputs))


def _count(module: nn.Module, call: Callable[[], object]) -> Counted:
    seen = _Seen()
    counter = FlopCounterMode(display=False, custom_mapping=_cpu_formulas())
    with torch.no_grad(), plain_attention(), seen, counter:
        call()
    root = type(module).__name__
    counts = {name: sum(operators.values()) for name, operators in counter.get_flop_counts().items() if name != "Global"}
    by_module = {name.removeprefix(root).removeprefix("."): count for name, count in counts.items()}
    return Counted(counter.get_total_flops(), by_module, sorted(seen.uncounted))


def _cpu_formulas() -> dict[Any, Any]:
    def formula(query: Any, key: Any, value: Any, *rest: object, **named: object) -> int:
        return int(sdpa_flop_count(query, key, value))  # type: ignore[no-untyped-call]

    return {getattr(torch.ops.aten, name): formula for name in CPU_ATTENTION if hasattr(torch.ops.aten, name)}


class _Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operator that computes floating values, is not element by element and has no formula."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.uncounted: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if _computes(func) and _holds_floats(output):
            self.uncounted.add(str(func._overloadpacket))
        return output


def _computes(func: Any) -> bool:
    packet = func._overloadpacket
    if packet in flop_registry or packet.__name__ in CPU_ATTENTION or func.is_view or torch.Tag.pointwise in func.tags:
        return False
    return not (func.namespace == "aten" and packet.__name__ in MOVING) and func.namespace not in ("prim", "prims")


def _holds_floats(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.is_floating_point() or value.is_complex()
    return isinstance(value, list | tuple) and any(_holds_floats(item) for item in value)
