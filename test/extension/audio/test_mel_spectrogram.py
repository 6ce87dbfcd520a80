# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The log-mel spectrogram equals transformers' feature extractor, in eager mode and as a program."""

from pathlib import Path

import numpy as np
import pytest
import torch
from oracle.tolerances import LAST_BIT, MODEL, absolute
from transformers import WhisperFeatureExtractor

from executorch.extension.audio.mel_spectrogram import WhisperAudioProcessor, main
from executorch.runtime import Runtime


def waveform(seconds: float, rate: int = 16000) -> torch.Tensor:
    """A rising tone with noise."""
    time = torch.arange(int(seconds * rate)) / rate
    noise = torch.randn(len(time), generator=torch.Generator().manual_seed(0))
    return torch.sin(2 * torch.pi * (200 + 300 * time) * time) + 0.1 * noise


@pytest.mark.parametrize("bands", [80, 128])
@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_the_spectrogram_equals_that_of_transformers(bands: int, seconds: float) -> None:
    audio = waveform(seconds)
    extractor = WhisperFeatureExtractor(feature_size=bands, chunk_length=3)
    expected = extractor(audio.numpy(), sampling_rate=16000, return_tensors="np").input_features
    found = WhisperAudioProcessor(feature_size=bands, chunk_length=3)(audio)
    assert found.shape == (1, bands, 300)
    np.testing.assert_allclose(found.numpy(), expected, atol=MODEL["atol"])


def test_the_mel_filters_equal_those_of_transformers() -> None:
    expected = WhisperFeatureExtractor(feature_size=80).mel_filters.T
    np.testing.assert_allclose(WhisperAudioProcessor().mel_filters.numpy(), expected, atol=LAST_BIT["rtol"])


@pytest.mark.parametrize("backend", ["xnnpack", "portable"])
def test_an_exported_program_takes_waveforms_of_any_length(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "made" / "mel.pte"
    main(["--chunk_length", "1", "--max_audio_len", "3", "--backend", backend, "--output_file", str(path)])
    method = Runtime.get().load_program(path).load_method("forward")
    model = WhisperAudioProcessor(chunk_length=1, max_audio_len=3)
    for seconds in (0.25, 1.0, 2.5, 3.0):
        audio = waveform(seconds)
        (output,) = method.execute((audio,))
        torch.testing.assert_close(output, model(audio), **absolute(MODEL))


def test_a_streaming_program_returns_a_frame_for_each_hop(tmp_path: Path) -> None:
    path = tmp_path / "mel.pte"
    main(["--streaming", "--output_file", str(path)])
    method = Runtime.get().load_program(path).load_method("forward")
    for samples in (201, 320, 1600, 31_999):
        audio = waveform(2)[:samples]
        (output,) = method.execute((audio,))
        assert output.shape == (1, 80, samples // 160)
        torch.testing.assert_close(output, WhisperAudioProcessor(streaming=True)(audio), **absolute(MODEL))


def test_chunks_may_be_stacked_along_the_batch() -> None:
    audio = waveform(2.5)
    plain = WhisperAudioProcessor(chunk_length=1)(audio)
    stacked = WhisperAudioProcessor(chunk_length=1, stack_output=True)(audio)
    assert stacked.shape == (3, 80, 100)
    assert torch.equal(stacked, torch.stack(plain[0].split(100, dim=1)))


@pytest.mark.parametrize("wrong", [{"feature_size": 0}, {"n_fft": -1}, {"stack_output": True, "streaming": True}])
def test_wrong_arguments_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"feature_size|n_fft|stack_output"):
        WhisperAudioProcessor(**wrong)
