# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes and options of a decoder, read from `params.json` or a Hugging Face `config.json`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ModelArgsError(ValueError):
    """A configuration that describes no decoder of this kind."""


@dataclass
class ModelArgs:
    """A decoder with RMS norm, rotary embedding, grouped-query attention and gated MLP.

    n_kv_heads, head_dim, hidden_dim and max_context_len follow from the others where they are not given, hidden_dim as
    in Llama's own code (2/3 of 4 dim, times ffn_dim_multiplier, up to a multiple of multiple_of).
    """

    dim: int = 4096
    n_layers: int = 32
    n_heads: int = 32
    n_kv_heads: int | None = None
    vocab_size: int = 32000
    hidden_dim: int | None = None
    head_dim: int | None = None
    multiple_of: int = 256
    ffn_dim_multiplier: float | None = None
    norm_eps: float = 1e-5
    max_batch_size: int = 1
    max_seq_len: int = 2048
    max_context_len: int | None = None
    use_kv_cache: bool = False
    use_sdpa_with_kv_cache_op: bool = False
    generate_full_logits: bool = False
    enable_dynamic_shape: bool = False
    use_hf_rope: bool = False
    partial_rotary_factor: float = 1.0
    rope_theta: float | None = None
    rope_freq_base: float = 10000.0
    use_scaled_rope: bool = False
    rope_scale_factor: float = 8.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position: int = 8192
    attention_qkv_bias: bool = False
    use_qk_norm: bool = False
    qk_norm_before_rope: bool = False
    tie_word_embeddings: bool = False
    bos_idx: int = 1
    eos_idx: int = 2

    def __post_init__(self) -> None:
        """Fills in what follows from the rest. Raises ModelArgsError for sizes that do not fit each other."""
        self.n_kv_heads = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        for name in ("dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "max_batch_size", "max_seq_len"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ModelArgsError(f"{name}: expected a positive integer, found {value!r}")
        if self.n_heads % self.n_kv_heads:
            raise ModelArgsError(
                f"n_heads: expected a multiple of n_kv_heads ({self.n_kv_heads}), found {self.n_heads}"
            )
        if self.head_dim is None:
            if self.dim % self.n_heads:
                raise ModelArgsError(f"dim: expected a multiple of n_heads ({self.n_heads}), found {self.dim}")
            self.head_dim = self.dim // self.n_heads
        if self.hidden_dim is None:
            hidden = int(int(2 * 4 * self.dim / 3) * (self.ffn_dim_multiplier or 1))
            self.hidden_dim = -(-hidden // self.multiple_of) * self.multiple_of
        self.max_context_len = self.max_seq_len if self.max_context_len is None else self.max_context_len
        if self.max_context_len < self.max_seq_len:
            raise ModelArgsError(
                f"max_context_len: expected at least max_seq_len ({self.max_seq_len}), found {self.max_context_len}"
            )
        self.rope_freq_base = self.rope_freq_base if self.rope_theta is None else float(self.rope_theta)

    @property
    def key_heads(self) -> int:
        """n_kv_heads, which is known once the object exists."""
        assert self.n_kv_heads is not None
        return self.n_kv_heads

    @property
    def channels(self) -> int:
        """head_dim, which is known once the object exists."""
        assert self.head_dim is not None
        return self.head_dim

    @property
    def context(self) -> int:
        """max_context_len, which is known once the object exists."""
        assert self.max_context_len is not None
        return self.max_context_len

    @classmethod
    def from_params(cls, path: str | Path, **options: Any) -> ModelArgs:
        """Read a `params.json`; options override it. Refuses unknown keys."""
        return cls(**(checked(path, _read(path)) | options))

    @classmethod
    def from_hugging_face(cls, path: str | Path, **options: Any) -> ModelArgs:
        """Read a `config.json` of a Llama, Mistral without window, Qwen 2, Qwen 3 or SmolLM."""
        return cls(**(_from_hugging_face(path, _read(path)) | options))


def _read(path: str | Path) -> dict[str, Any]:
    try:
        read = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ModelArgsError(f"{path}: expected JSON: {error}") from error
    if not isinstance(read, dict):
        raise ModelArgsError(f"{path}: expected a JSON object, found {type(read).__name__}")
    return read


def checked(path: str | Path, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, which must be fields of ModelArgs; -1 and null select the default."""
    known = {field.name for field in dataclasses.fields(ModelArgs)}
    unknown = sorted(set(params) - known - {"_comment"})
    if unknown:
        raise ModelArgsError(f"{path}: unknown parameters {unknown}; known: {sorted(known)}")
    return {name: value for name, value in params.items() if name in known and value is not None and value != -1}


# Hugging Face's name → ours.
_SIZES = {
    "hidden_size": "dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "num_key_value_heads": "n_kv_heads",
    "vocab_size": "vocab_size",
    "intermediate_size": "hidden_dim",
    "head_dim": "head_dim",
    "rms_norm_eps": "norm_eps",
    "rope_theta": "rope_theta",
    "tie_word_embeddings": "tie_word_embeddings",
    "bos_token_id": "bos_idx",
}
_QKV_BIAS = {"qwen2": True}
_QK_NORM = {"qwen3"}
_KNOWN_TYPES = ("llama", "mistral", "qwen2", "qwen3", "smollm")


def _from_hugging_face(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    kind = config.get("model_type")
    if kind not in _KNOWN_TYPES:
        raise ModelArgsError(f"{path}: model_type: expected one of {', '.join(_KNOWN_TYPES)}, found {kind!r}")
    missing = [name for name in ("hidden_size", "num_hidden_layers", "num_attention_heads") if name not in config]
    if missing:
        raise ModelArgsError(f"{path}: expected {', '.join(missing)}")
    if config.get("hidden_act", "silu") != "silu":
        raise ModelArgsError(f"{path}: hidden_act: expected silu, found {config['hidden_act']!r}")
    window = config.get("sliding_window")
    if window is not None and config.get("use_sliding_window", kind == "mistral"):
        raise ModelArgsError(f"{path}: sliding_window: expected none, found {window}")
    found = {ours: config[theirs] for theirs, ours in _SIZES.items() if config.get(theirs) is not None}
    eos = config.get("eos_token_id")
    eos = eos[0] if isinstance(eos, list) and eos else eos
    if isinstance(eos, int):
        found["eos_idx"] = eos
    found["use_hf_rope"] = True
    found["attention_qkv_bias"] = bool(config.get("attention_bias", _QKV_BIAS.get(kind, False)))
    found["use_qk_norm"] = found["qk_norm_before_rope"] = kind in _QK_NORM
    return found | _rope_scaling(path, config)


def _rope_scaling(path: str | Path, config: Mapping[str, Any]) -> dict[str, Any]:
    # transformers 5 has all of it in rope_parameters.
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    found: dict[str, Any] = {}
    if "rope_theta" in parameters:
        found["rope_theta"] = parameters["rope_theta"]
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind == "llama3":
        found |= {
            "use_scaled_rope": True,
            "rope_scale_factor": float(parameters["factor"]),
            "low_freq_factor": float(parameters["low_freq_factor"]),
            "high_freq_factor": float(parameters["high_freq_factor"]),
            "original_max_position": int(parameters["original_max_position_embeddings"]),
        }
    elif kind != "default":
        raise ModelArgsError(f"{path}: rope_type: expected default or llama3, found {kind!r}")
    return found
