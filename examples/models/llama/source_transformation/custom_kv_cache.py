# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Caches that are written by operators `llama::…`: [batch, positions, heads, channels], in place."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import cast

import torch
from torch import nn

from executorch.examples.models.llama.kv_cache import Caches, KVCache, RingKVCache, SlidingWindow
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators


def _start_of(input_pos: torch.Tensor, indices: torch.Tensor | None, length: int) -> int:
    """Return the first position. Its bounds for torch.export are 0 and, without `indices`, `length` - 1."""
    start = cast(int, input_pos[0].item())  # a symbol in an export
    torch._check(start >= 0)
    if indices is None:
        torch._check(start < length)
    return start


class CustomKVCache(Caches):
    """A cache in which one call writes the positions from input_pos[0]."""

    positions_first = True

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
        start = _start_of(input_pos, indices, self.max_context_length)
        for value, cache in ((k_val, self.k_cache), (v_val, self.v_cache)):
            _write(value.transpose(1, 2), cache, start, indices)
        return self.k_cache.transpose(1, 2), self.v_cache.transpose(1, 2)


class CustomRingKVCache(SlidingWindow, CustomKVCache):
    """Keys and values of a window in `sink_size` + 2 * `max_context_length` slots, in the layout of CustomKVCache."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        sink_size: int = 0,
    ) -> None:
        """Create an empty cache.

        max_context_length: positions that a query attends to, besides the first `sink_size`.
        """
        super().__init__(max_batch_size, sink_size + 2 * max_context_length, n_heads, head_dim, dtype)
        self.begin_window(max_context_length, sink_size)

    @classmethod
    def from_custom_kv_cache(
        cls, kv_cache: CustomKVCache | KVCache, sliding_window_size: int, sink_size: int = 0
    ) -> CustomRingKVCache:
        """Return an empty ring with the sizes of `kv_cache` and a window of `sliding_window_size` positions."""
        sizes = (kv_cache.n_heads, kv_cache.head_dim, kv_cache.k_cache.dtype, sink_size)
        return cls(kv_cache.max_batch_size, sliding_window_size, *sizes)

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
    """Replace every KVCache below the module, in place. Returns the module."""
    for name, child in module.named_children():
        if isinstance(child, RingKVCache):
            ring = CustomRingKVCache.from_custom_kv_cache(child, child.window_size, child.sink_size)
            setattr(module, name, ring)
            _attend_by_mask(module)
        elif isinstance(child, KVCache):
            cache = CustomKVCache(
                child.max_batch_size, child.max_context_length, child.n_heads, child.head_dim, child.k_cache.dtype
            )
            setattr(module, name, cache)
        else:
            replace_kv_cache_with_custom_kv_cache(child)
    return module


def set_kv_cache_dtype(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Keep keys and values of every CustomKVCache below the module in `dtype`, in place. Returns the module.

    `llama::update_cache` and `llama::custom_sdpa` convert between float32 and 16 bits.
    """
    for child in module.modules():
        if isinstance(child, CustomKVCache):
            child.k_cache, child.v_cache = child.k_cache.to(dtype), child.v_cache.to(dtype)
    return module


def _attend_by_mask(attention: nn.Module) -> None:
    """Let `llama::custom_sdpa` use the ring's mask: causal attention would take slots for positions."""
    sdpa = getattr(attention, "SDPA", None)
    if hasattr(sdpa, "use_attention_mask"):
        sdpa.use_attention_mask = True  # type: ignore[union-attr]


def replace_kv_cache_with_ring_kv_cache(module: nn.Module, layer_sizes: Sequence[int]) -> nn.Module:
    """Give layer i of a decoder a window of layer_sizes[i] positions, in place; 0 leaves its cache. Returns the module.

    A shorter list is a pattern that the layers repeat: [0, 0, 512] is a window in every third layer. Layers without
    attention stay.
    """
    layers = list(module.layers)  # type: ignore[arg-type]
    if not layer_sizes or len(layers) % len(layer_sizes):
        raise ValueError(
            f"layer_sizes: expected a pattern whose length divides the {len(layers)} layers, found {len(layer_sizes)}"
        )
    for index, layer in enumerate(layers):
        size = layer_sizes[index % len(layer_sizes)]
        if size and hasattr(layer, "attention"):
            replace_kv_cache_by_ring(layer.attention, size)
    return module


def replace_kv_cache_by_ring(attention: nn.Module, window_size: int, sink_size: int = 0) -> None:
    """Give an attention a window, in place. sink_size: first positions that every query attends to as well."""
    cache = attention.kv_cache
    if isinstance(cache, CustomKVCache):
        attention.kv_cache = CustomRingKVCache.from_custom_kv_cache(cache, window_size, sink_size)
    elif isinstance(cache, KVCache):
        attention.kv_cache = RingKVCache(
            cache.max_batch_size,
            window_size,
            cache.n_heads,
            cache.head_dim,
            cache.enable_dynamic_shape,
            cache.k_cache.dtype,
            sink_size,
        )
    else:
        raise TypeError(f"kv_cache: expected a KVCache, found {type(cache).__name__}")
    _attend_by_mask(attention)


class QuantizedCacheType(Enum):
    """Quantization of a QuantizedKVCache. Group-wise types are not supported."""

    AffineSymmetric = 0
    AffineAsymmetric = 1
    AffineSymmetricGroupWise = 2
    AffineAsymmetricGroupWise = 3


