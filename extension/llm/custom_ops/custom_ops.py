# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators `llama::…` and `executorch::…` of PyTorch, defined by importing this module.

The runtime's kernels are beside this file. The functions here define the results in terms of torch's operators, for
eager mode. Keys, values and caches are [batch, positions, heads, channels]; a query's heads are a multiple of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from executorch.extension.llm.custom_ops import shapes

__all__ = ["custom_ops_lib", "custom_sdpa"]

_YAML = Path(__file__).with_name("functions.yaml")
_OUT_SCHEMA = re.compile(r"^- func: (\w+)::((\w+)\.out\((.*), \*, (.*)\) -> .*)$", re.MULTILINE)
_WRITTEN = re.compile(r"Tensor\(\w!\) (\w+)")

custom_ops_lib = torch.library.Library("llama", "FRAGMENT")
_executorch_lib = torch.library.Library("executorch", "FRAGMENT")
_LIBRARIES = {"llama": custom_ops_lib, "executorch": _executorch_lib}

custom_sdpa = shapes.custom_sdpa
"""The shape function of `llama::custom_sdpa`."""


def _check_positions(start_pos: int, count: int, capacity: int) -> None:
    if start_pos < 0 or start_pos + count > capacity:
        raise shapes.OperandError(
            f"start_pos: {start_pos} and {count} positions do not fit a cache of {capacity} positions"
        )


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None,
    is_causal: bool,
    scale: float | None,
    is_seq_at_dim_2: bool = False,
) -> torch.Tensor:
    """Attend to the keys of written positions. Tensors are [batch, positions, heads, channels] and computed in the
    dtype of the query, or, with is_seq_at_dim_2, [batch, heads, positions, channels]."""
    if not is_seq_at_dim_2:
        batch, dtype = query.shape[0], query.dtype
        query, key, value = (part[:batch].transpose(1, 2).to(dtype) for part in (query, key, value))
    count, capacity = query.shape[2], key.shape[2]
    _check_positions(start_pos, count, capacity)
    if attn_mask is not None and is_causal:
        raise shapes.OperandError("attn_mask and is_causal exclude each other")
    if attn_mask is not None and tuple(attn_mask.shape) != (count, capacity):
        raise shapes.OperandError(f"attn_mask: expected {[count, capacity]}, found {list(attn_mask.shape)}")
    if attn_mask is None:
        key, value = key[:, :, : start_pos + count], value[:, :, : start_pos + count]
    if is_causal:
        attn_mask = torch.ones(count, start_pos + count, dtype=torch.bool, device=query.device).tril(start_pos)
    elif attn_mask is not None:
        attn_mask = attn_mask.to(query.dtype)
    result = F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, scale=scale, enable_gqa=True)
    return result if is_seq_at_dim_2 else result.transpose(1, 2).contiguous()


def _custom_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    shapes.check_floats(query, key, value)
    return _attend(query, key, value, start_pos, attn_mask, is_causal, scale)


def _write(value: torch.Tensor, cache: torch.Tensor, start_pos: int) -> None:
    shapes.check_reduced("cache", cache, "value", value)
    count, capacity = value.shape[1], cache.shape[1]
    _check_positions(start_pos, count, capacity)
    cache[: value.shape[0], start_pos : start_pos + count] = value


def _update_cache(value: torch.Tensor, cache: torch.Tensor, start_pos: int) -> torch.Tensor:
    _write(value, cache, start_pos)
    return value.new_zeros(1)


def _update_cache_with_indices(
    value: torch.Tensor, cache: torch.Tensor, start_pos: int, indices: torch.Tensor
) -> torch.Tensor:
    shapes.check_reduced("cache", cache, "value", value)
    if indices.shape != value.shape[:2]:
        raise shapes.OperandError(f"indices: expected {list(value.shape[:2])}, found {list(indices.shape)}")
    if bool(((indices < -1) | (indices >= cache.shape[1])).any()):
        raise shapes.OperandError(f"indices: expected -1 or positions below {cache.shape[1]}")
    for batch, places in enumerate(indices):
        taken = places >= 0
        # One position at a time, so that the last of equal positions wins.
        for position, written in zip(places[taken].tolist(), value[batch, taken], strict=True):
            cache[batch, position] = written
    return value.new_zeros(1)


def _sdpa_with_kv_cache(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    start_pos: int,
    seq_len: int,
    *rest: Any,
) -> torch.Tensor:
    if seq_len != query.shape[1]:
        raise shapes.OperandError(f"seq_len: expected the {query.shape[1]} positions of query, found {seq_len}")
    _write(key, key_cache, start_pos)
    _write(value, value_cache, start_pos)
    return _custom_sdpa(query, key_cache, value_cache, start_pos, *rest)


def _dequantized(
    name: str, data: torch.Tensor, zero_points: torch.Tensor | None, scales: torch.Tensor | None
) -> torch.Tensor:
    if data.dtype is not torch.int8:
        return data
    if zero_points is None or scales is None:
        raise shapes.OperandError(f"{name}: int8 needs scales and zero points")
    return (data.float() - zero_points.float()) * scales


