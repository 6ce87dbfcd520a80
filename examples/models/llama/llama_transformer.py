# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decoder of Llama 2 and 3, Qwen 2.5 and 3, and SmolLM2: one definition, configured by ModelArgs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from executorch.examples.models.llama.attention import Attention
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.rope import rotation_tables


class FeedForward(nn.Module):
    """The gated MLP: w2(silu(w1(x)) * w3(x))."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        assert args.hidden_dim is not None
        self.w1 = nn.Linear(args.dim, args.hidden_dim, bias=False)
        self.w2 = nn.Linear(args.hidden_dim, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, args.hidden_dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Any leading dimensions."""
        result: torch.Tensor = self.w2(F.silu(self.w1(x)) * self.w3(x))
        return result


class TransformerBlock(nn.Module):
    """Attention and MLP, each behind a norm and beside a residual."""

    def __init__(self, args: ModelArgs) -> None:
        super().__init__()
        self.attention = Attention(args)
        self.feed_forward = FeedForward(args)
        self.attention_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)
        self.ffn_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)

    def forward(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor | None,
        input_pos: torch.Tensor | None,
    ) -> torch.Tensor:
        """x [batch, positions, dim]."""
        h = x + self.attention(self.attention_norm(x), cos, sin, mask, input_pos)
        result: torch.Tensor = h + self.feed_forward(self.ffn_norm(h))
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
        self.layers = nn.ModuleList(TransformerBlock(params) for _ in range(params.n_layers))
        self.norm = nn.RMSNorm(params.dim, eps=params.norm_eps)
        self.output = nn.Linear(params.dim, params.vocab_size, bias=False)
        if params.tie_word_embeddings:
            self.output.weight = self.tok_embeddings.weight
        cos, sin = rotation_tables(params)
        self.register_buffer("freqs_cos", cos, persistent=False)
        self.register_buffer("freqs_sin", sin, persistent=False)
        self.needs_mask = params.use_kv_cache
        if params.use_kv_cache:
            hidden = torch.full((params.context, params.context), float("-inf")).triu(1)
            self.register_buffer("mask", hidden, persistent=False)

    def drop_mask(self) -> None:
        """Goes without the mask: attention hides later positions itself."""
        if self.needs_mask:
            self.needs_mask = False
            del self.mask

    def forward(self, tokens: torch.Tensor, attn_options: Mapping[str, Any] | None = None) -> torch.Tensor:
        """tokens int64 [batch, positions]; attn_options: with a cache, `input_pos` int64 [1], the first position."""
        count = tokens.shape[1]
        input_pos = (attn_options or {}).get("input_pos")
        if self.params.use_kv_cache:
            if input_pos is None:
                raise ValueError("a decoder with a cache needs attn_options={'input_pos': …}")
            start = input_pos[0].item()
            torch._check(start >= 0)
            torch._check(start <= self.params.context - count)
            cos = self.freqs_cos.narrow(0, start, count)
            sin = self.freqs_sin.narrow(0, start, count)
            mask = self.mask.narrow(0, start, count) if self.needs_mask else None
        else:
            cos, sin, mask = self.freqs_cos[:count], self.freqs_sin[:count], None
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, cos, sin, mask, input_pos)
        if not self.params.generate_full_logits:
            h = h[:, -1]
        logits: torch.Tensor = self.output(self.norm(h))
        return logits
