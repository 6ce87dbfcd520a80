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
LEVELS: dict[str, list[_Rule]] = {"narrow": _NARROW, "scaled": _SCALED, "shallow": _SHALLOW, "default": []}
_LAYER_LISTS = re.compile(r"(?:.*_)?(?:layer_types|layers_block_type|block_types|attention_types|mlp_layer_types)$")


def shrunk(config: dict[str, Any], level: str) -> dict[str, Any]:
    """`config`, as `to_dict` gives it, with small sizes; nested configurations too. Special tokens stay in the
    vocabulary, lists with an entry a layer keep one of each kind, and features are those of the last stage."""
    if level == "default":
        return config
    small: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict) and name.endswith(("config", "_cfg")):
            small[name] = shrunk(value, level)
        elif isinstance(value, bool) or not isinstance(value, int):
            small[name] = value
        else:
            small[name] = next((rule(value) for pattern, rule in LEVELS[level] if pattern.match(name)), value)
    for name in ("out_features", "out_indices"):
        small.pop(name, None)
    _shorten_layer_lists(small)
    if isinstance(words := small.get("vocab_size"), int):
        for number, name in enumerate(sorted(small)):
            if re.search(r"token_(?:id|index)$", name) and isinstance(value := small[name], int) and value >= words:
                small[name] = words - 1 - number % 32
    return small


def _shorten_layer_lists(config: dict[str, Any]) -> None:
    """Cut lists of the kinds of layers, and with them the number of layers, to one of each kind; two at least."""
    lists = [name for name, value in config.items() if _LAYER_LISTS.match(name) and isinstance(value, list)]
    layers = config.get("num_hidden_layers")
    if not lists or not isinstance(layers, int):
        return
    layers = max(layers, *(len(set(config[name])) for name in lists))
    config["num_hidden_layers"] = layers
    for name in lists:
        kinds = list(dict.fromkeys(config[name]))
        config[name] = (kinds + config[name])[:layers]
