# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments for a transformers model, from the names of its forward's parameters and its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

TOKENS = 12


def _attribute(config: Any, *names: str, default: Any) -> Any:
    """The first of these attributes, of the configuration or of one inside it."""
    inside = [
        getattr(config, name, None) for name in ("vision_config", "text_config", "audio_config", "backbone_config")
    ]
    for one in (config, *inside):
        for name in names:
            if (value := getattr(one, name, None)) is not None:
                return value
    return default


def _words(config: Any, batch: int) -> torch.Tensor:
    size = _attribute(config, "vocab_size", default=128)
    special = {
        value for name, value in _items(config) if name.endswith(("token_id", "token_index")) and isinstance(value, int)
    }
    free = [one for one in range(min(size, 256)) if one not in special] or [0]
    return torch.tensor(free)[torch.randint(len(free), (batch, TOKENS))]


def _items(config: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(config).items():
        yield name, value
        if name.endswith("_config") and hasattr(value, "to_dict"):
            yield from _items(value)


def _image(config: Any, batch: int) -> torch.Tensor:
    side = _attribute(config, "image_size", "input_size", default=64)
    height, width = (side[-2], side[-1]) if isinstance(side, (list, tuple)) else (side, side)
    return torch.randn(
        batch, int(_attribute(config, "num_channels", "in_channels", "in_chans", default=3)), height, width
    )


def _video(config: Any, batch: int) -> torch.Tensor:
    image = _image(config, batch)
    return image.unsqueeze(1).repeat(1, int(_attribute(config, "num_frames", default=2)), 1, 1, 1)


def _features(config: Any, batch: int) -> torch.Tensor:
    bins = _attribute(config, "num_mel_bins", "feature_size", "input_feat_per_channel", "input_dim", default=80)
    frames = 2 * int(_attribute(config, "max_source_positions", default=64))
    first = torch.randn(batch, int(bins), min(frames, 3000))
    return first if "hisper" in type(config).__name__ else first.transpose(1, 2).contiguous()


def _sound(config: Any, batch: int) -> torch.Tensor:
    """A waveform, or the spectrogram of one where the configuration says how many bins it has."""
    bins, frames = getattr(config, "num_mel_bins", None), getattr(config, "max_length", None)
    if isinstance(bins, int) and isinstance(frames, int):
        return torch.randn(batch, frames, bins)
    return torch.randn(batch, 4000)


def _hidden(config: Any, batch: int) -> torch.Tensor:
    return torch.randn(batch, TOKENS, int(_attribute(config, "hidden_size", "d_model", default=64)))


def _series(config: Any, batch: int) -> torch.Tensor:
    length = int(_attribute(config, "context_length", default=32))
    return torch.randn(batch, length, int(_attribute(config, "num_input_channels", default=1)))


# A parameter of forward → its value for a batch.
MAKERS: dict[str, Callable[[Any, int], Any]] = {
    "input_ids": _words,
    "decoder_input_ids": _words,
    "query_embeds": _hidden,
    "attention_mask": lambda config, batch: torch.ones(batch, TOKENS, dtype=torch.int64),
    "decoder_attention_mask": lambda config, batch: torch.ones(batch, TOKENS, dtype=torch.int64),
    "bbox": lambda config, batch: torch.zeros(batch, TOKENS, 4, dtype=torch.int64),
    "pixel_values": _image,
    "pixel_values_videos": _video,
    "input_values": _sound,
    "input_features": _features,
    "hidden_states": _hidden,
    "inputs_embeds": _hidden,
    "encoder_hidden_states": _hidden,
    "past_values": lambda config, batch: torch.randn(
        batch,
        int(_attribute(config, "context_length", default=32)),
        int(_attribute(config, "num_input_channels", default=1)),
    ),
}
# Tried in turn, after what forward requires: the main input with one of these.
_PARTNERS: tuple[tuple[str, ...], ...] = (
    (),
    ("decoder_input_ids",),
    ("input_ids",),
    ("pixel_values",),
    ("input_ids", "pixel_values"),
    ("input_ids", "bbox"),
    ("input_ids", "input_features"),
    ("input_features", "decoder_input_ids"),
    ("input_values", "input_ids"),
    ("hidden_states",),
    ("inputs_embeds",),
)


def choices(model: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Sets of keyword arguments to try."""
    parameters = inspect.signature(model.forward).parameters
    required = [
        name
        for name, one in parameters.items()
        if one.default is inspect.Parameter.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    main = getattr(model, "main_input_name", "input_ids")
    if any(name not in MAKERS for name in required):
        return
    fixed = {"use_cache": False} if "use_cache" in parameters else {}
    seen: list[set[str]] = []
    for partners in _PARTNERS:
        names = {*required, *partners, *([main] if main in parameters and main in MAKERS else [])}
        if not names or names in seen or not names <= set(parameters):
            continue
        seen.append(names)
        yield {name: MAKERS[name](model.config, batch) for name in parameters if name in names} | fixed
