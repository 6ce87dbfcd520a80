# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Grouped-query attention, without a cache, with one of torch's operators, or with the operators `llama::…`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from executorch.examples.models.llama.kv_cache import CachePositionsManager, CacheUpdateStrategy, KVCache, RingKVCache
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.rope import rotate

__all__ = ["SDPA", "Attention", "CachePositionsManager", "CacheUpdateStrategy", "KVCache", "RingKVCache"]


class SDPA(nn.Module):
    """Attention over the full caches, hidden by a mask.

    dim: channels of all query heads together. head_dim: those of a head. n_rep: query heads for each head of keys.
    max_context_len: positions of the cache. The four are for callers; attention takes sizes from its operands.
    scale: factor of the products of queries and keys, None for the inverse root of their channels.
    """

    def __init__(
        self, dim: int, head_dim: int, n_rep: int, max_context_len: int, *, scale: float | None = None
    ) -> None:
        super().__init__()
        self.dim, self.head_dim, self.n_rep, self.max_context_len = dim, head_dim, n_rep, max_context_len
        self.scale = scale

    def forward(
        self,
        input_pos: torch.Tensor | None,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        bsz: int,
        seqlen: int,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """q, k, v [batch, heads, positions, channels] → [batch, positions, heads * channels]."""
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=self.scale, enable_gqa=True
        )
        return attended.transpose(1, 2).reshape(bsz, seqlen, -1)


class Attention(nn.Module):
    """Projections, rotary embedding where `rotates`, cache, attention, projection.

    window: positions that a query attends to, None for all. A cache is a ring if it would hold more positions.
    """

    def __init__(self, args: ModelArgs, window: int | None = None, *, rotates: bool = True) -> None:
        super().__init__()
        self.rotates = rotates
        self.window = None if window is None or window >= args.context else window
        self.n_heads, self.n_kv_heads, self.head_dim = args.n_heads, args.key_heads, args.channels
        self.uses_halves, self.norm_first = args.use_hf_rope, args.qk_norm_before_rope
        queries, keys = self.n_heads * self.head_dim, self.n_kv_heads * self.head_dim
        self.wq = nn.Linear(args.dim, queries, bias=args.attention_qkv_bias)
        self.wk = nn.Linear(args.dim, keys, bias=args.attention_qkv_bias)
        self.wv = nn.Linear(args.dim, keys, bias=args.attention_qkv_bias)
        self.wo = nn.Linear(queries, args.dim, bias=False)
        self.q_norm: nn.Module | None = nn.RMSNorm(self.head_dim, eps=args.norm_eps) if args.use_qk_norm else None
        self.k_norm: nn.Module | None = nn.RMSNorm(self.head_dim, eps=args.norm_eps) if args.use_qk_norm else None
        self.kv_cache: nn.Module | None = None
        if args.use_kv_cache:
            kind = KVCache if self.window is None else RingKVCache
            self.kv_cache = kind(args.max_batch_size, self.window or args.context, self.n_kv_heads, self.head_dim)
        self.SDPA: nn.Module = SDPA(
            queries, self.head_dim, self.n_heads // self.n_kv_heads, args.context, scale=args.attention_multiplier
        )

    def _norm(self, x: torch.Tensor, norm: nn.Module | None) -> torch.Tensor:
        if norm is None:
            return x
        result: torch.Tensor = norm(x)
        return result

    def forward(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor | None,
        input_pos: torch.Tensor | None,
    ) -> torch.Tensor:
        """x [batch, positions, dim], with tables and mask of its positions."""
        batch, count, _ = x.shape
        q = self.wq(x).view(batch, count, self.n_heads, self.head_dim)
        k = self.wk(x).view(batch, count, self.n_kv_heads, self.head_dim)
        v = self.wv(x).view(batch, count, self.n_kv_heads, self.head_dim)
        if self.norm_first:
            q, k = self._norm(q, self.q_norm), self._norm(k, self.k_norm)
        if self.rotates:
            q = rotate(q, cos, sin, halves=self.uses_halves)
            k = rotate(k, cos, sin, halves=self.uses_halves)
        if not self.norm_first:
            q, k = self._norm(q, self.q_norm), self._norm(k, self.k_norm)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if self.kv_cache is not None:
            k, v = self.kv_cache.update(input_pos, k, v)  # type: ignore[operator]
        if getattr(self.kv_cache, "is_ring_buffer", False):
            # Slots are out of position order, so use the ring's own mask instead of the model's.
            start = input_pos[0].item()  # type: ignore[index]
            mask = self.kv_cache.create_causal_mask_for_ring_buffer(start, count)  # type: ignore[operator, union-attr]
        elif self.window is not None and self.kv_cache is None:
            positions = torch.arange(count, device=x.device)
            distance = positions[:, None] - positions
            mask = (distance >= 0) & (distance < self.window)
        result: torch.Tensor = self.wo(self.SDPA(input_pos, q, k, v, batch, count, mask))
        return result
