# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoders as example models: the one that an `LlmConfig` describes, or a small Llama 2 with random weights."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.export import Dim

from executorch.examples.models.model_base import EagerModelBase

if TYPE_CHECKING:
    from executorch.extension.llm.export.config.llm_config import LlmConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DecoderSizes:
    """Sizes of a decoder; the defaults give 15 million parameters."""

    vocabulary: int = 32000
    dim: int = 288
    hidden: int = 768
    layers: int = 6
    heads: int = 6
    max_tokens: int = 128


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class _Layer(nn.Module):
    """Attention and MLP, each after a norm and with a residual connection."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        dim, hidden = sizes.dim, sizes.hidden
        self.heads = sizes.heads
        self.attention_norm, self.mlp_norm = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, dim = x.shape
        return x.view(batch, tokens, self.heads, dim // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        normed = self.attention_norm(x)
        query, key, value = (self._split(project(normed)) for project in (self.wq, self.wk, self.wv))
        attended = nn.functional.scaled_dot_product_attention(
            _rotate(query, cos, sin), _rotate(key, cos, sin), value, is_causal=True
        )
        x = x + self.wo(attended.transpose(1, 2).flatten(2))
        normed = self.mlp_norm(x)
        result: torch.Tensor = x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))
        return result


class Decoder(nn.Module):
    """Token ids (1, tokens) → logits of the next token (1, vocabulary)."""

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.dim)
        self.layers = nn.ModuleList(_Layer(sizes) for _ in range(sizes.layers))
        self.norm = nn.RMSNorm(sizes.dim, eps=1e-5)
        self.output = nn.Linear(sizes.dim, sizes.vocabulary, bias=False)
        self.output.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.02)  # torch's default of 1 gives logits of about 17
        half = sizes.dim // sizes.heads // 2
        angles = torch.outer(torch.arange(sizes.max_tokens), 1e4 ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        count = tokens.shape[1]
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos[:count], self.sin[:count])
        logits: torch.Tensor = self.output(self.norm(x[:, -1]))
        return logits


class Llama2Model(EagerModelBase):
    """The decoder of an `LlmConfig`; without one, a small decoder of any number of tokens up to a limit.

    The weights are those of `base.checkpoint`, or random. Rewrites and quantization that the configuration names are
    left to export_llm.
    """

    def __init__(self, llm_config: LlmConfig | None = None, sizes: DecoderSizes | None = None) -> None:
        self.llm_config = llm_config
        self.sizes = sizes or DecoderSizes()

    def get_eager_model(self) -> nn.Module:
        """Return the decoder in evaluation mode. Raises as `build_model` for a configuration."""
        if self.llm_config is not None:
            # A local import: it needs the packages of language models, the small decoder does not.
            from executorch.examples.models.llama.export_llama_lib import build_model

            return build_model(self.llm_config)
        logger.info("llama2: a small decoder with random weights; nothing is downloaded")
        return Decoder(self.sizes).eval()

    def get_example_inputs(self) -> tuple[Any, ...]:
        """Return the ids of tokens; with a cache, their position too, as the decoder takes it."""
        if self.llm_config is None:
            return (torch.tensor([[2, 3, 4]]),)
        model, longest = self.llm_config.model, self.llm_config.export.max_seq_length
        if model.use_kv_cache:
            tokens = [[2, 3, 4]] if model.enable_dynamic_shape else [[1]]
            return (torch.tensor(tokens), {"input_pos": torch.tensor([0])})
        return (torch.ones(1, longest - 1 if model.enable_dynamic_shape else longest, dtype=torch.int64),)

    def get_dynamic_shapes(self) -> tuple[Any, ...] | None:
        """Return the range of the number of tokens; None for a configuration, from which `LLMEdgeManager` knows it."""
        return None if self.llm_config is not None else ({1: Dim("tokens", max=self.sizes.max_tokens - 1)},)


class ConfiguredModel(Llama2Model):
    """The decoder of an `LlmConfig`, which is required: families other than Llama have no small decoder here."""

    def __init__(self, llm_config: LlmConfig) -> None:
        super().__init__(llm_config)
