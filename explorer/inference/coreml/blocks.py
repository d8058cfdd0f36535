"""Moving blocks of pixels between space, channels and batch."""

from torch import Tensor
from torch.nn import functional as F

from explorer.inference.coreml.registry import rule


@rule("pixel_shuffle")
def pixel_shuffle(*, x: Tensor, upscale_factor: int) -> Tensor:
    return F.pixel_shuffle(x, upscale_factor)


@rule("pixel_unshuffle")
def pixel_unshuffle(*, x: Tensor, downscale_factor: int) -> Tensor:
    return F.pixel_unshuffle(x, downscale_factor)


@rule("depth_to_space")
def depth_to_space(*, x: Tensor, block_size: int) -> Tensor:
    """Depth is (block row, block column, channel), outermost first."""
    batch, depth, height, width = x.shape
    cells = x.reshape(batch, block_size, block_size, depth // block_size**2, height, width)
    return cells.permute(0, 3, 4, 1, 5, 2).reshape(batch, depth // block_size**2, height * block_size, width * block_size)


@rule("space_to_depth")
def space_to_depth(*, x: Tensor, block_size: int) -> Tensor:
    batch, depth, height, width = x.shape
    cells = x.reshape(batch, depth, height // block_size, block_size, width // block_size, block_size)
    return cells.permute(0, 3, 5, 1, 2, 4).reshape(batch, depth * block_size**2, height // block_size, width // block_size)


@rule("space_to_batch")
def space_to_batch(*, x: Tensor, block_shape: list[int], paddings: list[int]) -> Tensor:
    """The batch becomes (block row, block column, sample), outermost first, as in TensorFlow."""
    (rows, columns), (top, bottom, left, right) = block_shape, paddings
    padded = F.pad(x, (left, right, top, bottom))
    batch, channels, height, width = padded.shape
    cells = padded.reshape(batch, channels, height // rows, rows, width // columns, columns)
    return cells.permute(3, 5, 0, 1, 2, 4).reshape(batch * rows * columns, channels, height // rows, width // columns)


@rule("batch_to_space")
def batch_to_space(*, x: Tensor, block_shape: list[int], crops: list[int]) -> Tensor:
    (rows, columns), (top, bottom, left, right) = block_shape, crops
    batch, channels, height, width = x.shape
    cells = x.reshape(rows, columns, batch // (rows * columns), channels, height, width)
    whole = cells.permute(2, 3, 4, 0, 5, 1).reshape(batch // (rows * columns), channels, height * rows, width * columns)
    return whole[..., top : height * rows - bottom, left : width * columns - right]
