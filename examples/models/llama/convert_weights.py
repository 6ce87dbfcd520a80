# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert weights of Hugging Face decoders to the names of `Transformer`, and check checkpoints for missing ones."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from executorch.extension.llm.export.load import load_checkpoint
from executorch.util.exit_code import exit_code

logger = logging.getLogger(__name__)

Weight = TypeVar("Weight")

# A pattern of Hugging Face's names → our name.
_NAMES = {
    r"model\.embed_tokens\.weight": "tok_embeddings.weight",
    r"model\.(?:embedding_)?norm\.weight": "norm.weight",
    r"lm_head\.weight": "output.weight",
    r"model\.layers\.(\d+)\.(?:input_layernorm|operator_norm)\.weight": r"layers.\1.attention_norm.weight",
    r"model\.layers\.(\d+)\.(?:post_attention_layernorm|ffn_norm)\.weight": r"layers.\1.ffn_norm.weight",
    r"model\.layers\.(\d+)\.self_attn\.([qkv])_proj\.(weight|bias)": r"layers.\1.attention.w\2.\3",
    r"model\.layers\.(\d+)\.self_attn\.(?:o|out)_proj\.weight": r"layers.\1.attention.wo.weight",
    r"model\.layers\.(\d+)\.self_attn\.([qk])_(?:layer)?norm\.weight": r"layers.\1.attention.\2_norm.weight",
    r"model\.layers\.(\d+)\.mlp\.gate_proj\.weight": r"layers.\1.feed_forward.w1.weight",
    r"model\.layers\.(\d+)\.mlp\.down_proj\.weight": r"layers.\1.feed_forward.w2.weight",
    r"model\.layers\.(\d+)\.mlp\.up_proj\.weight": r"layers.\1.feed_forward.w3.weight",
    r"model\.layers\.(\d+)\.feed_forward\.w([123])\.weight": r"layers.\1.feed_forward.w\2.weight",
    r"model\.layers\.(\d+)\.conv\.(conv|in_proj|out_proj)\.(weight|bias)": r"layers.\1.conv.\2.\3",
    r"model\.layers\.(\d+)\.(?:mlp|block_sparse_moe)\.gate\.weight": r"layers.\1.feed_forward.gate.weight",
    r"model\.layers\.(\d+)\.mlp\.experts\.gate_up_proj": r"layers.\1.feed_forward.w13",
    r"model\.layers\.(\d+)\.mlp\.experts\.down_proj": r"layers.\1.feed_forward.w2",
}
# The names of decoders with norms after attention and MLP too; they override the others.
_NAMES_WITH_POST_NORMS = {
    r"model\.layers\.(\d+)\.post_attention_layernorm\.weight": r"layers.\1.post_attention_norm.weight",
    r"model\.layers\.(\d+)\.pre_feedforward_layernorm\.weight": r"layers.\1.ffn_norm.weight",
    r"model\.layers\.(\d+)\.post_feedforward_layernorm\.weight": r"layers.\1.post_ffn_norm.weight",
}
_COMPUTED = re.compile(r"(.*\.)?(rotary_emb\.inv_freq|rope\.freqs)")
_FUSED = re.compile(r"(.+)\.(qkv_proj|gate_up_proj)\.(weight|bias)")
_EXPERT = re.compile(r"(.+)\.(?:block_sparse_moe|mlp)\.experts\.(\d+)\.(w1|w2|w3|gate_proj|down_proj|up_proj)\.weight")
_MATRIX_OF_EXPERT = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}
# Prefixes of the decoder in models that also take images, and of their other parts.
_DECODER_PREFIXES = ("model.language_model.", "language_model.model.")
_OTHER_PARTS = ("model.vision_tower.", "vision_tower.", "model.multi_modal_projector.", "multi_modal_projector.")
_STATES = ("k_cache", "v_cache", "cache_positions", "conv_state")
_NORM = re.compile(r"(.*\.)?(norm|\w+_norm)\.weight")


class CheckpointError(ValueError):
    """A checkpoint lacks weights of the model, or has additional ones."""


