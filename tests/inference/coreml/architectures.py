"""The eight architectures that every conversion must take, small enough for a test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.inference.coreml.quiet import coremltools, quiet
from tests.inference.coreml.packages import traced_package

Made = tuple[nn.Module, Tensor]


def conv_block(inputs: int, outputs: int, stride: int = 1, groups: int = 1, size: int = 3) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class Residual(nn.Module):
    """Two convolutions and what goes around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = conv_block(inputs, outputs, stride), conv_block(outputs, outputs)
        self.around = conv_block(inputs, outputs, stride, size=1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.around(x))


class EncoderLayer(nn.Module):
    """Pre-norm attention and a feed-forward part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        query, key, value = (part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        attended = F.scaled_dot_product_attention(query, key, value)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        output: Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return output


class Encoder(nn.Module):
    """Tokens through two layers to classes."""

    def __init__(self, width: int = 192, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, width)
        self.layers = nn.Sequential(*[EncoderLayer(width, 4) for _ in range(layers)])
        self.head = nn.Linear(width, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        output: Tensor = self.head(self.layers(self.embedding(tokens))[:, 0])
        return output


class Sequence(nn.Module):
    """A recurrent layer and a head on its last state."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.head(self.layer(x)[0][:, -1])
        return output


class Double(nn.Module):
    """Two convolutions of a U-Net, with group and instance norms."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(4, outputs), nn.InstanceNorm2d(outputs, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(self.norm2(self.second(F.silu(self.norm1(self.first(x))))), 0.1)


class UNet(nn.Module):
    """Two levels down, one up by a transposed convolution, one by interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.top, self.middle, self.bottom = Double(3, 16), Double(16, 32), Double(32, 64)
        self.up = nn.ConvTranspose2d(64, 32, 2, 2)
        self.right_middle, self.right_top = Double(64, 32), Double(48, 16)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        top = self.top(x)
        middle = self.middle(F.max_pool2d(top, 2, 2))
        bottom = self.bottom(F.max_pool2d(middle, 2, 2))
        middle = self.right_middle(torch.cat([self.up(bottom), middle], 1))
        wide = F.interpolate(middle, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.head(self.right_top(torch.cat([wide, top], 1))))


def cnn() -> Made:
    body = nn.Sequential(
        conv_block(3, 32), nn.ReLU(), nn.MaxPool2d(2, 2), conv_block(32, 64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 10),
    )  # fmt: skip
    return body, torch.randn(1, 3, 64, 64)


def depthwise() -> Made:
    parts: list[nn.Module] = [conv_block(3, 16, 2), nn.Hardswish()]
    for inputs, outputs, stride in ((16, 32, 1), (32, 64, 2), (64, 64, 1)):
        parts += [conv_block(inputs, inputs, stride, inputs), nn.Hardswish(), conv_block(inputs, outputs, size=1), nn.ReLU6()]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), torch.randn(1, 3, 64, 64)


def resnet() -> Made:
    stem = nn.Sequential(conv_block(3, 32, 2, size=7), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(
        stem, Residual(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)
    ), torch.randn(1, 3, 96, 96)  # fmt: skip


def transformer() -> Made:
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(1, 32, 128)


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    "cnn": cnn,
    "depthwise": depthwise,
    "resnet": resnet,
    "encoder": lambda: (Encoder(), torch.randint(0, 100, (1, 32))),
    "transformer": transformer,
    "lstm": lambda: (Sequence(nn.LSTM(64, 128, 2, batch_first=True, bidirectional=True), 256), torch.randn(1, 32, 64)),
    "gru": lambda: (Sequence(nn.GRU(64, 128, batch_first=True), 128), torch.randn(1, 32, 64)),
    "unet": lambda: (UNet(), torch.randn(1, 3, 64, 64)),
}


def package_of(module: nn.Module, example: Tensor, path: Path, precision: Literal["FLOAT32", "FLOAT16"], target: str) -> Path:
    """A package of the module; nn.TransformerEncoder goes through torch.export, its fast path cannot be traced."""
    if not isinstance(module, nn.TransformerEncoder):
        return traced_package(module, [example], path, precision, target)
    ct: Any = coremltools()
    with quiet(), torch.no_grad():
        graph = torch.export.export(module.eval(), (example,)).run_decompositions({})
        model = ct.convert(
            graph,
            inputs=[ct.TensorType(name="x0", shape=example.shape)],
            outputs=[ct.TensorType(name="y")],
            minimum_deployment_target=getattr(ct.target, target),
            compute_precision=getattr(ct.precision, precision),
            skip_model_load=True,
        )
        model.save(str(path))
    return path
