# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A decoder's caches of keys and values: of all positions so far, or of a window of the last ones."""

from __future__ import annotations

from enum import Enum

import torch
from torch import nn


class Caches(nn.Module):
    """Zeroed buffers of keys and values, and their sizes."""

    k_cache: torch.Tensor
    v_cache: torch.Tensor
    positions_first = False
    """The buffers are [batch, positions, heads, channels], otherwise [batch, heads, positions, channels]."""

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
        inner = (max_context_length, n_heads) if self.positions_first else (n_heads, max_context_length)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(name, torch.zeros(max_batch_size, *inner, head_dim, dtype=dtype))


class KVCache(Caches):
    """Keys and values of all positions so far, [batch, heads, positions, channels]."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        enable_dynamic_shape: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(max_batch_size, max_context_length, n_heads, head_dim, dtype)
        self.enable_dynamic_shape = enable_dynamic_shape

    def update(
        self, input_pos: torch.Tensor, k_val: torch.Tensor, v_val: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write values [batch, heads, positions, channels] from position input_pos[0] on; return the full caches."""
        places = torch.arange(k_val.shape[2], device=k_val.device) + input_pos[0]
        self.k_cache[:, :, places] = k_val
        self.v_cache[:, :, places] = v_val
        return self.k_cache, self.v_cache


class CacheUpdateStrategy(Enum):
    """The choice of the slot of a position in a cache: a ring buffer overwrites the oldest."""

    RING_BUFFER = "RingBuffer"
    INVALID = "Invalid"


class CachePositionsManager(nn.Module):
    """Positions in the slots of a ring of `max_context_length` slots; -1 marks an empty slot.

    The first `sink_size` positions keep their slots; the others share the slots after them.
    """

    cache_positions: torch.Tensor

    def __init__(
        self,
        max_context_length: int,
        cache_update_strategy: CacheUpdateStrategy = CacheUpdateStrategy.RING_BUFFER,
        *,
        sink_size: int = 0,
    ) -> None:
        super().__init__()
        if cache_update_strategy is not CacheUpdateStrategy.RING_BUFFER:
            raise ValueError(f"cache_update_strategy: expected RING_BUFFER, found {cache_update_strategy}")
        self.max_context_length, self.sink_size = max_context_length, sink_size
        self.register_buffer("cache_positions", torch.zeros(max_context_length, dtype=torch.long))

    def calculate_positions_and_update_indices(self, input_pos: torch.Tensor, seq_len: int) -> torch.Tensor:
        """Record that positions input_pos[0] to input_pos[0] + seq_len - 1 are written; return their slots.

        Slots with index input_pos[0] or more become empty before the write, so that a call at position 0 starts anew.
        """
        start = input_pos[0].item()
        torch._check(start >= 0)
        positions = torch.arange(seq_len, dtype=torch.long) + start
        slots = positions % self.max_context_length
        if self.sink_size:
            behind = (positions - self.sink_size) % (self.max_context_length - self.sink_size)
            slots = torch.where(positions < self.sink_size, positions, self.sink_size + behind)
        written = torch.arange(self.max_context_length, dtype=torch.long) < start
        self.cache_positions.copy_(torch.where(written, self.cache_positions, -1))
        self.cache_positions.index_copy_(0, slots, positions)
        return slots

    def window_mask(self, window_size: int, start_pos: int, seq_len: int) -> torch.Tensor:
        """Return 0 where a query may attend to a slot, else -inf: [seq_len, slots].

        The query at position start_pos + i attends to the window_size positions that end with its own, and to the
        sink.
        """
        queries = start_pos + torch.arange(seq_len, dtype=torch.long).view(-1, 1)
        distance = queries - self.cache_positions
        near = distance < window_size
        if self.sink_size:
            near = near | (self.cache_positions < self.sink_size)
        seen = (self.cache_positions >= 0) & (distance >= 0) & near
        return torch.where(seen, 0.0, float("-inf"))


class SlidingWindow(nn.Module):
    """The common part of caches of a sliding window, for any layout.

    They hold twice the window's positions, and those of the sink: an update of a whole window must not overwrite the
    window that its first query attends to.
    """

    is_ring_buffer = True
    max_context_length: int

    def begin_window(self, window_size: int, sink_size: int = 0) -> None:
        """Create the record of the slots' positions. window_size: positions that a query attends to, besides the
        sink."""
        self.window_size, self.sink_size = window_size, sink_size
        self.cache_positions_manager = CachePositionsManager(self.max_context_length, sink_size=sink_size)

    def create_causal_mask_for_ring_buffer(self, start_pos: int, seq_len: int) -> torch.Tensor:
        """Return the mask [seq_len, slots] of queries from position start_pos on, after their update."""
        return self.cache_positions_manager.window_mask(self.window_size, start_pos, seq_len)

    def slots_of(self, input_pos: torch.Tensor, seq_len: int) -> torch.Tensor:
        """Return the slots of positions that are being written. ValueError: more positions than slots."""
        slots = self.max_context_length - self.sink_size
        if seq_len > slots:
            raise ValueError(f"k_val: expected at most {slots} positions, which the ring holds; found {seq_len}")
        return self.cache_positions_manager.calculate_positions_and_update_indices(input_pos, seq_len)


class RingKVCache(SlidingWindow, KVCache):
    """Keys and values of a sliding window in `sink_size` + 2 * `max_context_length` slots, in the layout of KVCache."""

    def __init__(
        self,
        max_batch_size: int,
        max_context_length: int,
        n_heads: int,
        head_dim: int,
        enable_dynamic_shape: bool = False,
        dtype: torch.dtype = torch.float32,
        sink_size: int = 0,
    ) -> None:
        """Create an empty cache.

        max_context_length: positions that a query attends to, besides the first `sink_size`.
        """
        slots = sink_size + 2 * max_context_length
        super().__init__(max_batch_size, slots, n_heads, head_dim, enable_dynamic_shape, dtype)
        self.begin_window(max_context_length, sink_size)

    def update(
        self, input_pos: torch.Tensor, k_val: torch.Tensor, v_val: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write values [batch, heads, positions, channels] to the slots of their positions; return the caches."""
        slots = self.slots_of(input_pos, k_val.shape[2])
        self.k_cache.index_copy_(2, slots, k_val)
        self.v_cache.index_copy_(2, slots, v_val)
        return self.k_cache, self.v_cache
