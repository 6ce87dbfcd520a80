# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Caches that are written by operators `llama::…`: [batch, positions, heads, channels], in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from executorch.examples.models.llama.kv_cache import Caches, KVCache, RingKVCache, SlidingWindow
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators


class CustomKVCache(Caches):
    """A cache in which one call writes the positions from input_pos[0]."""

    positions_first = True

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(max_batch_size, max_context_length, n_heads, head_dim, dtype)

    def update(
        self,
        input_pos: torch.Tensor,
        k_val: torch.Tensor,
        v_val: torch.Tensor,
        indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write values [batch, heads, positions, channels]; return the full caches with the same order.

        indices: slot of each position, [batch, positions], instead of the positions from input_pos[0] on.
        """
        start = input_pos[0].item()
        torch._check(start >= 0)
        if indices is None:
            torch._check(start < self.max_context_length)
        for value, cache in ((k_val, self.k_cache), (v_val, self.v_cache)):
            if indices is None:
                torch.ops.llama.update_cache(value.transpose(1, 2), cache, start)
            else:
                torch.ops.llama.update_cache_with_indices(value.transpose(1, 2), cache, start, indices)
        return self.k_cache.transpose(1, 2), self.v_cache.transpose(1, 2)


class CustomRingKVCache(SlidingWindow, CustomKVCache):
    """Keys and values of a sliding window in 2 * `max_context_length` slots, as CustomKVCache has them."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """max_context_length: positions that a query attends to."""
        super().__init__(max_batch_size, max_context_length * 2, n_heads, head_dim, dtype)
        self.begin_window(max_context_length)

    @classmethod
    def from_custom_kv_cache(cls, kv_cache: CustomKVCache | KVCache, sliding_window_size: int) -> CustomRingKVCache:
        """Return an empty ring with the sizes of `kv_cache` and a window of its own."""
        return cls(
            kv_cache.max_batch_size, sliding_window_size, kv_cache.n_heads, kv_cache.head_dim, kv_cache.k_cache.dtype
        )

    def update(
        self,
        input_pos: torch.Tensor,
        k_val: torch.Tensor,
        v_val: torch.Tensor,
        indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write values [batch, heads, positions, channels] to the slots of their positions; return the caches."""
        if indices is not None:
            raise ValueError("indices: a ring computes its own; expected None")
        count = k_val.shape[2]
        slots = self.slots_of(input_pos, count)
        return super().update(input_pos, k_val, v_val, slots.unsqueeze(0).expand(k_val.shape[0], count))


def replace_kv_cache_with_custom_kv_cache(module: nn.Module) -> nn.Module:
    """Replaces every KVCache below the module, in place. Returns the module."""
    for name, child in module.named_children():
        if isinstance(child, RingKVCache):
            setattr(module, name, CustomRingKVCache.from_custom_kv_cache(child, child.window_size))
            _attend_by_mask(module)
        elif isinstance(child, KVCache):
            made = CustomKVCache(
                child.max_batch_size, child.max_context_length, child.n_heads, child.head_dim, child.k_cache.dtype
            )
            setattr(module, name, made)
        else:
            replace_kv_cache_with_custom_kv_cache(child)
    return module


def _attend_by_mask(attention: nn.Module) -> None:
    """Let `llama::custom_sdpa` use the ring's mask: causal attention would take slots for positions."""
    sdpa = getattr(attention, "SDPA", None)
    if hasattr(sdpa, "use_attention_mask"):
        sdpa.use_attention_mask = True  # type: ignore[union-attr]


def replace_kv_cache_with_ring_kv_cache(module: nn.Module, layer_sizes: Sequence[int]) -> nn.Module:
    """Give layer i of a decoder a window of layer_sizes[i] positions, in place; 0 leaves its cache. Returns the module.

    A shorter list is a pattern that the layers repeat: [0, 0, 512] is a window in every third layer.
    """
    layers = list(module.layers)  # type: ignore[arg-type]
    if not layer_sizes or len(layers) % len(layer_sizes):
        raise ValueError(
            f"layer_sizes: expected a pattern whose length divides the {len(layers)} layers, found {len(layer_sizes)}"
        )
    for index, layer in enumerate(layers):
        size = layer_sizes[index % len(layer_sizes)]
        attention = layer.attention
        cache = attention.kv_cache
        if not size:
            continue
        if isinstance(cache, CustomKVCache):
            attention.kv_cache = CustomRingKVCache.from_custom_kv_cache(cache, size)
        elif isinstance(cache, KVCache):
            attention.kv_cache = RingKVCache(
                cache.max_batch_size,
                size,
                cache.n_heads,
                cache.head_dim,
                cache.enable_dynamic_shape,
                cache.k_cache.dtype,
            )
        else:
            raise TypeError(f"layer {index}: expected a KVCache, found {type(cache).__name__}")
        _attend_by_mask(attention)
    return module