class QuantizedKVCache(nn.Module):
    """Keys and values as int8 with a scale and a zero point for each position and head, for `custom_quantized_sdpa`.

    The buffers are [batch, positions, heads, channels]; scales and zero points have one channel.
    cache_type: with AffineSymmetric, zero points are 0. return_float_values: `update` returns floats, dequantized
    except for the values that the call writes; otherwise it returns the int8 caches. use_custom_update_cache_op:
    ignored; `llama::update_cache` writes in either case.
    Raises ValueError for a group-wise cache type.
    """

    k_cache: torch.Tensor
    v_cache: torch.Tensor
    k_cache_scales: torch.Tensor
    v_cache_scales: torch.Tensor
    k_cache_zero_points: torch.Tensor
    v_cache_zero_points: torch.Tensor

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        cache_type: QuantizedCacheType = QuantizedCacheType.AffineSymmetric,
        use_custom_update_cache_op: bool = False,
        return_float_values: bool = True,
    ) -> None:
        super().__init__()
        if cache_type not in (QuantizedCacheType.AffineSymmetric, QuantizedCacheType.AffineAsymmetric):
            raise ValueError(f"cache_type: expected AffineSymmetric or AffineAsymmetric, found {cache_type}")
        self.is_symmetric = cache_type is QuantizedCacheType.AffineSymmetric
        self.use_custom_update_cache_op, self.return_float_values = use_custom_update_cache_op, return_float_values
        self.max_batch_size, self.max_context_length = max_batch_size, max_context_length
        self.n_heads, self.head_dim = n_heads, head_dim
        sizes = (max_batch_size, max_context_length, n_heads)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(*sizes, head_dim, dtype=torch.int8))
            self.register_buffer(f"{name}_scales", torch.ones(*sizes, 1))
            self.register_buffer(f"{name}_zero_points", torch.zeros(*sizes, 1, dtype=torch.int8))

    @classmethod
    def from_float(
        cls,
        kv_cache: CustomKVCache | KVCache,
        cache_type: QuantizedCacheType = QuantizedCacheType.AffineAsymmetric,
        use_custom_update_cache_op: bool = False,
    ) -> QuantizedKVCache:
        """Return an empty cache with the sizes of `kv_cache`. Raises TypeError for a ring."""
        if isinstance(kv_cache, SlidingWindow):
            raise TypeError(f"kv_cache: expected a cache of all positions, found {type(kv_cache).__name__}")
        sizes = (kv_cache.max_batch_size, kv_cache.max_context_length, kv_cache.n_heads, kv_cache.head_dim)
        return cls(*sizes, cache_type, use_custom_update_cache_op)

    def update(
        self,
        input_pos: torch.Tensor,
        k_val: torch.Tensor,
        v_val: torch.Tensor,
        indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Quantize and write values [batch, heads, positions, channels]; return the full caches in the same order.

        indices: slot of each position, [batch, positions], instead of the positions from input_pos[0] on.
        """
        start = _start_of(input_pos, indices, self.max_context_length)
        results = []
        for name, value in (("k_cache", k_val.transpose(1, 2)), ("v_cache", v_val.transpose(1, 2))):
            rows = _quantize_rows(value, self.is_symmetric)
            for suffix, part in zip(("", "_scales", "_zero_points"), rows, strict=True):
                _write(part, getattr(self, name + suffix), start, indices)
            result = getattr(self, name)
            if self.return_float_values:
                result = self._values(name).to(value.dtype)
                _write(value, result, start, indices)
            results.append(result.transpose(1, 2))
        return results[0], results[1]

    def _values(self, name: str) -> torch.Tensor:
        integers: torch.Tensor = getattr(self, name)
        zero_points: torch.Tensor = getattr(self, f"{name}_zero_points")
        scales: torch.Tensor = getattr(self, f"{name}_scales")
        return (integers.float() - zero_points.float()) * scales


def _write(values: torch.Tensor, cache: torch.Tensor, start: int, indices: torch.Tensor | None) -> None:
    """Write values [batch, positions, heads, channels] to the positions from `start` on, or to the slots `indices`."""
    if indices is None:
        torch.ops.llama.update_cache(values, cache, start)
    else:
        torch.ops.llama.update_cache_with_indices(values, cache, start, indices)


def _quantize_rows(values: torch.Tensor, is_symmetric: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return int8, scales and zero points of the last dimension, whose range is extended to 0."""
    values = values.float()
    if is_symmetric:
        scales = (values.abs().amax(-1, keepdim=True) / 127.0).clamp(min=torch.finfo(torch.float32).eps)
        integers = (values / scales).round().clamp(-128.0, 127.0)
        return integers.to(torch.int8), scales, torch.zeros_like(scales, dtype=torch.int8)
    low = values.amin(-1, keepdim=True).clamp(max=0.0)
    high = values.amax(-1, keepdim=True).clamp(min=0.0)
    scales = ((high - low) / 255.0).clamp(min=torch.finfo(torch.float32).eps)
    zero_points = (-128.0 - low / scales).round().clamp(-128.0, 127.0)
    integers = ((values / scales).round() + zero_points).clamp(-128.0, 127.0)
    return integers.to(torch.int8), scales, zero_points.to(torch.int8)


def replace_kv_cache_with_quantized_kv_cache(module: nn.Module) -> nn.Module:
    """Replace every KVCache and CustomKVCache below the module, in place. Returns the module."""
    for name, child in module.named_children():
        if isinstance(child, (KVCache, CustomKVCache)):
            setattr(module, name, QuantizedKVCache.from_float(child))
        else:
            replace_kv_cache_with_quantized_kv_cache(child)
    return module
