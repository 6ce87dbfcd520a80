# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sizes and options of a decoder, read from `params.json` or a Hugging Face `config.json`."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executorch.examples.models.llama.hugging_face_config import ModelArgsError, args_of_config
from executorch.exir.serialize.regular_file import read_regular_file

__all__ = ["ModelArgs", "ModelArgsError", "checked"]

_ACTIVATIONS = ("silu", "gelu_pytorch_tanh")
_LAYER_TYPES = ("full_attention", "sliding_attention", "conv")
_MLP_TYPES = ("dense", "moe")
_MAX_PROMPT = 2048  # unless given


@dataclass
class ModelArgs:
    """A decoder with RMS norm, rotary embedding, grouped-query attention and gated MLP.

    n_kv_heads, head_dim, hidden_dim and max_context_len follow from the others where they are not given, hidden_dim as
    in Llama's own code (2/3 of 4 dim, times ffn_dim_multiplier, up to a multiple of multiple_of).

    layer_types: for each layer full_attention, sliding_attention (the last `sliding_window` positions, rotated with
    `local_rope_theta` where it is given) or conv, a gated convolution over the last `conv_kernel_size` positions.
    rotated_layers: for each layer whether it has rotary embedding; all have it by default.
    mlp_type: for each layer dense or moe. rope_scaling_short_factor and rope_scaling_long_factor divide the frequencies
    of contexts up to and beyond original_max_position_embeddings. yarn_factor divides the frequencies of pairs of
    channels that make fewer than yarn_beta_slow turns within original_max_position_embeddings (by default
    max_position_embeddings), and partly those of pairs with up to yarn_beta_fast turns. rope_is_dynamic: scaling begins
    beyond max_position_embeddings.
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
    max_seq_len: int = None  # type: ignore[assignment]  # __post_init__ sets it
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
    rope_linear_factor: float = 1.0
    local_rope_theta: float | None = None
    rope_scaling_short_factor: list[float] | None = None
    rope_scaling_long_factor: list[float] | None = None
    rope_scaling_attention_factor: float | None = None
    rope_is_dynamic: bool = False
    yarn_factor: float | None = None
    yarn_beta_fast: float = 32.0
    yarn_beta_slow: float = 1.0
    yarn_rounds_range: bool = True
    original_max_position_embeddings: int | None = None
    max_position_embeddings: int | None = None
    layer_types: list[str] | None = None
    rotated_layers: list[bool] | None = None
    sliding_window: int | None = None
    conv_kernel_size: int = 3
    conv_bias: bool = False
    mlp_type: list[str] | None = None
    moe: bool = False
    num_experts: int = 8
    num_activated_experts: int = 2
    moe_hidden_dim: int | None = None
    moe_normalize_weights: bool = True
    act_fn: str = "silu"
    attention_multiplier: float | None = None
    post_attention_norm: bool = False
    post_ffn_norm: bool = False
    rms_norm_add_unit_offset: bool = False
    embedding_scale_factor: float = 1.0
    final_logit_softcapping: float | None = None
    attention_qkv_bias: bool = False
    use_qk_norm: bool = False
    qk_norm_before_rope: bool = False
    tie_word_embeddings: bool = False
    bos_idx: int = 1
    eos_idx: int = 2

    def __post_init__(self) -> None:
        """Fill in derived sizes. Raises ModelArgsError for sizes that do not fit each other."""
        self.n_kv_heads = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        if self.max_seq_len is None:
            self.max_seq_len = min(_MAX_PROMPT, self.max_context_len or _MAX_PROMPT)
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
        self._check_layers()
        self._check_rotation()

    def _check_layers(self) -> None:
        layers = ("layer_types", self.layer_types, _LAYER_TYPES), ("mlp_type", self.mlp_type, _MLP_TYPES)
        for name, given, known in layers:
            if given is not None and (len(given) < self.n_layers or set(given) - set(known)):
                raise ModelArgsError(f"{name}: expected {self.n_layers} of {', '.join(known)}, found {given}")
        if self.rotated_layers is not None and len(self.rotated_layers) < self.n_layers:
            raise ModelArgsError(f"rotated_layers: expected {self.n_layers} values, found {self.rotated_layers}")
        if self.act_fn not in _ACTIVATIONS:
            raise ModelArgsError(f"act_fn: expected one of {', '.join(_ACTIVATIONS)}, found {self.act_fn!r}")
        if "sliding_attention" in (self.layer_types or ()) and (self.sliding_window or 0) < 1:
            raise ModelArgsError(f"sliding_window: expected a positive number, found {self.sliding_window}")
        if self.conv_kernel_size < 2:
            raise ModelArgsError(f"conv_kernel_size: expected 2 or more, found {self.conv_kernel_size}")
        if not 1 <= self.num_activated_experts <= self.num_experts:
            raise ModelArgsError(
                f"num_activated_experts: expected 1 to {self.num_experts}, found {self.num_activated_experts}"
            )

    def _check_rotation(self) -> None:
        pairs = self.rotated_channels // 2
        if self.rope_is_dynamic and self.context > (self.max_position_embeddings or 0):
            raise ModelArgsError(
                f"max_context_len: expected at most max_position_embeddings ({self.max_position_embeddings}), beyond "
                f"which dynamic scaling would rotate cached keys again, found {self.context}"
            )
        if self.yarn_factor is not None:
            self._check_yarn()
        factors = self.rope_scaling_short_factor, self.rope_scaling_long_factor
        if all(factor is None for factor in factors):
            return
        if not self.original_max_position_embeddings:
            raise ModelArgsError("original_max_position_embeddings: expected a number beside rope_scaling_long_factor")
        for factor in factors:
            if factor is None or len(factor) != pairs:
                found = None if factor is None else len(factor)
                raise ModelArgsError(
                    f"rope_scaling_short_factor, rope_scaling_long_factor: expected {pairs} numbers, found {found}"
                )

    def _check_yarn(self) -> None:
        if self.original_max_position_embeddings is None:
            self.original_max_position_embeddings = self.max_position_embeddings
        if (self.original_max_position_embeddings or 0) < 1:
            raise ModelArgsError("original_max_position_embeddings: expected a positive number beside yarn_factor")
        for name in ("yarn_factor", "yarn_beta_fast", "yarn_beta_slow"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ModelArgsError(f"{name}: expected a positive number, found {value}")

    @property
    def rotated_channels(self) -> int:
        """Channels of a head that rotary embedding changes, the first ones."""
        return int(self.channels * self.partial_rotary_factor)

    def window_of(self, layer: int) -> int | None:
        """Positions that the queries of a layer attend to; None: all of them."""
        kinds = self.layer_types
        return self.sliding_window if kinds is not None and kinds[layer] == "sliding_attention" else None

    def rotates(self, layer: int) -> bool:
        """Return whether a layer has rotary embedding."""
        return self.rotated_layers is None or self.rotated_layers[layer]

    def is_conv(self, layer: int) -> bool:
        """Return whether a layer has a convolution in place of attention."""
        return self.layer_types is not None and self.layer_types[layer] == "conv"

    def has_experts(self, layer: int) -> bool:
        """Return whether a layer has a mixture of experts in place of one MLP."""
        return self.moe if self.mlp_type is None else self.mlp_type[layer] == "moe"

    @property
    def key_heads(self) -> int:
        """n_kv_heads, which `__post_init__` sets."""
        assert self.n_kv_heads is not None
        return self.n_kv_heads

    @property
    def channels(self) -> int:
        """head_dim, which `__post_init__` sets."""
        assert self.head_dim is not None
        return self.head_dim

    @property
    def context(self) -> int:
        """max_context_len, which `__post_init__` sets."""
        assert self.max_context_len is not None
        return self.max_context_len

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> ModelArgs:
        """Read a `config.json` of Hugging Face, which has a hidden size, or a `params.json`."""
        read = _read(path)
        values = args_of_config(path, read) if "hidden_size" in read else checked(path, read)
        return cls(**(values | options))

    @classmethod
    def from_params(cls, path: str | Path, **options: Any) -> ModelArgs:
        """Read a `params.json`; options override it. Refuses unknown keys."""
        return cls(**(checked(path, _read(path)) | options))

    @classmethod
    def from_hugging_face(cls, path: str | Path, **options: Any) -> ModelArgs:
        """Read a `config.json` of a decoder of Hugging Face whose `model_type` hugging_face_config knows."""
        return cls(**(args_of_config(path, _read(path)) | options))


def _read(path: str | Path) -> dict[str, Any]:
    try:
        read = json.loads(read_regular_file(path))
    except (ValueError, RecursionError) as error:
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
