# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Attention sinks: a decoder attends to its first positions and a window of the last ones."""

from __future__ import annotations

from torch import nn

from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import replace_kv_cache_by_ring


def enable_attention_sink(module: nn.Module, params: ModelArgs, sink_size: int, window_size: int) -> nn.Module:
    """Replace the cache of every layer of a decoder, in place. Returns the module.

    params: sizes of the decoder.
    The first `sink_size` positions, or none with 0, stay in the caches; further ones share 2 * `window_size` slots.
    ValueError: a negative sink, a window without positions, or a model without a cache.
    """
    if not params.use_kv_cache:
        raise ValueError("params.use_kv_cache: expected True, because a sink is a part of the cache")
    if sink_size < 0 or window_size < 1:
        raise ValueError(f"expected sink_size >= 0 and window_size >= 1, found {sink_size} and {window_size}")
    for layer in module.layers:  # type: ignore[union-attr]
        if hasattr(layer, "attention"):
            replace_kv_cache_by_ring(layer.attention, window_size, sink_size)
    return module
