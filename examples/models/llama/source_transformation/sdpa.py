# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Attention by `llama::custom_sdpa`, which reads the keys that exist and needs no mask."""

from __future__ import annotations

import torch
from torch import nn

from executorch.examples.models.llama.attention import SDPA
from executorch.examples.models.llama.kv_cache import SlidingWindow
from executorch.examples.models.llama.source_transformation.custom_kv_cache import QuantizedKVCache
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators


class _PositionsFirst(nn.Module):
    """Attention by an operator that takes and returns [batch, positions, heads, channels].

    It is causal from the first input position on. With `use_attention_mask`, a mask of all cache positions hides keys.

    dim: channels of all query heads together, for callers; the operators take sizes from the queries.
    scale: factor of the products of queries and keys, None for the inverse root of their channels.
    """

    def __init__(self, dim: int, use_attention_mask: bool, scale: float | None) -> None:
        super().__init__()
        self.dim = dim
        self.use_attention_mask = use_attention_mask
        self.scale = scale

    def visible_keys(
        self, input_pos: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[int | float, torch.Tensor | None, float, bool]:
        """The operators' first position, mask, dropout and whether they are causal.

        Raises ValueError if a mask is to be used and there is none.
        """
        if not self.use_attention_mask:
            return input_pos[0].item(), None, 0.0, True
        if mask is None:
            raise ValueError(
                f"{type(self).__name__} was made with use_attention_mask=True and called without a mask: "
                "give it a mask of all cache positions, or make it with use_attention_mask=False"
            )
        # The mask says which keys exist: in a ring, positions grow beyond the slots.
        return 0, mask, 0.0, False

    def forward(
        self,
        input_pos: torch.Tensor,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        bsz: int,
        seqlen: int,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """q, k, v [batch, heads, positions, channels] → [batch, positions, heads * channels]."""
        attended = self.attend(input_pos, q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
        return attended.reshape(bsz, seqlen, -1).to(q.dtype)

    def attend(
        self, input_pos: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """q, k, v and the result [batch, positions, heads, channels]."""
        raise NotImplementedError


class SDPACustom(_PositionsFirst):
    """Attention by `llama::custom_sdpa` over a cache of floats."""

    def __init__(self, dim: int, use_attention_mask: bool = False, *, scale: float | None = None) -> None:
        super().__init__(dim, use_attention_mask, scale)

    def attend(
        self, input_pos: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Attend by `llama::custom_sdpa`."""
        result: torch.Tensor = torch.ops.llama.custom_sdpa(q, k, v, *self.visible_keys(input_pos, mask), self.scale)
        return result


class QuantizedSDPA(_PositionsFirst):
    """Attention of float queries over a QuantizedKVCache."""

    def __init__(
        self, dim: int, kv_cache: QuantizedKVCache, use_attention_mask: bool = False, *, scale: float | None = None
    ) -> None:
        super().__init__(dim, use_attention_mask, scale)
        # A tuple, so that the cache stays a submodule of only the attention.
        self._caches = (kv_cache,)

    def forward(
        self,
        input_pos: torch.Tensor,
        q: torch.Tensor,
        k_quantized: torch.Tensor,
        v_quantized: torch.Tensor,
        bsz: int,
        seqlen: int,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return [batch, seqlen, dim] of float queries and quantized keys and values."""
        return super().forward(input_pos, q, k_quantized, v_quantized, bsz, seqlen, mask)

    def attend(
        self, input_pos: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """Attend by `llama::custom_quantized_sdpa`: q is float, k and v are int8."""
        cache = self._caches[0]
        result: torch.Tensor = torch.ops.llama.custom_quantized_sdpa(
            q,
            k,
            v,
            *self.visible_keys(input_pos, mask),
            scale=self.scale,
            k_zero_points=cache.k_cache_zero_points,
            k_scales=cache.k_cache_scales,
            v_zero_points=cache.v_cache_zero_points,
            v_scales=cache.v_cache_scales,
        )
        return result


def replace_sdpa_with_quantized_sdpa(module: nn.Module) -> nn.Module:
    """Give every attention with a QuantizedKVCache below the module a QuantizedSDPA, in place. Returns the module."""
    for child in module.modules():
        cache, attention = getattr(child, "kv_cache", None), getattr(child, "SDPA", None)
        if isinstance(cache, QuantizedKVCache) and isinstance(attention, SDPA | SDPACustom):
            cache.return_float_values = False
            child.SDPA = QuantizedSDPA(attention.dim, cache, scale=attention.scale)
    _drop_mask(module)
    return module


def _drop_mask(module: nn.Module) -> None:
    drop_mask = getattr(module, "drop_mask", None)
    if callable(drop_mask):
        drop_mask()


def replace_sdpa_with_custom_op(module: nn.Module, use_attention_mask: bool = False) -> nn.Module:
    """Replace every SDPA below the module, in place; return the module.

    use_attention_mask: hide keys by the module's mask. Otherwise attention is causal, and the module drops its mask.
    """
    for name, child in module.named_children():
        if isinstance(child, SDPA):
            # Slots of a ring are out of position order, so its mask says which keys exist.
            is_ring = isinstance(getattr(module, "kv_cache", None), SlidingWindow)
            setattr(module, name, SDPACustom(child.dim, is_ring or use_attention_mask, scale=child.scale))
        else:
            replace_sdpa_with_custom_op(child, use_attention_mask)
    if not use_attention_mask:
        _drop_mask(module)
    return module
