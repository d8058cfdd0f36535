"""A transformer encoder in one file: the 8 rows of a digit are its 8 tokens."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH = 64
HEADS = 4
TOKENS = 8


class Block(nn.Module):
    """Pre-norm self-attention and feed-forward, (N, tokens, width) to the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        output: torch.Tensor = x + self.down(F.gelu(self.up(self.norm2(x))))
        return output

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (self.heads(part) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(query, key, value)
        output: torch.Tensor = self.out(mixed.transpose(1, 2).reshape(x.shape[0], TOKENS, WIDTH))
        return output

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)


class TinyEncoder(nn.Module):
    """(N, 1, 8, 8) with values in 0..1 to (N, 10) logits; 68 K parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(8, WIDTH)
        self.position = nn.Parameter(torch.randn(1, TOKENS, WIDTH) * 0.02)
        self.block1 = Block()
        self.block2 = Block()
        self.norm = nn.LayerNorm(WIDTH)
        self.classes = nn.Linear(WIDTH, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(torch.flatten(x, 1, 2)) + self.position
        x = self.norm(self.block2(self.block1(x)))
        logits: torch.Tensor = self.classes(x.mean(dim=1))
        return logits


def tiny_encoder() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The model and an example input."""
    return TinyEncoder(), (torch.rand(1, 1, 8, 8),)
