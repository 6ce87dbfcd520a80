# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoders in GGUF files: sizes from the metadata, weights under the names of `Transformer`'s parameters."""

from __future__ import annotations

import math
import re
from typing import Any

import torch

from executorch.examples.models.llama.convert_weights import CheckpointError, renamed
from executorch.examples.models.llama.model_args import ModelArgs, ModelArgsError
from executorch.examples.models.llama.rope import frequencies
from executorch.extension.llm.export.gguf import GGUFFile, GGUFTensor
from executorch.extension.llm.export.quantize import GroupedIntegers

# A pattern of llama.cpp's names → our name.
_NAMES = {
    r"token_embd\.weight": "tok_embeddings.weight",
    r"output_norm\.weight": "norm.weight",
    r"output\.weight": "output.weight",
    r"blk\.(\d+)\.attn_norm\.weight": r"layers.\1.attention_norm.weight",
    r"blk\.(\d+)\.ffn_norm\.weight": r"layers.\1.ffn_norm.weight",
    r"blk\.(\d+)\.attn_([qkv])\.(weight|bias)": r"layers.\1.attention.w\2.\3",
    r"blk\.(\d+)\.attn_output\.weight": r"layers.\1.attention.wo.weight",
    r"blk\.(\d+)\.attn_([qk])_norm\.weight": r"layers.\1.attention.\2_norm.weight",
    r"blk\.(\d+)\.ffn_gate\.weight": r"layers.\1.feed_forward.w1.weight",
    r"blk\.(\d+)\.ffn_down\.weight": r"layers.\1.feed_forward.w2.weight",
    r"blk\.(\d+)\.ffn_up\.weight": r"layers.\1.feed_forward.w3.weight",
}
_ROPE_FACTORS = "rope_freqs.weight"
_ROTATED = re.compile(r"layers\.\d+\.attention\.w([qk])\.(weight|bias)")
# Architecture → True if rotary embedding pairs a channel of the first half of a head with one of the second half, False
# if it pairs adjacent channels.
_ARCHITECTURES = {"llama": False, "qwen2": True, "qwen3": True}
_SIZES = {
    "embedding_length": "dim",
    "block_count": "n_layers",
    "feed_forward_length": "hidden_dim",
    "attention.head_count": "n_heads",
    "attention.head_count_kv": "n_kv_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "norm_eps",
    "rope.freq_base": "rope_theta",
}
_TOKENS = {"tokenizer.ggml.bos_token_id": "bos_idx", "tokenizer.ggml.eos_token_id": "eos_idx"}
# The factors of Llama 3.1 and 3.2; the other parameters of their scaling are the same.
_SCALES = (8.0, 32.0)


def args_of_gguf(file: GGUFFile, **options: Any) -> ModelArgs:
    """Return the sizes that the metadata names; options override them. Raises ModelArgsError."""
    architecture = _architecture(file)
    arguments: dict[str, Any] = {"use_hf_rope": _ARCHITECTURES[architecture]}
    for key, name in _SIZES.items():
        value = file.metadata.get(f"{architecture}.{key}")
        if value is None:
            continue
        expected = float if name in ("norm_eps", "rope_theta") else int
        if not isinstance(value, expected) or isinstance(value, bool):
            raise ModelArgsError(
                f"{file.path}: {architecture}.{key}: expected one {expected.__name__}, found {value!r}"
            )
        if not (math.isfinite(value) and value > 0):
            raise ModelArgsError(f"{file.path}: {architecture}.{key}: expected a positive number, found {value}")
        arguments[name] = value
    missing = [key for key in list(_SIZES)[:4] if _SIZES[key] not in arguments]
    if missing:
        raise ModelArgsError(f"{file.path}: metadata lacks {', '.join(f'{architecture}.{key}' for key in missing)}")
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise ModelArgsError(f"{file.path}: expected a matrix token_embd.weight")
    arguments["vocab_size"] = embedding.shape[0]
    arguments["tie_word_embeddings"] = "output.weight" not in file.tensors
    arguments["attention_qkv_bias"] = "blk.0.attn_q.bias" in file.tensors
    arguments["use_qk_norm"] = arguments["qk_norm_before_rope"] = "blk.0.attn_q_norm.weight" in file.tensors
    _check_sizes(file, arguments)
    for key, name in _TOKENS.items():
        if isinstance(file.metadata.get(key), int):
            arguments[name] = file.metadata[key]
    return _with_rope_scaling(file, ModelArgs(**(arguments | options)))


