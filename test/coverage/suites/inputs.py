# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments for a transformers model, from the names of its forward's parameters, its configuration and its layers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..rule import Rule

_GRID = (1, 4, 4)  # frames, rows and columns of patches of one image


@dataclass(frozen=True)
class _Request:
    """The model, configuration, batch size, length of sequences and image that an argument is made for."""

    model: nn.Module
    config: Any
    batch: int
    tokens: int
    image: tuple[int, int]
    names: frozenset[str]

    def sizes(self, *names: str, default: int) -> list[int]:
        """Return the sizes with these names in the configuration and those inside it, then `default`.

        The order is that of `names`.
        """
        found = [
            value
            for name in names
            for one in _configurations(self.config)
            if isinstance(value := getattr(one, name, None), int) and not isinstance(value, bool) and value > 0
        ]
        return list(dict.fromkeys([*found, default]))

    def widths(self, *names: str, default: int) -> list[int]:
        """Return the first of `sizes`, then the input widths of the model's first layers."""
        return list(dict.fromkeys([*self.sizes(*names, default=default)[:1], *_first_widths(self.model)]))


def _configurations(config: Any) -> Iterator[Any]:
    """A configuration and those inside it."""
    yield config
    for value in vars(config).values():
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            yield from _configurations(value)


def _first_widths(model: nn.Module) -> list[int]:
    """The input widths of the first layers with weights of each kind, in the order of the model's definition."""
    widths: dict[type, int] = {}
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            widths.setdefault(nn.Linear, layer.in_features)
        elif isinstance(layer, (nn.Conv1d, nn.Conv2d)):
            widths.setdefault(type(layer), layer.in_channels)
        elif isinstance(layer, nn.LayerNorm):
            widths.setdefault(nn.LayerNorm, layer.normalized_shape[-1])
    return list(widths.values())


def _words(request: _Request) -> list[torch.Tensor]:
    size = request.sizes("vocab_size", default=128)[0]
    special = {
        value
        for one in _configurations(request.config)
        for name, value in vars(one).items()
        if name.endswith(("token_id", "token_index")) and isinstance(value, int)
    }
    free = [one for one in range(min(size, 256)) if one not in special] or [0]
    books = request.sizes("num_codebooks", "n_codebooks", "num_quantizers", default=1)[0]
    words = torch.tensor(free)
    one, several = (words[torch.randint(len(free), (request.batch * count, request.tokens))] for count in (1, books))
    return [one, several, several.unflatten(0, (request.batch, books))] if books > 1 else [one]


def _image(request: _Request) -> list[torch.Tensor]:
    if request.names & {"grid_thw", "image_grid_thw"}:
        return _patches(request)
    side: Any = next(
        (
            value
            for name in ("image_size", "input_size")
            for one in _configurations(request.config)
            if (value := getattr(one, name, None)) is not None
        ),
        request.image,
    )
    height, width = (side[-2], side[-1]) if isinstance(side, (list, tuple)) else (side, side)
    channels = request.sizes("num_channels", "in_channels", "in_chans", default=3)
    images = [torch.randn(request.batch, one, int(height), int(width)) for one in channels[:2]]
    frames = request.sizes("num_frames", default=1)[0]
    return [*images, *(images[0].unsqueeze(1).repeat(1, one, 1, 1, 1) for one in (frames, 2))]


def _patches(request: _Request) -> list[torch.Tensor]:
    """Flattened patches of images of `_GRID`, for vision towers that accept images of any size."""
    count = request.batch * _GRID[0] * _GRID[1] * _GRID[2]
    patch = request.sizes("patch_size", default=14)[0]
    frames = request.sizes("temporal_patch_size", default=1)[0]
    channels = request.sizes("in_channels", "in_chans", "num_channels", default=3)[0]
    flat = [torch.randn(count, channels * one * patch * patch) for one in dict.fromkeys((frames, 1))]
    return [*flat, *(torch.randn(count, one) for one in _first_widths(request.model))]


def _video(request: _Request) -> list[torch.Tensor]:
    frames = request.sizes("num_frames", default=2)[0]
    return [one.unsqueeze(1).repeat(1, frames, 1, 1, 1) for one in _image(request) if one.dim() == 4]


def _features(request: _Request) -> list[torch.Tensor]:
    bins = request.widths("num_mel_bins", "feature_size", "input_feat_per_channel", "input_dim", default=80)
    window = request.sizes("n_window", default=1)[0]
    frames = 2 * window if window > 1 else min(2 * request.sizes("max_source_positions", default=64)[0], 3000)
    later = [torch.randn(request.batch, frames, one) for one in bins]
    first = [one.transpose(1, 2).contiguous() for one in later]
    return [*first, *later] if "hisper" in type(request.config).__name__ else [*later, *first]


def _sound(request: _Request) -> list[torch.Tensor]:
    """A waveform, or the spectrogram of one where the configuration says how many bins it has."""
    bins, frames = (getattr(request.config, name, None) for name in ("num_mel_bins", "max_length"))
    waveform = torch.randn(request.batch, 4000)
    found = [waveform, waveform.unsqueeze(1)]
    if isinstance(bins, int) and isinstance(frames, int):
        return [torch.randn(request.batch, frames, bins), *found]
    return found


