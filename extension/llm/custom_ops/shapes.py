# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Shape functions of the operators: torch.export calls them. They check dtypes and ranks, but not positions."""

from __future__ import annotations

from typing import Any

import torch

_REDUCED = (torch.bfloat16, torch.float16)
_FLOATS = (torch.float32, *_REDUCED)


class OperandError(ValueError, RuntimeError):
    """An operand that does not fit. PyTorch's own operators raise RuntimeError."""


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise OperandError(message)


def _check_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None
) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _check(tensor.dim() == 4, f"{name}: expected 4 dimensions, found {tensor.dim()}")
    if attn_mask is not None:
        _check(attn_mask.dim() == 2, f"attn_mask: expected 2 dimensions, found {attn_mask.dim()}")
        floats = attn_mask.dtype in _FLOATS
        _check(floats, f"attn_mask: expected numbers that are added to the scores, found {attn_mask.dtype}")


def check_reduced(name: str, found: torch.Tensor, of: str, given: torch.Tensor) -> None:
    """Raise OperandError unless `found` has the dtype of `given`, or 16 bits where `given` is float32."""
    fits = found.dtype == given.dtype or (given.dtype is torch.float32 and found.dtype in _REDUCED)
    others = ", float16 or bfloat16" if given.dtype is torch.float32 else ""
    _check(fits, f"{name}: expected {given.dtype}, as {of}{others}, found {found.dtype}")


def check_floats(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise OperandError unless the operands of attention have dtypes that fit each other."""
    _check(query.dtype in _FLOATS, f"query: expected float32, float16 or bfloat16, found {query.dtype}")
    check_reduced("key", key, "query", query)
    _check(value.dtype == key.dtype, f"value: expected {key.dtype}, as key, found {value.dtype}")


def custom_sdpa(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Return the shape of `llama::custom_sdpa`, after checking ranks and dtypes. Raises OperandError.

    Keys and values have the dtype of the query, or float16 or bfloat16 for a query of float32.
    """
    _check_attention(query, key_cache, value_cache, attn_mask)
    check_floats(query, key_cache, value_cache)
    return torch.empty_like(query, memory_format=torch.contiguous_format)


def sdpa_with_kv_cache(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    start_pos: int,
    seq_len: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """Return the shape of `llama::sdpa_with_kv_cache`, after checking ranks and dtypes. Raises OperandError."""
    _check_attention(query, key, value, attn_mask)
    _check_attention(query, key_cache, value_cache, None)
    check_floats(query, key_cache, value_cache)
    for name, written, cache in (("key_cache", key, key_cache), ("value_cache", value, value_cache)):
        check_reduced(name, cache, name.removesuffix("_cache"), written)
    return torch.empty_like(query, memory_format=torch.contiguous_format)


def custom_quantized_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    *rest: Any,
    **named: Any,
) -> torch.Tensor:
    """Return the shape of `llama::custom_quantized_sdpa`, float32, after checking ranks. Raises OperandError."""
    _check_attention(query, key, value, attn_mask)
    return query.new_empty(query.shape, dtype=torch.float32)


def _check_cache(value: torch.Tensor, cache: torch.Tensor) -> None:
    _check(value.dim() == 4, f"value: expected 4 dimensions, found {value.dim()}")
    _check(cache.dim() == 4, f"cache: expected 4 dimensions, found {cache.dim()}")
    check_reduced("cache", cache, "value", value)
    for dim in (2, 3):
        fits = value.shape[dim] == cache.shape[dim]
        _check(fits, f"value: expected size {cache.shape[dim]} of dimension {dim}, as cache, found {value.shape[dim]}")


def update_cache(value: torch.Tensor, cache: torch.Tensor, start_pos: int) -> torch.Tensor:
    """Return the result of `llama::update_cache`: one element. Raises OperandError."""
    _check_cache(value, cache)
    return value.new_empty(1)


def update_cache_with_indices(
    value: torch.Tensor, cache: torch.Tensor, start_pos: int, indices: torch.Tensor
) -> torch.Tensor:
    """Return the result of `llama::update_cache_with_indices`: one element. Raises OperandError."""
    _check_cache(value, cache)
    _check(indices.dim() == 2, f"indices: expected 2 dimensions, found {indices.dim()}")
    return value.new_empty(1)


def fast_hadamard_transform(mat: torch.Tensor) -> torch.Tensor:
    """Return the shape of `llama::fast_hadamard_transform`."""
    return torch.empty_like(mat, memory_format=torch.contiguous_format)


def gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the shapes of `llama::gated_delta_rule`, after checking dtypes and sizes. Raises OperandError."""
    ranks = {"query": (4,), "key": (4,), "value": (4,), "decay": (3, 4), "beta": (3,), "initial_state": (4,)}
    tensors = (query, key, value, decay, beta, initial_state)
    for (name, allowed), tensor in zip(ranks.items(), tensors, strict=True):
        expected = " or ".join(map(str, allowed))
        _check(tensor.dim() in allowed, f"{name}: expected {expected} dimensions, found {tensor.dim()}")
        _check(tensor.dtype is torch.float32, f"{name}: expected float32, found {tensor.dtype}")
    sizes = {
        "key": (key, query.shape),
        "value": (value, (*query.shape[:3], value.shape[3])),
        "decay": (decay, query.shape[: decay.dim()]),
        "beta": (beta, query.shape[:3]),
        "initial_state": (initial_state, (*query.shape[:2], query.shape[3], value.shape[3])),
    }
    for name, (tensor, shape) in sizes.items():
        _check(tuple(tensor.shape) == tuple(shape), f"{name}: expected {list(shape)}, found {list(tensor.shape)}")
    contiguous = torch.contiguous_format
    return torch.empty_like(value, memory_format=contiguous), torch.empty_like(initial_state, memory_format=contiguous)


def channelwise_gated_delta_rule(*operands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the shapes of `llama::channelwise_gated_delta_rule`, as gated_delta_rule. Raises OperandError."""
    decay = operands[3]
    _check(decay.dim() == 4, f"decay: expected 4 dimensions, found {decay.dim()}")
    return gated_delta_rule(*operands)


def alias(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the shapes of `executorch::alias`."""
    return torch.empty_like(x), torch.empty_like(y)


def update_cross_attn_cache(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    """Return the shape of `executorch::update_cross_attn_cache`: the cache's."""
    return torch.empty_like(cache)