def _check_sizes(file: GGUFFile, sizes: dict[str, Any]) -> None:
    """Check the sizes against tensors in the file, so that a model takes no more memory than the file accounts for."""
    dim, hidden = sizes["dim"], sizes["hidden_dim"]
    layers = len([name for name in file.tensors if re.fullmatch(r"blk\.\d+\.attn_norm\.weight", name)])
    if sizes["n_layers"] != layers:
        raise ModelArgsError(f"{file.path}: expected tensors of {sizes['n_layers']} layers, found {layers}")
    expected = {"token_embd.weight": (sizes["vocab_size"], dim)}
    for layer in range(layers):
        expected[f"blk.{layer}.ffn_gate.weight"] = (hidden, dim)
        if "head_dim" in sizes:
            expected[f"blk.{layer}.attn_q.weight"] = (sizes["n_heads"] * sizes["head_dim"], dim)
    for name, shape in expected.items():
        found = file.tensors[name].shape if name in file.tensors else None
        if found != shape:
            raise ModelArgsError(f"{file.path}: {name}: expected {list(shape)} as the metadata says, found {found}")


def _architecture(file: GGUFFile) -> str:
    architecture = file.metadata.get("general.architecture")
    if not isinstance(architecture, str) or architecture not in _ARCHITECTURES:
        known = ", ".join(_ARCHITECTURES)
        raise ModelArgsError(f"{file.path}: general.architecture: expected one of {known}, found {architecture!r}")
    kind = file.metadata.get(f"{architecture}.rope.scaling.type", "none")
    if not isinstance(kind, str) or kind != "none":
        raise ModelArgsError(f"{file.path}: {architecture}.rope.scaling.type: expected none, found {kind!r}")
    experts = file.metadata.get(f"{architecture}.expert_count", 0)
    if not isinstance(experts, int) or experts:
        raise ModelArgsError(f"{file.path}: {architecture}.expert_count: mixtures of experts are not supported")
    return str(architecture)


def _with_rope_scaling(file: GGUFFile, args: ModelArgs) -> ModelArgs:
    """Add the scaling of frequencies. Files store divisors instead of the parameters from which Llama 3 derives
    them."""
    stored = file.tensors.get(_ROPE_FACTORS)
    if stored is None:
        return args
    divisors = torch.from_numpy(stored.dequantize()).flatten()
    plain = frequencies(args)
    if divisors.shape != plain.shape:
        raise ModelArgsError(f"{file.path}: {_ROPE_FACTORS}: expected {len(plain)} values, found {len(divisors)}")
    if torch.equal(divisors, torch.ones_like(divisors)):
        return args
    args.use_scaled_rope = True
    for scale in _SCALES:
        args.rope_scale_factor = scale
        if torch.allclose(plain / frequencies(args), divisors, rtol=1e-3):
            return args
    raise ModelArgsError(f"{file.path}: {_ROPE_FACTORS}: expected the scaling of Llama 3.1 or 3.2")


def weights_of_gguf(file: GGUFFile, args: ModelArgs) -> dict[str, torch.Tensor]:
    """The weights in float32 under our names, with q and k in the order that `args.use_hf_rope` needs.

    Raises CheckpointError for a name that no decoder of this kind has.
    """
    return {
        name: _in_our_order(file, args, name, torch.from_numpy(tensor.dequantize()))
        for name, tensor in _tensors(file).items()
    }


def integers_of_gguf(file: GGUFFile, args: ModelArgs) -> dict[str, GroupedIntegers]:
    """The matrices that are integers with a scale for each group, in the same order of rows, under our names."""
    integers = {}
    for name, tensor in _tensors(file).items():
        if tensor.grouped_bits is not None:
            values, scales = (
                _in_our_order(file, args, name, torch.from_numpy(part.copy())) for part in tensor.grouped_integers()
            )
            integers[name] = GroupedIntegers(values, scales, tensor.grouped_bits)
    return integers


def _tensors(file: GGUFFile) -> dict[str, GGUFTensor]:
    """The file's tensors under our names. Raises CheckpointError."""
    return renamed({name: tensor for name, tensor in file.tensors.items() if name != _ROPE_FACTORS}, _NAMES)


def _in_our_order(file: GGUFFile, args: ModelArgs, name: str, weight: torch.Tensor) -> torch.Tensor:
    """The rows of a weight, reordered if it is of q or k and the file has the other kind of pairs."""
    rotated = _ROTATED.fullmatch(name)
    if rotated is None or _ARCHITECTURES[_architecture(file)] == args.use_hf_rope:
        return weight
    heads = args.n_heads if rotated[1] == "q" else args.key_heads
    return _reordered(name, weight, heads, to_halves=args.use_hf_rope)


def _reordered(name: str, weight: torch.Tensor, heads: int, *, to_halves: bool) -> torch.Tensor:
    """Rows of each head from pairs to halves, or the reverse."""
    if weight.shape[0] % (2 * heads):
        raise CheckpointError(f"{name}: expected an even number of rows for each of {heads} heads, found {len(weight)}")
    pairs = weight.shape[0] // heads // 2
    sizes = (heads, pairs, 2) if to_halves else (heads, 2, pairs)
    return weight.reshape(*sizes, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
