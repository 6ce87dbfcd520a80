# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tokens that a decoder generates in eager PyTorch, and the perplexity of decoders and programs."""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

PIECE = 128

Logits = Callable[[torch.Tensor], torch.Tensor]
"""From tokens [1, T] to logits [1, T, vocabulary]."""


def perplexity(logits_of: Logits, tokens: Sequence[int]) -> float:
    """Return the perplexity per token, measured on up to 64 pieces of a text."""
    total = count = 0
    for start in range(0, min(len(tokens), 64 * PIECE) - PIECE, PIECE):
        piece = torch.tensor([list(tokens[start : start + PIECE + 1])])
        with torch.no_grad():
            logits = logits_of(piece[:, :-1])
        total += float(F.cross_entropy(logits[0].float(), piece[0, 1:], reduction="sum"))
        count += PIECE
    return math.exp(total / count)


def greedy(logits_of: Logits, prompt: Sequence[int], count: int) -> list[int]:
    """Return the most likely tokens after the prompt."""
    tokens = list(prompt)
    with torch.no_grad():
        for _ in range(count):
            tokens.append(int(logits_of(torch.tensor([tokens]))[0, -1].argmax()))
    return tokens[-count:]
