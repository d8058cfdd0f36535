"""The eight architectures."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.conversion.cases.case import Built, Case, image, net, rows


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.norm2(self.second(F.relu(self.norm1(self.first(x)))))
        return torch.relu(x + output)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        output: Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return output


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.layers = nn.Sequential(Block(16, 2), Block(16, 2))

    def forward(self, tokens: Tensor) -> Tensor:
        output: Tensor = self.layers(self.embed(tokens))
        return output


class Last(nn.Module):
    def __init__(self, recurrent: nn.Module, width: int) -> None:
        super().__init__()
        self.recurrent, self.head = recurrent, nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.head(self.recurrent(x)[0][:, -1])
        return output


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = self.stage(3, 8), self.stage(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.merge, self.head = self.stage(16, 8), nn.Conv2d(8, 1, 1)

    @staticmethod
    def stage(inside: int, outside: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.GroupNorm(2, outside), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down1(x)
        deep = self.down2(F.max_pool2d(skip, 2))
        return torch.sigmoid(self.head(self.merge(torch.cat([self.up(deep), skip], 1))))


def cnn() -> Built:
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 4))
    return net(nn.Sequential(*layers), image())


def depthwise() -> Built:
    layers = (nn.Conv2d(3, 8, 1), nn.Hardswish(), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
    return net(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)), image())


def encoder() -> Built:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return net(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), rows(5, 16))


ARCHITECTURES = (
    Case("cnn", cnn, "pytorch#166797"),
    Case("depthwise", depthwise, "notes 3a"),
    Case("residual", lambda: net(nn.Sequential(nn.Conv2d(3, 8, 3), Residual(8)), image()), "pytorch#168224"),
    Case("encoder_sdpa", lambda: net(Encoder(), torch.arange(6)[None]), "pytorch#136756"),
    Case("transformer_encoder", encoder, "coremltools#2311"),
    Case(
        "lstm_bidirectional",
        lambda: net(Last(nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True), 12), rows()),
        "pytorch#191855",
    ),
    Case("gru_head", lambda: net(Last(nn.GRU(8, 6, batch_first=True), 6), rows()), "coremltools#755"),
    Case("unet", lambda: net(UNet(), image()), "coremltools#2415"),
)
