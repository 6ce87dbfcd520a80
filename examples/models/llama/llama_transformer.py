# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoders of Llama, Qwen, SmolLM2, Phi-4-mini, Gemma 3, LFM2 and Mixtral: one definition, configured by ModelArgs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from executorch.examples.models.llama.activation import activate
from executorch.examples.models.llama.attention import Attention
from executorch.examples.models.llama.mixture_of_experts import MixtureOfExperts
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.rope import rotation_tables
from executorch.examples.models.llama.short_conv import ShortConv


class FeedForward(nn.Module):
    """The gated MLP: w2(activation(w1(x)) * w3(x))."""

    def __init__(self, dim: int, hidden_dim: int, act_fn: str = "silu") -> None:
        super().__init__()
        self.act_fn = act_fn
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Any leading dimensions."""
        result: torch.Tensor = self.w2(activate(self.w1(x), self.act_fn) * self.w3(x))
        return result


class TransformerBlock(nn.Module):
    """Attention or convolution, and MLP or experts, each after a norm and with a residual connection."""

    def __init__(self, args: ModelArgs, index: int) -> None:
        super().__init__()
        self.conv: ShortConv | None = None
        self.uses_local_rotation = args.local_rope_theta is not None and args.window_of(index) is not None
        if args.is_conv(index):
            self.conv = ShortConv(args)
        else:
            self.attention = Attention(args, args.window_of(index), rotates=args.rotates(index))
        self.feed_forward: nn.Module
        if args.has_experts(index):
            self.feed_forward = MixtureOfExperts(args)
        else:
            assert args.hidden_dim is not None
            self.feed_forward = FeedForward(args.dim, args.hidden_dim, args.act_fn)
        self.attention_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        self.ffn_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        self.post_attention_norm: nn.Module | None = None
        self.post_ffn_norm: nn.Module | None = None
        if args.post_attention_norm:
            self.post_attention_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        if args.post_ffn_norm:
            self.post_ffn_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)

    def forward(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor | None,
        input_pos: torch.Tensor | None,
    ) -> torch.Tensor:
        """x [batch, positions, dim]."""
        normed = self.attention_norm(x)
        if self.conv is not None:
            mixed = self.conv(normed, input_pos)
        else:
            mixed = self.attention(normed, cos, sin, mask, input_pos)
        h = x + _normed(mixed, self.post_attention_norm)
        return h + _normed(self.feed_forward(self.ffn_norm(h)), self.post_ffn_norm)


def _normed(x: torch.Tensor, norm: nn.Module | None) -> torch.Tensor:
    result: torch.Tensor = x if norm is None else norm(x)
    return result


class Transformer(nn.Module):
    """Tokens → logits: of the last token [batch, vocabulary], or of all with `generate_full_logits`."""

    freqs_cos: torch.Tensor
    freqs_sin: torch.Tensor
    mask: torch.Tensor

    def __init__(self, params: ModelArgs) -> None:
        super().__init__()
        self.params = params
        self.vocab_size, self.n_layers = params.vocab_size, params.n_layers
        self.tok_embeddings = nn.Embedding(params.vocab_size, params.dim)
        self.layers = nn.ModuleList(TransformerBlock(params, index) for index in range(params.n_layers))
        self.norm = nn.RMSNorm(params.dim, eps=params.norm_eps)
        self.output = nn.Linear(params.dim, params.vocab_size, bias=False)
        if params.tie_word_embeddings:
            self.output.weight = self.tok_embeddings.weight
        self._register_tables("freqs", is_local=False)
        if any(layer.uses_local_rotation for layer in self.layers):
            self._register_tables("local_freqs", is_local=True)
        self.needs_mask = params.use_kv_cache
        if params.use_kv_cache:
            hidden = torch.full((params.context, params.context), float("-inf")).triu(1)
            self.register_buffer("mask", hidden, persistent=False)

    def _register_tables(self, name: str, *, is_local: bool) -> None:
        for suffix, table in zip(("cos", "sin"), rotation_tables(self.params, is_local=is_local), strict=True):
            self.register_buffer(f"{name}_{suffix}", table, persistent=False)

    def _tables(self, name: str, start: int | None, count: int) -> tuple[torch.Tensor, ...]:
        """Cosines and sines of `count` positions from `start` on; None: from 0 on, without a cache."""
        tables = (getattr(self, f"{name}_{suffix}") for suffix in ("cos", "sin"))
        return tuple(table[:count] if start is None else table.narrow(0, start, count) for table in tables)

    def attentions(self) -> list[Attention]:
        """Return the attention of every layer that has one."""
        return [layer.attention for layer in self.layers if isinstance(layer, TransformerBlock) and layer.conv is None]

    def drop_mask(self) -> None:
        """Remove the mask, because attention hides later positions itself."""
        if self.needs_mask:
            self.needs_mask = False
            del self.mask

    def forward(self, tokens: torch.Tensor, attn_options: Mapping[str, Any] | None = None) -> torch.Tensor:
        """tokens int64 [batch, positions]; attn_options: with a cache, `input_pos` int64 [1], the first position."""
        count = tokens.shape[1]
        input_pos = (attn_options or {}).get("input_pos")
        start, mask = None, None
        if self.params.use_kv_cache:
            if input_pos is None:
                raise ValueError("a decoder with a cache needs attn_options={'input_pos': …}")
            start = input_pos[0].item()
            torch._check(start >= 0)
            torch._check(start <= self.params.context - count)
            mask = self.mask.narrow(0, start, count) if self.needs_mask else None
        tables = self._tables("freqs", start, count)
        uses_local = any(layer.uses_local_rotation for layer in self.layers)
        local = self._tables("local_freqs", start, count) if uses_local else tables
        h = self.tok_embeddings(tokens)
        if self.params.embedding_scale_factor != 1.0:
            h = h * self.params.embedding_scale_factor
        for layer in self.layers:
            h = layer(h, *(local if layer.uses_local_rotation else tables), mask, input_pos)
        if not self.params.generate_full_logits:
            h = h[:, -1]
        logits: torch.Tensor = self.output(self.norm(h))
        limit = self.params.final_logit_softcapping
        return logits if limit is None else torch.tanh(logits / limit) * limit


def construct_transformer(model_args: ModelArgs) -> Transformer:
    """Return a decoder of these sizes with random weights, as `Transformer(model_args)` does."""
    return Transformer(model_args)
