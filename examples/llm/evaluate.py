# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Text that a decoder of bytes generates in eager PyTorch, and the perplexity of the decoder and its programs."""

import math

import torch
import torch.nn.functional as F

PIECE = 128


def perplexity(logits_of, text: bytes) -> float:
    """Perplexity of a byte over up to 64 pieces of the text. logits_of(tokens) returns one row for each token."""
    total = count = 0
    for start in range(0, min(len(text), 64 * PIECE) - PIECE, PIECE):
        tokens = torch.tensor([list(text[start : start + PIECE + 1])])
        with torch.no_grad():
            logits = logits_of(tokens[:, :-1])
        total += float(F.cross_entropy(logits[0], tokens[0, 1:], reduction="sum"))
        count += PIECE
    return math.exp(total / count)


def greedy(model, prompt: str, count: int) -> bytes:
    """Return the most likely bytes after the prompt."""
    tokens = list(prompt.encode())
    for _ in range(count):
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens]))[0, -1, :256].argmax()))
    return bytes(tokens[-count:])
