# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Whisper's log-mel spectrogram as an exportable module, and a command that writes it as a program.

``python -m executorch.extension.audio.mel_spectrogram --feature_size 80 --output_file whisper_preprocess.pte``
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.util.exit_code import exit_code

_HIGHEST_HZ = 8000.0
_STREAMING_SECONDS = 2
"""The longest window of a streaming program. Memory is planned for it; usual windows are fractions of a second."""


def _mel_to_hz(mel: torch.Tensor) -> torch.Tensor:
    """Slaney's scale: 200/3 Hz a mel up to 1000 Hz, then 27 mels for each factor of 6.4."""
    knee = 1000.0 * 3 / 200
    return torch.where(mel < knee, mel * 200 / 3, 1000.0 * torch.exp((mel - knee) * math.log(6.4) / 27))


def _hz_to_mel(hz: float) -> float:
    """The inverse of :func:`_mel_to_hz`."""
    return hz * 3 / 200 if hz < 1000 else 15 + 27 * math.log(hz / 1000) / math.log(6.4)


class WhisperAudioProcessor(torch.nn.Module):
    """Log-mel spectrogram of a mono waveform, equal to transformers' ``WhisperFeatureExtractor``.

    Args:
        feature_size: The number of mel bands.
        sampling_rate: Samples a second, in hertz.
        hop_length: Samples between the beginnings of two frames.
        chunk_length: Seconds of a chunk; the waveform is padded to whole chunks.
        n_fft: Samples of a frame.
        padding_value: The value of padded samples.
        max_audio_len: Seconds of the longest waveform that an exported program takes.
        stack_output: Return the chunks stacked along the batch dimension.
        streaming: Do not pad to whole chunks; return a frame for each hop of the waveform.

    Raises:
        ValueError: A size is not positive, or both ``stack_output`` and ``streaming`` are set.
    """

    mel_filters: torch.Tensor
    window: torch.Tensor

    def __init__(
        self,
        feature_size: int = 80,
        sampling_rate: int = 16000,
        hop_length: int = 160,
        chunk_length: int = 30,
        n_fft: int = 400,
        padding_value: float = 0.0,
        max_audio_len: int = 600,
        stack_output: bool = False,
        streaming: bool = False,
    ) -> None:
        super().__init__()
        sizes = {
            "feature_size": feature_size,
            "sampling_rate": sampling_rate,
            "hop_length": hop_length,
            "chunk_length": chunk_length,
            "n_fft": n_fft,
            "max_audio_len": max_audio_len,
        }
        for name, size in sizes.items():
            if size <= 0:
                raise ValueError(f"{name} is {size}, expected a positive number")
        if stack_output and streaming:
            raise ValueError("stack_output requires whole chunks and excludes streaming: set only one of them")
        self.feature_size = feature_size
        self.sampling_rate = sampling_rate
        self.hop_length = hop_length
        self.chunk_length = chunk_length
        self.n_fft = n_fft
        self.padding_value = padding_value
        self.max_audio_len = max_audio_len
        self.stack_output = stack_output
        self.streaming = streaming
        self.n_samples = chunk_length * sampling_rate
        self.nb_max_frames = self.n_samples // hop_length
        self.register_buffer("mel_filters", self.get_mel_filters(sampling_rate, n_fft, feature_size), persistent=False)
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)

    def get_mel_filters(
        self, sr: int, n_fft: int, n_mels: int = 128, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Triangular filters of equal area, evenly spaced from 0 to 8000 Hz on Slaney's mel scale.

        Args:
            sr: Samples a second.
            n_fft: Samples of a frame.
            n_mels: The number of filters.
            dtype: The result's dtype; the filters are computed in float64.

        Returns:
            A tensor of sizes [n_mels, n_fft // 2 + 1].
        """
        bins = torch.arange(n_fft // 2 + 1, dtype=torch.float64) * sr / n_fft
        edges = _mel_to_hz(torch.linspace(0, _hz_to_mel(_HIGHEST_HZ), n_mels + 2, dtype=torch.float64))
        low, center, high = (edges[i : i + n_mels, None] for i in range(3))
        rising = (bins - low) / (center - low)
        falling = (high - bins) / (high - center)
        return (torch.clamp(torch.minimum(rising, falling), min=0) * 2 / (high - low)).to(dtype)

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Compute the spectrogram.

        Args:
            waveform: Samples, of sizes [n]. In streaming mode n is larger than ``n_fft // 2``.

        Returns:
            Sizes [1, feature_size, nb_max_frames * chunks]; with ``stack_output``
            [chunks, feature_size, nb_max_frames]; in streaming mode [1, feature_size, n // hop_length].
        """
        if not self.streaming:
            chunks = (waveform.shape[0] - 1) // self.n_samples + 1
            missing = self.n_samples * chunks - waveform.shape[0]
            waveform = F.pad(waveform, (0, missing), mode="constant", value=self.padding_value)
        spectrum = torch.stft(waveform, self.n_fft, self.hop_length, window=self.window, return_complex=True)
        power = torch.abs(spectrum)[..., :-1] ** 2
        log_mel = torch.log10(torch.clamp(self.mel_filters @ power, min=1e-10))
        log_mel = (torch.maximum(log_mel, log_mel.max() - 8.0) + 4.0) / 4.0
        if self.stack_output:
            return log_mel.reshape(self.feature_size, -1, self.nb_max_frames).transpose(0, 1)
        return log_mel.unsqueeze(0)


def export_processor(
    output_file: str = "whisper_preprocess.pte", backend: str = "xnnpack", **model_kwargs: Any
) -> None:
    """Write a program whose method ``forward`` takes a waveform of any length up to ``max_audio_len`` seconds.

    Args:
        output_file: The program's path; missing folders are made.
        backend: ``"xnnpack"``, or ``"portable"`` for a program without delegates.
        model_kwargs: Arguments of :class:`WhisperAudioProcessor`.

    Raises:
        ValueError: The backend is not one of these, or an argument of the model is wrong.
    """
    if backend not in ("xnnpack", "portable"):
        raise ValueError(f"backend is {backend!r}, expected 'xnnpack' or 'portable'")
    model = WhisperAudioProcessor(**model_kwargs).eval()
    seconds = _STREAMING_SECONDS if model.streaming else model.max_audio_len
    longest = seconds * model.sampling_rate
    samples = torch.export.Dim("samples", min=model.n_fft // 2 + 1 if model.streaming else 2, max=longest)
    example = torch.zeros(min(longest, model.sampling_rate))
    # Otherwise the export is specialized to waveforms of more than one frame.
    with torch.fx.experimental._config.patch(backed_size_oblivious=True):
        exported = torch.export.export(model, (example,), dynamic_shapes=({0: samples},), strict=True)
    partitioner = [XnnpackPartitioner()] if backend == "xnnpack" else []
    program = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch()
    path = Path(output_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        program.write_to_file(file)


def main(arguments: list[str] | None = None) -> int:
    """Export the module with the sizes that the command line gives; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m executorch.extension.audio.mel_spectrogram", description=__doc__)
    defaults = {
        "feature_size": (80, "number of mel bands"),
        "sampling_rate": (16000, "samples a second, in hertz"),
        "hop_length": (160, "samples between the beginnings of two frames"),
        "chunk_length": (30, "seconds of a chunk"),
        "n_fft": (400, "samples of a frame"),
        "max_audio_len": (600, "seconds of the longest waveform"),
    }
    for name, (value, meaning) in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{meaning} (default: {value})")
    parser.add_argument("--output_file", default="whisper_preprocess.pte", help="path of the program")
    parser.add_argument("--stack_output", action="store_true", help="return chunks along the batch dimension")
    parser.add_argument("--streaming", action="store_true", help="do not pad to whole chunks")
    parser.add_argument("--backend", default="xnnpack", choices=["xnnpack", "portable"], help="backend of the program")
    given = vars(parser.parse_args(arguments))
    return exit_code("mel_spectrogram", lambda: export_processor(**given))


if __name__ == "__main__":
    sys.exit(main())