def _hidden(request: _Request) -> list[torch.Tensor]:
    if request.names & {"grid_thw", "image_grid_thw"}:
        return _patches(request)
    widths = request.widths("hidden_size", "d_model", default=64)
    return [torch.randn(request.batch, request.tokens, one) for one in widths]


def _latents(request: _Request) -> list[torch.Tensor]:
    found = _hidden(request)
    return [*found, *(one.transpose(1, 2).contiguous() for one in found)]


def _series(request: _Request, channels: str, default: int) -> torch.Tensor:
    """A series as long as the model looks back: its context and its largest lag."""
    lags = getattr(request.config, "lags_sequence", None) or [0]
    length = request.sizes("context_length", default=32)[0] + max(lags)
    width = request.sizes(channels, default=default)[0]
    has_channels = width > 1 or not hasattr(request.config, "lags_sequence") or channels != "input_size"
    return torch.randn(request.batch, length, width) if has_channels else torch.randn(request.batch, length)


def _past_values(request: _Request) -> list[torch.Tensor]:
    series = _series(request, "input_size" if hasattr(request.config, "lags_sequence") else "num_input_channels", 1)
    return [series, series[..., 0]] if series.dim() == 3 else [series]


def _ones(request: _Request) -> list[torch.Tensor]:
    return [torch.ones(request.batch, request.tokens, dtype=torch.int64)]


def _frame_mask(request: _Request) -> list[torch.Tensor]:
    """A mask of every frame of the features."""
    features = _features(request)
    return [torch.ones(request.batch, max(one.shape[1:]), dtype=torch.bool) for one in features[:1]]


def _grid(request: _Request) -> list[torch.Tensor]:
    return [torch.tensor([_GRID] * request.batch)]


# The names of a parameter of forward → its candidate values.
_MAKERS: tuple[tuple[re.Pattern[str], Callable[[_Request], list[Any]]], ...] = tuple(
    (re.compile(names), maker)
    for names, maker in (
        (r"(?:.*_)?input_ids|task_inputs", _words),
        (r"(?:decoder_|.*_text_|classes_|tasks_|qformer_)?attention_mask", _ones),
        (r"(?:input_features|audio_mel)_mask|mask", _frame_mask),
        (r"bbox", lambda request: [torch.zeros(request.batch, request.tokens, 4, dtype=torch.int64)]),
        (r"(?:image_)?grid_thw", _grid),
        (r"merge_sizes", lambda request: [torch.full((request.batch,), 2)]),
        (r"(?:prompt_)?pixel_values|image|prompt_masks", _image),
        (r"pixel_values_videos", _video),
        (r"input_values", _sound),
        (r"input_features|audio_mel|(?:mel_)?spectrogram", _features),
        (r"latents", _latents),
        (r"(?:.*_)?hidden_states|(?:.*_)?embeds|context|vision_features|text_features|vision_pos_encoding", _hidden),
        (r"decoder_queries|image_features", _hidden),
        (r"past_values", _past_values),
        (r"past_time_features", lambda request: [_series(request, "num_time_features", 1)]),
        (r"past_observed_mask", lambda request: [torch.ones_like(_past_values(request)[0])]),
    )
)
# Sets of optional parameters, tried in turn in addition to the required ones.
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
    ("past_time_features", "past_observed_mask"),
)


def _maker(name: str) -> Callable[[_Request], list[Any]] | None:
    return next((maker for names, maker in _MAKERS if names.fullmatch(name)), None)


@dataclass(frozen=True)
class Choice:
    """Parameters to pass to a model, and the index of the candidate value that each gets (its last if it has fewer)."""

    names: frozenset[str]
    candidate: int
    image: tuple[int, int]

    def arguments(self, model: Any, batch: int, tokens: int) -> dict[str, Any]:
        """The keyword arguments of a call with this batch size and this length of sequences."""
        request = _Request(model, model.config, batch, tokens, self.image, self.names)
        parameters = inspect.signature(model.forward).parameters
        found = {name: maker(request) for name in parameters if name in self.names and (maker := _maker(name))}
        fixed = {"use_cache": False} if "use_cache" in parameters else {}
        return {name: values[min(self.candidate, len(values) - 1)] for name, values in found.items()} | fixed


def _required(model: Any) -> list[str]:
    """The parameters of forward without a default."""
    return [
        name
        for name, one in inspect.signature(model.forward).parameters.items()
        if name != "self"
        and one.default is inspect.Parameter.empty
        and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]


def unknown(model: Any) -> list[str]:
    """The required parameters of forward that no rule makes. model: a model or its class."""
    return [name for name in _required(model) if _maker(name) is None]


def choices(model: Any, rule: Rule) -> Iterator[Choice]:
    """Sets of arguments to try, the likeliest first."""
    parameters, required = inspect.signature(model.forward).parameters, _required(model)
    main = getattr(model, "main_input_name", "input_ids")
    mains = [one for one in (main if isinstance(main, (list, tuple)) else [main]) if one in parameters and _maker(one)]
    chosen: list[frozenset[str]] = []
    for partners in _PARTNERS:
        names = frozenset((*required, *partners, *mains))
        if names and names not in chosen and names <= set(parameters):
            chosen.append(names)
    for names in chosen:
        request = _Request(model, model.config, 1, rule.tokens, rule.image, names)
        candidates = max(len(maker(request)) for name in names if (maker := _maker(name)))
        for candidate in range(candidates):
            yield Choice(names, candidate, rule.image)