def _custom_quantized_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    start_pos: int,
    attn_mask: torch.Tensor | None = None,
    drpout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    q_zero_points: torch.Tensor | None = None,
    q_scales: torch.Tensor | None = None,
    k_zero_points: torch.Tensor | None = None,
    k_scales: torch.Tensor | None = None,
    v_zero_points: torch.Tensor | None = None,
    v_scales: torch.Tensor | None = None,
    is_seq_at_dim_2: bool = False,
) -> torch.Tensor:
    dequantized = (
        _dequantized("query", query, q_zero_points, q_scales),
        _dequantized("key", key, k_zero_points, k_scales),
        _dequantized("value", value, v_zero_points, v_scales),
    )
    return _attend(*dequantized, start_pos, attn_mask, is_causal, scale, is_seq_at_dim_2)


def _fast_hadamard_transform(mat: torch.Tensor) -> torch.Tensor:
    length = mat.shape[-1] if mat.dim() else 0
    if length == 0 or length & (length - 1):
        raise shapes.OperandError(f"mat: expected rows whose length is a power of two, found {list(mat.shape)}")
    rows = mat.reshape(-1, length).float()
    half = 1
    while half < length:
        pairs = rows.reshape(-1, length // (2 * half), 2, half)
        rows = torch.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), 2).reshape(-1, length)
        half *= 2
    result: torch.Tensor = (rows * length**-0.5).to(mat.dtype).reshape(mat.shape)
    return result


def _gated_delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    decay: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Linear attention of [batch, heads, positions, channels] with a state [batch, heads, channels of key, channels of
    value]. decay: factors of the state, for each position or for each of its channels of key."""
    shapes.gated_delta_rule(query, key, value, decay, beta, initial_state)
    factors = decay if decay.dim() == 4 else decay.unsqueeze(-1)
    state, out = initial_state.clone(), torch.empty_like(value, memory_format=torch.contiguous_format)
    for i in range(query.shape[2]):
        state = state * factors[:, :, i].unsqueeze(-1)
        column = key[:, :, i].unsqueeze(-1)
        delta = (value[:, :, i] - (state * column).sum(-2)) * beta[:, :, i].unsqueeze(-1)
        state = state + column * delta.unsqueeze(-2)
        out[:, :, i] = (state * query[:, :, i].unsqueeze(-1)).sum(-2)
    return out, state


def _channelwise_gated_delta_rule(*operands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    shapes.channelwise_gated_delta_rule(*operands)
    return _gated_delta_rule(*operands)


def _alias(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.clone(), y.clone()


def _update_cross_attn_cache(value: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    return torch.cat((value, cache[:, :, value.shape[2] :]), dim=2)


_IMPLEMENTATIONS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "alias": ("(Tensor, Tensor)", _alias, shapes.alias),
    "update_cross_attn_cache": ("Tensor", _update_cross_attn_cache, shapes.update_cross_attn_cache),
    "channelwise_gated_delta_rule": (
        "(Tensor, Tensor)",
        _channelwise_gated_delta_rule,
        shapes.channelwise_gated_delta_rule,
    ),
    "custom_quantized_sdpa": ("Tensor", _custom_quantized_sdpa, shapes.custom_quantized_sdpa),
    "custom_sdpa": ("Tensor", _custom_sdpa, custom_sdpa),
    "fast_hadamard_transform": ("Tensor", _fast_hadamard_transform, shapes.fast_hadamard_transform),
    "gated_delta_rule": ("(Tensor, Tensor)", _gated_delta_rule, shapes.gated_delta_rule),
    "sdpa_with_kv_cache": ("Tensor", _sdpa_with_kv_cache, shapes.sdpa_with_kv_cache),
    "update_cache": ("Tensor", _update_cache, shapes.update_cache),
    "update_cache_with_indices": ("Tensor", _update_cache_with_indices, shapes.update_cache_with_indices),
}


def _write_out(functional: Callable[..., Any], outputs: list[str]) -> Callable[..., Any]:
    """Return an out variant for eager mode, which copies the functional variant's results."""

    def write(*args: Any, **kwargs: Any) -> Any:
        targets = [kwargs.pop(name) for name in outputs]
        results = functional(*args, **kwargs)
        for target, result in zip(targets, results if len(targets) > 1 else (results,), strict=True):
            target.resize_(result.shape).copy_(result)
        return tuple(targets) if len(targets) > 1 else targets[0]

    return write


def _define() -> None:
    for namespace, schema, name, inputs, outputs in _OUT_SCHEMA.findall(_YAML.read_text()):
        library = _LIBRARIES[namespace]
        result, compute, shape = _IMPLEMENTATIONS[name]
        library.define(f"{name}({inputs}) -> {result}")
        library.impl(name, compute, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{namespace}::{name}", shape, lib=library)
        library.define(schema)
        library.impl(f"{name}.out", _write_out(compute, _WRITTEN.findall(outputs)), "CompositeExplicitAutograd")


_define()
