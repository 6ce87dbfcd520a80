# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Caches that are written by operators `llama::…`: [batch, positions, heads, channels], in place."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.llama.attention import KVCache
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators


class CustomKVCache(nn.Module):
    """A cache of which one call writes the positions from input_pos[0] on."""

    k_cache: torch.Tensor
    v_cache: torch.Tensor

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.max_batch_size, self.max_context_length = max_batch_size, max_context_length
        self.n_heads, self.head_dim = n_heads, head_dim
        shape = (max_batch_size, max_context_length, n_heads, head_dim)
        self.register_buffer("k_cache", torch.zeros(shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(shape, dtype=dtype))

    def update(
        self, input_pos: torch.Tensor, k_val: torch.Tensor, v_val: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write values [batch, heads, positions, channels]; return the full caches with the same order."""
        start = input_pos[0].item()
        torch._check(start >= 0)
        torch._check(start < self.max_context_length)
        torch.ops.llama.update_cache(k_val.transpose(1, 2), self.k_cache, start)
        torch.ops.llama.update_cache(v_val.transpose(1, 2), self.v_cache, start)
        return self.k_cache.transpose(1, 2), self.v_cache.transpose(1, 2)


def replace_kv_cache_with_custom_kv_cache(module: nn.Module) -> nn.Module:
    """Replaces every KVCache below the module, in place. Returns the module."""
    for name, child in module.named_children():
        if isinstance(child, KVCache):
            made = CustomKVCache(
                child.max_batch_size, child.max_context_length, child.n_heads, child.head_dim, child.k_cache.dtype
            )
            setattr(module, name, made)
        else:
            replace_kv_cache_with_custom_kv_cache(child)
    return module
