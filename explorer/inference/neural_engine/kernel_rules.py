"""Rules on convolutions, pools and upsampling: strides, kernels, dilations, factors."""

from collections.abc import Sequence

from explorer.inference.coreml.program import Step
from explorer.inference.neural_engine.graph import Graph, input_shape, output_shape, shape_of
from explorer.inference.neural_engine.sources import HOLLANCE, RULES, both, hint
from explorer.schemas.convert_result import Hint

LARGE_KERNEL, LARGE_POOL, PALETTIZED_STRIDE, LARGE_FACTOR = 7, 13, 2, 2
POOL_STRIDES = (1, 2, 4)
CONVOLUTIONS, POOLS = ("conv", "conv_transpose"), ("max_pool", "avg_pool", "l2_pool")


def strides(graph: Graph) -> Hint | None:
    """Strides of factors 2 and 3, equal in both directions when large; at most 2 with a palette."""
    found = [step for step in graph.of_type(*CONVOLUTIONS) if _bad_stride(graph, step)]
    if not found:
        return None
    title = "Convolutions have strides that are said to suit the Neural Engine badly"
    remedy = "use strides made of factors 2 and 3, equal in height and width; at most 2 with palettized weights"
    return hint("strides", title, found, remedy, RULES)


def _bad_stride(graph: Graph, step: Step) -> bool:
    steps = _numbers(graph, step, "strides")
    if any(not _of_twos_and_threes(size) for size in steps) or (len(set(steps)) > 1 and max(steps) > 3):
        return True
    decoder = graph.source(step, "weight")
    palette = decoder is not None and "lut" in decoder.op_type
    return palette and max(steps, default=1) > PALETTIZED_STRIDE


def _numbers(graph: Graph, step: Step, key: str) -> Sequence[int]:
    found = graph.constant(step, key)
    return [int(size) for size in found] if isinstance(found, list) else []


def _of_twos_and_threes(size: int) -> bool:
    for factor in (2, 3):
        while size > 1 and size % factor == 0:
            size //= factor
    return size == 1


def kernels(graph: Graph) -> Hint | None:
    """Large kernels as several small ones."""
    found = [step for step in graph.of_type(*CONVOLUTIONS) if max(_kernel(step), default=1) > LARGE_KERNEL]
    if not found:
        return None
    largest = max((_kernel(step) for step in found), key=max)
    title = f"Convolutions have kernels beyond {LARGE_KERNEL}, up to {'x'.join(map(str, largest))}"
    return hint("kernels", title, found, "split them into smaller ones; width costs most", RULES)


def _kernel(step: Step) -> list[int]:
    weight = step.inputs.get("weight")
    return [size or 1 for size in (shape_of(weight) or ())[2:]]


def dilations(graph: Graph) -> Hint | None:
    """Dilated convolutions."""
    found = [step for step in graph.of_type(*CONVOLUTIONS) if max(_numbers(graph, step, "dilations"), default=1) > 1]
    if not found:
        return None
    title = "Dilated convolutions may leave the Neural Engine"
    remedy = "use dilations made of factors 2 and 3, or several plain convolutions"
    return hint("dilations", title, found, remedy, both(RULES, HOLLANCE))


def pools(graph: Graph) -> Hint | None:
    """Pools of stride 1, 2 or 4 and kernels of at most 13."""
    found = [step for step in graph.of_type(*POOLS) if _bad_pool(graph, step)]
    if not found:
        return None
    title = f"Pools have a stride other than 2 or 4, or a kernel beyond {LARGE_POOL}"
    remedy = "pool in steps of 2 or 4, or take the mean over the whole map"
    return hint("pools", title, found, remedy, both(RULES, HOLLANCE))


def _bad_pool(graph: Graph, step: Step) -> bool:
    kernel, steps = _numbers(graph, step, "kernel_sizes"), _numbers(graph, step, "strides")
    return max(kernel, default=1) > LARGE_POOL or any(size not in POOL_STRIDES for size in steps)


def upsampling(graph: Graph) -> Hint | None:
    """Upsampling by at most 2 at a time."""
    found = [step for step in graph.steps if step.op_type.startswith(("upsample", "resize")) and _factor(step) > LARGE_FACTOR]
    if not found:
        return None
    title = f"Upsamplings grow by more than {LARGE_FACTOR}"
    return hint("upsampling", title, found, "upsample twice by 2 with a convolution between", HOLLANCE)


def _factor(step: Step) -> float:
    """The larger growth of height and width."""
    pairs = zip(input_shape(step)[-2:], output_shape(step)[-2:], strict=False)
    return max((after / before for before, after in pairs if before and after), default=1.0)
