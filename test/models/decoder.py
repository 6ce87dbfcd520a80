# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small llama-style decoder: RMS norm, rotary embedding, causal attention, gated MLP."""

import torch
from torch import nn


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of ``x`` (batch, heads, tokens, width)."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class Block(nn.Module):
    """Attention and MLP, each behind an RMS norm and beside a residual."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.qkv, self.project = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.up = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, 3 * dim, bias=False)
        self.down = nn.Linear(3 * dim, dim, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, tokens, dim = x.shape
        split = (batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = self.qkv(self.attention_norm(x)).view(split).permute(2, 0, 3, 1, 4).unbind(0)
        attended = nn.functional.scaled_dot_product_attention(
            rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True
        )
        x = x + self.project(attended.transpose(1, 2).reshape(batch, tokens, dim))
        y = self.mlp_norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Token ids (batch, tokens) → logits (batch, tokens, vocabulary)."""

    def __init__(self, vocabulary: int = 256, dim: int = 64, layers: int = 2, heads: int = 4, most: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocabulary, bias=False)
        half = dim // heads // 2
        angles = torch.outer(torch.arange(most), 1e4 ** (-torch.arange(half) / half)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))
