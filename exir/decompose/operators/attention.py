# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Scaled dot-product attention as matmul, softmax, matmul, without PyTorch's "safe softmax" over all scores.

PyTorch's safe softmax returns zeros instead of NaN for a query without any visible key. Whether a query sees a key
depends only on the mask, so this decomposition decides it on the mask (one row for each query, often shared by all
heads), not on the scores. Without a mask, or with a causal one, every query sees a key.
Boolean masks become addends before they are added to the scores, so that backends without booleans can run the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch._ops import OpOverload

_sdpa = torch.ops.aten.scaled_dot_product_attention.default


def _repeat_heads(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Repeat each key/value head for its group of query heads: (B, KV, S, E) → (B, heads, S, E)."""
    groups = heads // tensor.shape[-3]
    if groups == 1:
        return tensor
    shape = list(tensor.shape)
    widened = tensor.unsqueeze(-3).expand(*shape[:-2], groups, *shape[-2:])
    return widened.reshape(*shape[:-3], heads, *shape[-2:])


def _causal_mask(queries: int, keys: int, like: torch.Tensor) -> torch.Tensor:
    rows = torch.arange(queries, device=like.device).unsqueeze(1)
    columns = torch.arange(keys, device=like.device).unsqueeze(0)
    return columns <= rows


def _to_add(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return 0 where allowed, -inf elsewhere."""
    zero = torch.zeros((), dtype=dtype, device=allowed.device)
    return torch.where(allowed, zero, torch.full_like(zero, float("-inf")))


def _drop(weights: torch.Tensor, probability: float) -> torch.Tensor:
    """Drop weights at random, as a model in training mode does, if the probability is above zero."""
    return torch.native_dropout(weights, probability, True)[0] if probability > 0.0 else weights


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return softmax(query · keyᵀ · scale + mask) · value. Sizes (…, L, E), (…, S, E), (…, S, Ev) → (…, L, Ev).

    attn_mask: bool (True: visible) or floating (an addend), broadcastable to (…, L, S).
    Follows the reference in the documentation of torch.nn.functional.scaled_dot_product_attention.
    """
    if enable_gqa:
        key, value = _repeat_heads(key, query.shape[-3]), _repeat_heads(value, query.shape[-3])
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = torch.matmul(query * factor, key.transpose(-2, -1))
    if is_causal:
        scores = scores + _to_add(_causal_mask(query.shape[-2], key.shape[-2], query), scores.dtype)
    if attn_mask is None:
        return torch.matmul(_drop(torch.softmax(scores, -1), dropout_p), value)
    visible = attn_mask if attn_mask.dtype == torch.bool else attn_mask != float("-inf")
    sees = visible.any(-1, keepdim=True)
    bias = _to_add(visible, scores.dtype) if attn_mask.dtype == torch.bool else attn_mask
    # softmax of a row of -inf would be NaN, and NaN * 0 is NaN.
    weights = _drop(torch.softmax(scores + torch.where(sees, bias, 0.0), -1), dropout_p)
    return torch.matmul(weights, value) * sees.to(value.dtype)


ATTENTION_DECOMPOSITION: dict[OpOverload, Callable[..., object]] = {_sdpa: attention}