def from_hugging_face(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights under our names. Raises CheckpointError for a name that no decoder of this kind has."""
    weights = _stack_experts(_split_fused(_decoder_of(weights)))
    names = _NAMES
    if any("pre_feedforward_layernorm" in name for name in weights):
        names = _NAMES_WITH_POST_NORMS | _NAMES
    return renamed({name: weight for name, weight in weights.items() if not _COMPUTED.fullmatch(name)}, names)


def renamed(weights: Mapping[str, Weight], names: Mapping[str, str]) -> dict[str, Weight]:
    """Return the weights under our names.

    names: pattern of a file's name → our name, with groups of the pattern. Raises CheckpointError for a weight without
    a pattern.
    """
    by_our_name: dict[str, Weight] = {}
    unknown = []
    for name, weight in weights.items():
        pattern = next((candidate for candidate in names if re.fullmatch(candidate, name)), None)
        if pattern is None:
            unknown.append(name)
            continue
        our_name = re.sub(pattern, names[pattern], name)
        if our_name in by_our_name:
            raise CheckpointError(f"{name}: another weight becomes {our_name} too")
        by_our_name[our_name] = weight
    if unknown:
        raise CheckpointError(f"weights that no decoder of this kind has: {', '.join(sorted(unknown)[:8])}")
    return by_our_name


def _decoder_of(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the decoder's weights of a model that also takes images, under the names of a decoder without them."""
    prefix = next((start for start in _DECODER_PREFIXES if any(name.startswith(start) for name in weights)), None)
    if prefix is None:
        return dict(weights)
    others = [name for name in weights if name.startswith(_OTHER_PARTS)]
    logger.info("%d weights of the model's other parts are left out", len(others))
    return {
        re.sub(r"^language_model\.lm_head", "lm_head", name.replace(prefix, "model.", 1)): weight
        for name, weight in weights.items()
        if not name.startswith(_OTHER_PARTS)
    }


def _split_fused(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights with fused projections split. The number of columns of o_proj gives the number of rows of
    q."""
    split: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        fused = _FUSED.fullmatch(name)
        if fused is None:
            split[name] = weight
            continue
        prefix, kind, suffix = fused.groups()
        if weight.dim() == 0:
            raise CheckpointError(f"{name}: expected rows, found a number")
        parts: tuple[str, ...]
        if kind == "gate_up_proj":
            parts, sizes = ("gate", "up"), [len(weight) // 2] * 2
        else:
            output = weights.get(f"{prefix}.o_proj.weight")
            queries = 0 if output is None or output.dim() == 0 else output.shape[-1]
            parts, sizes = ("q", "k", "v"), [queries, *[(len(weight) - queries) // 2] * 2]
        if sum(sizes) != len(weight) or min(sizes) < 1:
            raise CheckpointError(f"{name}: {len(weight)} rows cannot be divided into {', '.join(parts)}")
        for part, rows in zip(parts, weight.split(sizes), strict=True):
            split[f"{prefix}.{part}_proj.{suffix}"] = rows
    return split


def _stack_experts(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights with the matrices of a layer's experts as two tensors: gates and ups, and downs."""
    stacked: dict[str, torch.Tensor] = {}
    layers: dict[str, dict[str, dict[int, torch.Tensor]]] = {}
    for name, weight in weights.items():
        expert = _EXPERT.fullmatch(name)
        if expert is None:
            stacked[name] = weight
        else:
            matrix = _MATRIX_OF_EXPERT.get(expert[3], expert[3])
            layers.setdefault(expert[1], {}).setdefault(matrix, {})[int(expert[2])] = weight
    for layer, matrices in layers.items():
        indices = range(max(len(experts) for experts in matrices.values()))
        missing = [f"{w} of {i}" for w in ("w1", "w2", "w3") for i in indices if i not in matrices.get(w, {})]
        if missing:
            raise CheckpointError(f"{layer}: missing weights of experts: {', '.join(missing[:8])}")
        shapes = [weight.shape for name in ("w1", "w3") for weight in matrices[name].values()]
        columns = [weight.shape for weight in matrices["w2"].values()]
        if len(set(shapes)) != 1 or len(set(columns)) != 1 or len(shapes[0]) != 2:
            raise CheckpointError(f"{layer}: expected matrices of one shape for all experts")
        w1, w2, w3 = (torch.stack([matrices[name][i] for i in indices]) for name in ("w1", "w2", "w3"))
        stacked[f"{layer}.mlp.experts.gate_up_proj"] = torch.cat((w1, w3), dim=1)
        stacked[f"{layer}.mlp.experts.down_proj"] = w2
    return stacked


def is_from_hugging_face(weights: Mapping[str, torch.Tensor]) -> bool:
    """Return whether the names are Hugging Face's."""
    return any(name.startswith(("model.", "language_model.")) for name in weights)


def load_weights(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Load weights under our names into the model.

    Raises CheckpointError that names missing weights, extra ones, and those of another shape. The output layer may be
    missing where the embedding is given and the model ties them. If the model sets `rms_norm_add_unit_offset`, its norm
    weights are those of the checkpoint plus 1.
    """
    expected = model.state_dict()
    given = {name: weight for name, weight in weights.items() if not _COMPUTED.fullmatch(name)}
    params = getattr(model, "params", None)
    tied = getattr(params, "tie_word_embeddings", False)
    if getattr(params, "rms_norm_add_unit_offset", False):
        given = {name: 1.0 + weight.float() if _NORM.fullmatch(name) else weight for name, weight in given.items()}
    if tied and "output.weight" not in given and "tok_embeddings.weight" in given:
        given["output.weight"] = given["tok_embeddings.weight"]
    caches = {name for name in expected if name.endswith(_STATES)}
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


def convert_weights(input_dir: str | Path, output_file: str | Path) -> None:
    """Write a checkpoint of Hugging Face as a PyTorch file with our names; without an output layer, the embedding's."""
    weights = from_hugging_face(load_checkpoint(input_dir))
    if "tok_embeddings.weight" not in weights:
        raise CheckpointError(f"{input_dir}: missing weights: model.embed_tokens.weight")
    weights.setdefault("output.weight", weights["tok_embeddings.weight"])
    torch.save(weights, output_file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description="Convert a checkpoint of Hugging Face to the names of `Transformer`.")
    parser.add_argument("input_dir", help="a folder of Hugging Face, or a safetensors or PyTorch file")
    parser.add_argument("output", help="the PyTorch file to write")
    given = parser.parse_args(arguments)
    return exit_code("convert_weights", lambda: convert_weights(given.input_dir, given.output))
