# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One generic rule that makes a transformers configuration small."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

VOCABULARY = 320
_Rule = tuple[re.Pattern[str], Callable[[int], int]]


def _rules(table: dict[str, Callable[[int], int]]) -> list[_Rule]:
    return [(re.compile(rf"(?:.*_)?(?:{names})$"), value) for names, value in table.items()]


def _at_most(limit: int) -> Callable[[int], int]:
    return lambda value: min(value, limit)


def _eighth(value: int) -> int:
    return max(1, value // 8)


# The last part of an attribute's name → its small value.
_SHALLOW = _rules(
    {
        "(?:num_|n_)?(?:hidden_|encoder_|decoder_|attention_)?layers?": _at_most(2),
        "n_layer|depth|num_blocks|num_hidden_groups": _at_most(2),
        "vocab_size": _at_most(VOCABULARY),
        "num_(?:local_|routed_)?experts|n_routed_experts|moe_num_experts": _at_most(4),
        "num_experts_per_(?:tok|token)|moe_k|moe_topk|top_k_experts": _at_most(2),
        "num_queries": _at_most(20),
    }
)
_NARROW = _SHALLOW + _rules(
    {
        "hidden_size|d_model|n_embd|embed_dim|hidden_dim|d_embed|model_dim": _at_most(64),
        "intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|mlp_dim|moe_intermediate_size": _at_most(128),
        "num_key_value_heads|num_kv_heads|n_head_kv": _at_most(2),
        "(?:num_|n_)(?:attention_)?heads?|n_head|num_heads|encoder_attention_heads|decoder_attention_heads": _at_most(
            4
        ),
        "head_dim|d_kv|attention_head_dim": _at_most(16),
        "projection_dim": _at_most(32),
    }
)
# Widths and heads by one factor, which keeps their quotients.
_SCALED = _SHALLOW + _rules(
    {
        "hidden_size|d_model|n_embd|embed_dim|hidden_dim|d_embed|model_dim": _eighth,
        "intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|mlp_dim|moe_intermediate_size": _eighth,
        "num_key_value_heads|num_kv_heads|n_head_kv": _eighth,
        "(?:num_|n_)(?:attention_)?heads?|n_head|(?:en|de)coder_attention_heads": _eighth,
    }
)
# Few heads of the width that they have, for models whose code fixes parts of it.
_HEADS_KEPT = _SHALLOW + _rules(
    {
        "hidden_size|d_model|n_embd|embed_dim|hidden_dim|d_embed|model_dim|d_latents": _at_most(256),
        "intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|mlp_dim|moe_intermediate_size": _at_most(256),
        "num_key_value_heads|num_kv_heads|n_head_kv": _at_most(2),
        "(?:num_|n_)(?:attention_)?heads?|n_head|(?:en|de)coder_attention_heads": _at_most(4),
    }
)
LEVELS: dict[str, list[_Rule]] = {
    "narrow": _NARROW,
    "scaled": _SCALED,
    "whole heads": _HEADS_KEPT,
    "shallow": _SHALLOW,
    "default": [],
}
# Lists with an entry a stage: how many blocks it has.
_DEPTHS = re.compile(r"(?:.*_)?(?:depths?|num_blocks|stage_num_blocks|layer_depths)$")
_MAX_BLOCKS = 2
# Fields without a default that a model needs: the value, or the field that it equals.
_NEEDED: dict[str, int | float | str] = {
    "prediction_length": 8,
    "vocab_size": VOCABULARY,
    "num_key_value_heads": "num_attention_heads",
    "rope_theta": 10000.0,
}


def shrunk(config: dict[str, Any], level: str) -> dict[str, Any]:
    """`config`, as `to_dict` gives it, with small sizes; nested configurations too. Special tokens stay in the
    vocabulary, lists with an entry a layer keep one of each kind, and features are those of the last stage."""
    if level == "default":
        return config
    small = {name: _small_value(name, value, level) for name, value in config.items()}
    for name in ("out_features", "out_indices"):
        small.pop(name, None)
    _shorten_layer_lists(small, config)
    _fit_rotary_sections(small)
    for name, value in _NEEDED.items():
        if name in small and small[name] is None:
            small[name] = small.get(value) if isinstance(value, str) else value
    if isinstance(words := small.get("vocab_size"), int):
        for number, name in enumerate(sorted(small)):
            if re.search(r"token_(?:id|index)$", name) and isinstance(value := small[name], int) and value >= words:
                small[name] = words - 1 - number % 32
    return small


def _small_value(name: str, value: Any, level: str) -> Any:
    if isinstance(value, dict) and (name.endswith(("config", "_cfg")) or "model_type" in value):
        return shrunk(value, level)
    if isinstance(value, (list, tuple)) and _DEPTHS.match(name) and all(type(one) is int for one in value):
        return [min(one, _MAX_BLOCKS) for one in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return next((rule(value) for pattern, rule in LEVELS[level] if pattern.match(name)), value)


def _shorten_layer_lists(small: dict[str, Any], config: dict[str, Any]) -> None:
    """Cut lists with an entry a layer, and with them the number of layers, to one of each kind of layer; two at least.
    Entries of dicts by layer go with their layers."""
    layers, former = small.get("num_hidden_layers"), config.get("num_hidden_layers")
    if not isinstance(layers, int) or not isinstance(former, int) or former <= layers:
        return
    lists = {
        name: value
        for name, value in small.items()
        if isinstance(value, list) and len(value) == former and not _DEPTHS.match(name)
    }
    kinds = {
        name: list(dict.fromkeys(value)) for name, value in lists.items() if all(type(one) is str for one in value)
    }
    layers = max(layers, *map(len, kinds.values()), 0)
    small["num_hidden_layers"] = layers
    for name, value in lists.items():
        small[name] = (kinds.get(name, []) + value)[:layers]
    for name, value in small.items():
        if isinstance(value, dict) and value and all(str(key).isdigit() for key in value):
            small[name] = {key: one for key, one in value.items() if int(key) < layers}


def _fit_rotary_sections(small: dict[str, Any]) -> None:
    """Give the sections of a rotary embedding's frequencies (time, height, width) the sum that the width of a head
    has."""
    rotary = small.get("rope_parameters") or small.get("rope_scaling")
    if not isinstance(rotary, dict) or not isinstance(sections := rotary.get("mrope_section"), (list, tuple)):
        return
    width = small.get("head_dim") or small["hidden_size"] // small["num_attention_heads"]
    share = rotary.get("partial_rotary_factor") or small.get("partial_rotary_factor") or 1.0
    wanted = int(width * share) // 2
    fitted = [one * wanted // sum(sections) for one in sections]
    fitted[0] += wanted - sum(fitted)
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(small.get(name), dict):
            small[name] = small[name] | {"mrope_section": fitted}
