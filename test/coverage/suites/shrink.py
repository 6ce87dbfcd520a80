# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One generic rule that makes a transformers configuration small."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..rule import Rule

_Size = tuple[re.Pattern[str], Callable[[int], int]]
_LAYERS = "(?:num_|n_)?(?:hidden_|encoder_|decoder_|attention_)?layers?|n_layer|depth|num_blocks|num_hidden_groups"
_WIDTH = "hidden_size|d_model|n_embd|embed_dim|hidden_dim|d_embed|model_dim"
_INNER_WIDTH = "intermediate_size|ffn_dim|d_ff|n_inner|ffn_hidden_size|mlp_dim|moe_intermediate_size"
_HEADS = "(?:num_|n_)(?:attention_)?heads?|n_head|(?:en|de)coder_attention_heads"
_KEY_VALUE_HEADS = "num_key_value_heads|num_kv_heads|n_head_kv"
_SMALLEST_PATCH = 8  # pixels; models with smaller patches merge them several times


@dataclass(frozen=True)
class Level:
    """Changes of a configuration. sizes: the last part of an attribute's name → its small value. patches: rows and
    columns of an image; None keeps the size that the configuration states."""

    name: str
    rule: Rule
    sizes: tuple[_Size, ...]
    patches: tuple[int, int] | None = None


def _sizes(table: dict[str, Callable[[int], int]]) -> tuple[_Size, ...]:
    return tuple((re.compile(rf"(?:.*_)?(?:{names})$"), value) for names, value in table.items())


def _at_most(limit: int) -> Callable[[int], int]:
    return lambda value: min(value, limit)


def levels(rule: Rule) -> list[Level]:
    """The levels to try in turn, from the smallest model to the unchanged configuration."""

    def part(value: int) -> int:
        return max(1, value // rule.divisor)

    shallow = _sizes(
        {
            _LAYERS: _at_most(rule.layers),
            "vocab_size": _at_most(rule.vocabulary),
            "num_(?:local_|routed_)?experts|n_routed_experts|moe_num_experts": _at_most(4),
            "num_experts_per_(?:tok|token)|moe_k|moe_topk|top_k_experts": _at_most(2),
            "num_queries": _at_most(20),
        }
    )
    narrow = shallow + _sizes(
        {
            _WIDTH: _at_most(rule.width),
            _INNER_WIDTH: _at_most(rule.inner_width),
            _KEY_VALUE_HEADS: _at_most(rule.key_value_heads),
            _HEADS: _at_most(rule.heads),
            "head_dim|d_kv|attention_head_dim": _at_most(rule.head_width),
            "projection_dim": _at_most(rule.width // 2),
        }
    )
    # Widths and heads by one factor, which keeps their quotients.
    scaled = shallow + _sizes({_WIDTH: part, _INNER_WIDTH: part, _KEY_VALUE_HEADS: part, _HEADS: part})
    # Few heads of the width that they have, for models whose code fixes parts of it.
    whole_heads = shallow + _sizes(
        {
            f"{_WIDTH}|d_latents": _at_most(256),
            _INNER_WIDTH: _at_most(256),
            _KEY_VALUE_HEADS: _at_most(2),
            _HEADS: _at_most(4),
        }
    )
    other_images = []
    if rule.patches:
        rows, _ = rule.patches
        other_images = [Level("oblong", rule, narrow, rule.patches), Level("square", rule, narrow, (rows, rows))]
    return [
        *other_images,
        Level("narrow", rule, narrow),
        Level("scaled", rule, scaled),
        Level("whole heads", rule, whole_heads),
        Level("shallow", rule, shallow),
        Level("default", rule, ()),
    ]


# Lists with an entry a stage: how many blocks it has.
_DEPTHS = re.compile(r"(?:.*_)?(?:depths?|num_blocks|stage_num_blocks|layer_depths)$")
# Fields without a default that a model needs: the value, or the field that it equals.
_NEEDED: dict[str, int | float | str] = {
    "prediction_length": 8,
    "num_key_value_heads": "num_attention_heads",
    "rope_theta": 10000.0,
}


def shrunk(config: dict[str, Any], level: Level) -> dict[str, Any]:
    """`config`, as `to_dict` gives it, with small sizes; nested configurations too. Special tokens stay in the
    vocabulary, lists with an entry a layer keep one of each kind, and features are those of the last stage."""
    if not level.sizes:
        return config
    small = {name: _small_value(name, value, level) for name, value in config.items()}
    for name in ("out_features", "out_indices"):
        small.pop(name, None)
    _shorten_layer_lists(small, config)
    _fit_rotary_sections(small)
    _resize_image(small, level.patches)
    for name, value in (_NEEDED | {"vocab_size": level.rule.vocabulary}).items():
        if name in small and small[name] is None:
            small[name] = small.get(value) if isinstance(value, str) else value
    if isinstance(words := small.get("vocab_size"), int):
        for number, name in enumerate(sorted(small)):
            if re.search(r"token_(?:id|index)$", name) and isinstance(value := small[name], int) and value >= words:
                small[name] = words - 1 - number % 32
    return small


def _small_value(name: str, value: Any, level: Level) -> Any:
    if isinstance(value, dict) and (name.endswith(("config", "_cfg")) or "model_type" in value):
        return shrunk(value, level)
    if isinstance(value, (list, tuple)) and _DEPTHS.match(name) and all(type(one) is int for one in value):
        return [min(one, level.rule.layers) for one in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return next((rule(value) for pattern, rule in level.sizes if pattern.match(name)), value)


def _resize_image(small: dict[str, Any], patches: tuple[int, int] | None) -> None:
    """Give images the wanted count of patches where the configuration states the sizes of both."""
    patch = small.get("patch_size")
    if patches is None or not isinstance(patch, int) or not isinstance(small.get("image_size"), (int, list, tuple)):
        return
    side = patch if patch >= _SMALLEST_PATCH else _SMALLEST_PATCH * patch
    height, width = (one * side for one in patches)
    small["image_size"] = height if height == width else [height, width]


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
