# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`MultimodalRunner`: text after prompts of text, images and audio."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from executorch.extension.llm.runner.text.text_llm_runner import Runner, StatsCallback, TokenCallback, _native

Image: Any = _native.Image
"""Pixels in the order channels, rows, columns: `Image(data, width, height, channels)`."""
Audio: Any = _native.Audio
"""Preprocessed audio: `Audio(data, batch_size, n_bins, n_frames)`."""
RawAudio: Any = _native.RawAudio
"""Samples: `RawAudio(data, batch_size, n_channels, n_samples)`."""
MultimodalInput: Any = _native.MultimodalInput
"""One part of a prompt: `is_text()`, `get_text()` and the same for tokens, image, audio and raw_audio."""
make_text_input: Any = _native.make_text_input
make_token_input: Any = _native.make_token_input
make_image_input: Any = _native.make_image_input
"""An image from a tensor [C, H, W] or [H, W, C] (torch, numpy, DLPack), with or without a batch of one."""
make_audio_input: Any = _native.make_audio_input
"""Audio from a tensor [batch, bins, frames]."""
make_raw_audio_input: Any = _native.make_raw_audio_input
"""Audio from a uint8 tensor [batch, channels, samples]."""


class MultimodalRunner(Runner[Sequence[Any]]):
    """Generates text after a list of `MultimodalInput`."""

    _kind = "MultimodalRunner"

    def prefill(self, inputs: Sequence[Any], *, num_bos: int = 0, num_eos: int = 0) -> int:
        """Append inputs to the cache; return the most likely next token."""
        return self._prefill(inputs, num_bos, num_eos)

    def generate_text(self, inputs: Sequence[Any], config: Any = None) -> str:
        """Return the generated text."""
        pieces: list[str] = []
        self.generate(inputs, config, pieces.append)
        return "".join(pieces)

    def generate_hf(
        self,
        inputs: Mapping[str, Any] | Sequence[Any],
        config: Any = None,
        image_token_id: int | None = None,
        token_callback: TokenCallback | None = None,
        stats_callback: StatsCallback | None = None,
    ) -> None:
        """Generate after the outputs of a Hugging Face processor: `input_ids`, and `pixel_values` of images.

        inputs: these outputs, or a list of `MultimodalInput` as `generate` takes it.
        image_token_id: the token that stands for an image in `input_ids`; by default `inputs["image_token_id"]`.
        """
        self.generate(_inputs_of(inputs, image_token_id), config, token_callback, stats_callback)

    def generate_text_hf(
        self, inputs: Mapping[str, Any] | Sequence[Any], config: Any = None, image_token_id: int | None = None
    ) -> str:
        """Return the text that `generate_hf` generates."""
        return self.generate_text(_inputs_of(inputs, image_token_id), config)


def _inputs_of(inputs: Mapping[str, Any] | Sequence[Any], image_token_id: int | None) -> list[Any]:
    """Split tokens at the runs of image tokens, each of which stands for one image."""
    if not isinstance(inputs, Mapping):
        return list(inputs)
    if "input_ids" not in inputs:
        raise ValueError(f"inputs: expected 'input_ids', found {sorted(inputs)}")
    rows = inputs["input_ids"]
    rows = rows.tolist() if hasattr(rows, "tolist") else list(rows)
    if rows and isinstance(rows[0], list):
        if len(rows) != 1:
            raise ValueError(f"input_ids: expected one text, found {len(rows)}")
        rows = rows[0]
    for key in ("image_token_id", "image_token_index"):
        if image_token_id is None and key in inputs:
            image_token_id = int(inputs[key])
    pixels = inputs.get("pixel_values")
    if pixels is None:
        if image_token_id in rows:
            raise ValueError(f"pixel_values: expected an image, because input_ids has the image token {image_token_id}")
        return [make_token_input(rows)]
    if image_token_id is None:
        raise ValueError("pixel_values: expected image_token_id, the token that stands for an image")
    images = list(pixels) if len(pixels.shape) == 4 else [pixels]
    parts: list[Any] = []
    for is_image, tokens in itertools.groupby(rows, lambda token: token == image_token_id):
        if not is_image:
            parts.append(make_token_input(list(tokens)))
        elif images:
            parts.append(make_image_input(images.pop(0)))
        else:
            raise ValueError("input_ids: found more runs of image tokens than images in pixel_values")
    if images:
        raise ValueError(f"pixel_values: {len(images)} images have no image tokens in input_ids")
    return parts
