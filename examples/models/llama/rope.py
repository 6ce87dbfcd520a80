# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rotary position embedding, of Llama's own checkpoints (pairs) and of Hugging Face's (halves)."""

from __future__ import annotations

import math

import torch

from executorch.examples.models.llama.model_args import ModelArgs


def frequencies(args: ModelArgs) -> torch.Tensor:
    """Angles per position, one for each pair of rotated channels; Llama 3.1's scaling for long contexts included."""
    rotated = int(args.channels * args.partial_rotary_factor)
    powers = torch.arange(0, rotated, 2, dtype=torch.int64).float() / rotated
    found: torch.Tensor = 1.0 / (args.rope_freq_base**powers)
    if not args.use_scaled_rope:
        return found
    low = args.original_max_position / args.low_freq_factor
    high = args.original_max_position / args.high_freq_factor
    lengths = 2 * math.pi / found
    smooth = (args.original_max_position / lengths - args.low_freq_factor) / (
        args.high_freq_factor - args.low_freq_factor
    )
    between = (1 - smooth) * found / args.rope_scale_factor + smooth * found
    scaled = torch.where(lengths > low, found / args.rope_scale_factor, found)
    return torch.where((lengths <= low) & (lengths >= high), between, scaled)


def rotation_tables(args: ModelArgs) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines, (positions, rotated channels / 2)."""
    angles = torch.outer(torch.arange(args.context, dtype=torch.float32), frequencies(args))
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, halves: bool) -> torch.Tensor:
    """x [batch, positions, heads, channels] rotated by tables of its positions; channels beyond the tables stay."""
    rotated = 2 * cos.shape[-1]
    kept = x[..., rotated:]
    x = x[..., :rotated]
    cos, sin = cos[:, None, :], sin[:, None, :]
    if halves:
        low, high = x.chunk(2, dim=-1)
        made = torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)
    else:
        low, high = x.unflatten(-1, (-1, 2)).unbind(-1)
        made = torch.stack((low * cos - high * sin, low * sin + high * cos), dim=-1).flatten(-2)
    return torch.cat((made, kept), dim=-1) if kept.shape[-1] else made
