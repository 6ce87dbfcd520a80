# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert weights of Hugging Face decoders to the names of `Transformer`, and check checkpoints for missing ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import nn

# A pattern of Hugging Face's names → our name.
_NAMES = {
    r"model\.embed_tokens\.weight": "tok_embeddings.weight",
    r"model\.norm\.weight": "norm.weight",
    r"lm_head\.weight": "output.weight",
    r"model\.layers\.(\d+)\.input_layernorm\.weight": r"layers.\1.attention_norm.weight",
    r"model\.layers\.(\d+)\.post_attention_layernorm\.weight": r"layers.\1.ffn_norm.weight",
    r"model\.layers\.(\d+)\.self_attn\.([qkv])_proj\.(weight|bias)": r"layers.\1.attention.w\2.\3",
    r"model\.layers\.(\d+)\.self_attn\.o_proj\.weight": r"layers.\1.attention.wo.weight",
    r"model\.layers\.(\d+)\.self_attn\.([qk])_norm\.weight": r"layers.\1.attention.\2_norm.weight",
    r"model\.layers\.(\d+)\.mlp\.gate_proj\.weight": r"layers.\1.feed_forward.w1.weight",
    r"model\.layers\.(\d+)\.mlp\.down_proj\.weight": r"layers.\1.feed_forward.w2.weight",
    r"model\.layers\.(\d+)\.mlp\.up_proj\.weight": r"layers.\1.feed_forward.w3.weight",
}
_COMPUTED = re.compile(r"(.*\.)?(rotary_emb\.inv_freq|rope\.freqs)")


class CheckpointError(ValueError):
    """A checkpoint that lacks weights, or has others than the model."""


def from_hugging_face(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights under our names. Raises CheckpointError for a name that no decoder of this kind has."""
    found: dict[str, torch.Tensor] = {}
    unknown = []
    for name, weight in weights.items():
        if _COMPUTED.fullmatch(name):
            continue
        pattern = next((each for each in _NAMES if re.fullmatch(each, name)), None)
        if pattern is None:
            unknown.append(name)
        else:
            found[re.sub(pattern, _NAMES[pattern], name)] = weight
    if unknown:
        raise CheckpointError(f"weights that no decoder of this kind has: {', '.join(sorted(unknown)[:8])}")
    return found


def is_from_hugging_face(weights: Mapping[str, torch.Tensor]) -> bool:
    """Return whether the names are Hugging Face's."""
    return any(name.startswith("model.") for name in weights)


def load_weights(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Loads weights under our names into the model.

    Raises CheckpointError that names missing weights, extra ones, and those of another shape. The output layer may be
    missing where the embedding is given and the model ties them.
    """
    expected = model.state_dict()
    given = {name: weight for name, weight in weights.items() if not _COMPUTED.fullmatch(name)}
    tied = getattr(getattr(model, "params", None), "tie_word_embeddings", False)
    if tied and "output.weight" not in given and "tok_embeddings.weight" in given:
        given["output.weight"] = given["tok_embeddings.weight"]
    caches = {name for name in expected if name.endswith(("k_cache", "v_cache"))}
    missing = sorted(set(expected) - set(given) - caches)
    extra = sorted(set(given) - set(expected))
    for kind, names in (("missing", missing), ("unexpected", extra)):
        if names:
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            raise CheckpointError(f"{kind} weights: {', '.join(names[:8])}{more}")
    for name, weight in given.items():
        if weight.shape != expected[name].shape:
            raise CheckpointError(f"{name}: expected {list(expected[name].shape)}, found {list(weight.shape)}")
    model.load_state_dict(given, strict=False)
