# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Published sizes of decoders, and the bytes that one step reads."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DecoderShape:
    """Sizes of a decoder whose output layer shares the embedding's weights.

    model_class: its name in export_llama. architecture: its name in GGUF files.
    """

    model_class: str
    architecture: str
    dim: int
    hidden: int
    layers: int
    heads: int
    key_heads: int
    channels: int
    vocabulary: int
    rope_theta: float
    norm_eps: float
    is_qwen: bool = False

    def params(self) -> dict[str, Any]:
        """Return the content of params.json."""
        found: dict[str, Any] = {
            "dim": self.dim,
            "hidden_dim": self.hidden,
            "n_layers": self.layers,
            "n_heads": self.heads,
            "n_kv_heads": self.key_heads,
            "head_dim": self.channels,
            "vocab_size": self.vocabulary,
            "rope_theta": self.rope_theta,
            "norm_eps": self.norm_eps,
        }
        if self.is_qwen:
            found |= {"use_hf_rope": True, "use_qk_norm": True, "qk_norm_before_rope": True}
        return found

    def step_weights(self) -> int:
        """Return the number of weights that a decode step multiplies: all matrices but the embedding."""
        attention = self.dim * self.channels * (2 * self.heads + 2 * self.key_heads)
        return self.layers * (attention + 3 * self.dim * self.hidden) + self.dim * self.vocabulary

    def cache_elements(self, positions: int) -> int:
        """Return the number of cache elements that a decode step reads after `positions` tokens."""
        return 2 * self.layers * self.key_heads * self.channels * positions


SHAPES = {
    "smollm2-135m": DecoderShape("smollm2", "llama", 576, 1536, 30, 9, 3, 64, 49152, 1e5, 1e-5),
    "qwen3-0.6b": DecoderShape("qwen3_0_6b", "qwen3", 1024, 3072, 28, 16, 8, 128, 151936, 1e6, 1e-6, is_qwen=True),
    "llama-3.2-1b": DecoderShape("llama3_2", "llama", 2048, 8192, 16, 32, 8, 64, 128256, 5e5, 1e-5),
    "tiny": DecoderShape("smollm2", "llama", 64, 128, 2, 4, 2, 16, 512, 1e4, 1e-5),
}
"""Shapes by name; "tiny" checks that an engine runs."""


def shape_of(name: str, layers: int | None) -> DecoderShape:
    """Return a shape, with another number of layers where one is given."""
    shape = SHAPES[name]
    return shape if layers is None else dataclasses.replace(shape, layers=layers)
