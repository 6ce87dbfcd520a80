# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small llama-style decoder: RMS norm, rotary embedding, causal attention, gated MLP; whole, or a token at a time."""

import torch
from torch import nn


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding of ``x`` (batch, heads, tokens, width)."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class Block(nn.Module):
    """Attention and MLP, each after an RMS norm and with a residual connection."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.qkv, self.project = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.up = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, 3 * dim, bias=False)
        self.down = nn.Linear(3 * dim, dim, bias=False)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Causal attention of queries to keys and values, all (batch, heads, tokens, width)."""
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(
        self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        batch, tokens, dim = x.shape
        split = (batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = self.qkv(self.attention_norm(x)).view(split).permute(2, 0, 3, 1, 4).unbind(0)
        attended = self.attend(rotate(q, cos, sin), rotate(k, cos, sin), v, mask)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, tokens, dim))
        y = self.mlp_norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class CachedBlock(Block):
    """A block that keeps the keys and values of the tokens before."""

    def __init__(self, dim: int, heads: int, most: int) -> None:
        super().__init__(dim, heads)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, most, dim // heads))

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """``mask`` (1, positions) is true where the cache holds a token; its last true position is this token's."""
        assert mask is not None
        place = mask.sum().reshape(1) - 1
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        return nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)


class Decoder(nn.Module):
    """Token ids (batch, tokens) → logits (batch, tokens, vocabulary)."""

    def __init__(self, vocabulary: int = 256, dim: int = 64, layers: int = 2, heads: int = 4, most: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList(self.block(dim, heads, most) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocabulary, bias=False)
        half = dim // heads // 2
        angles = torch.outer(torch.arange(most), 1e4 ** (-torch.arange(half) / half)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def block(self, dim: int, heads: int, most: int) -> Block:
        """One layer."""
        return Block(dim, heads)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


class CachedDecoder(Decoder):
    """One token id (1, 1) and its position (1,) → logits (1, 1, vocabulary); the tokens before are in the buffers."""

    def block(self, dim: int, heads: int, most: int) -> Block:
        """One layer with its cache."""
        return CachedBlock(dim, heads, most)

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        cos, sin = self.cos[position], self.sin[position]
        mask = torch.arange(self.cos.shape[0]) <= position
        for block in self.blocks:
            x = block(x, cos, sin, mask.unsqueeze(0))
        return self.head(self.norm(x))
