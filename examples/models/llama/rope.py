# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rotary position embedding, of Llama's own checkpoints (pairs) and of Hugging Face's (halves)."""

from __future__ import annotations

import math

import torch

from executorch.examples.models.llama.hugging_face_config import yarn_magnitude
from executorch.examples.models.llama.model_args import ModelArgs


def frequencies(args: ModelArgs) -> torch.Tensor:
    """Angles per position, one for each pair of rotated channels; Llama 3.1's scaling for long contexts included."""
    by_pair = _plain_frequencies(args, args.rope_freq_base)
    if args.yarn_factor is not None:
        by_pair = _yarn_frequencies(args, args.yarn_factor)
    if args.rope_scaling_short_factor is not None:
        by_pair = 1.0 / (torch.tensor(_factors(args)) * args.rope_freq_base ** _powers(args))
    if args.rope_linear_factor != 1.0:
        by_pair = by_pair / args.rope_linear_factor
    if not args.use_scaled_rope:
        return by_pair
    low = args.original_max_position / args.low_freq_factor
    high = args.original_max_position / args.high_freq_factor
    lengths = 2 * math.pi / by_pair
    smooth = (args.original_max_position / lengths - args.low_freq_factor) / (
        args.high_freq_factor - args.low_freq_factor
    )
    between = (1 - smooth) * by_pair / args.rope_scale_factor + smooth * by_pair
    scaled = torch.where(lengths > low, by_pair / args.rope_scale_factor, by_pair)
    return torch.where((lengths <= low) & (lengths >= high), between, scaled)


def _powers(args: ModelArgs) -> torch.Tensor:
    rotated = args.rotated_channels
    return torch.arange(0, rotated, 2, dtype=torch.int64).float() / rotated


def _plain_frequencies(args: ModelArgs, base: float) -> torch.Tensor:
    result: torch.Tensor = 1.0 / (base ** _powers(args))
    return result


def _yarn_frequencies(args: ModelArgs, factor: float) -> torch.Tensor:
    """Divide low frequencies by the factor and keep high ones, with a ramp between (YaRN)."""
    pairs, original = args.rotated_channels // 2, args.original_max_position_embeddings
    assert original is not None

    def pair_with(turns: float) -> float:
        """The (fractional) pair of channels that makes the given number of turns within the original context."""
        return pairs * math.log(original / (turns * 2 * math.pi)) / math.log(args.rope_freq_base)

    first, last = pair_with(args.yarn_beta_fast), pair_with(args.yarn_beta_slow)
    if args.yarn_rounds_range:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * pairs - 1)
    # A range of one pair would divide by zero.
    width = last - first if last != first else 0.001
    share = ((torch.arange(pairs, dtype=torch.float32) - first) / width).clamp(0, 1)
    plain = _plain_frequencies(args, args.rope_freq_base)
    return plain / factor * share + plain * (1 - share)


def _is_long(args: ModelArgs) -> bool:
    return args.context > (args.original_max_position_embeddings or args.context)


def _factors(args: ModelArgs) -> list[float]:
    """Return the divisors of LongRoPE for the size of the cache, because cached keys cannot be rotated again."""
    factors = args.rope_scaling_long_factor if _is_long(args) else args.rope_scaling_short_factor
    assert factors is not None
    return factors


def _attention_factor(args: ModelArgs) -> float:
    """The factor of cosines and sines that LongRoPE and YaRN have."""
    if args.rope_scaling_short_factor is None and args.yarn_factor is None:
        return 1.0
    if args.rope_scaling_attention_factor is not None:
        return args.rope_scaling_attention_factor
    if args.yarn_factor is not None:
        return yarn_magnitude(args.yarn_factor)
    original = args.original_max_position_embeddings
    assert original is not None
    factor = (args.max_position_embeddings or original) / original
    return math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0


def rotation_tables(args: ModelArgs, *, is_local: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosines and sines, (positions, rotated channels / 2).

    is_local: those of layers with a window, which have no scaling, where `local_rope_theta` is given.
    """
    local = args.local_rope_theta if is_local else None
    by_pair = frequencies(args) if local is None else _plain_frequencies(args, local)
    angles = torch.outer(torch.arange(args.context, dtype=torch.float32), by_pair)
    factor = 1.0 if local is not None else _attention_factor(args)
    return angles.cos() * factor, angles.sin() * factor


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, halves: bool) -> torch.Tensor:
    """x [batch, positions, heads, channels] rotated by tables of its positions; channels beyond the tables stay."""
    rotated = 2 * cos.shape[-1]
    kept = x[..., rotated:]
    x = x[..., :rotated]
    cos, sin = cos[:, None, :], sin[:, None, :]
    if halves:
        low, high = x.chunk(2, dim=-1)
        turned = torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)
    else:
        low, high = x.unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack((low * cos - high * sin, low * sin + high * cos), dim=-1).flatten(-2)
    return torch.cat((turned, kept), dim=-1) if kept.shape[-1] else turned
