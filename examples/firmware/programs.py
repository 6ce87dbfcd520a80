# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write programs for the firmware, with inputs: handwritten digits in float32 and int8, a network of the size of a
keyword spotter, and one for sentences of up to 12 words (the last two have random weights).

    python examples/firmware/programs.py FOLDER

For each program, the folder gets <name>.pte, <name>_memory.h with its memory needs, <name>.samples (see main.c), and
<name>.expected, the outputs of this machine's runtime, one per line."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sklearn.datasets import load_digits, load_sample_image
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge
from executorch.export.memory_header import memory_header
from executorch.runtime import Runtime


def trained_digits(pixels: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    """Return a small network, trained on scikit-learn's handwritten digits in a few seconds."""
    layers = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
    model = nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(8):
        for part in torch.randperm(len(labels)).split(50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[part]), labels[part]).backward()
            optimizer.step()
    return model.eval()


def keyword_network() -> nn.Module:
    """Depthwise separable convolutions over 49 x 10 features, to 12 words: the DS-CNN-S of arXiv:1711.07128."""
    layers: list[nn.Module] = [nn.Conv2d(1, 64, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(64), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.BatchNorm2d(64), nn.ReLU()]
        layers += [nn.Conv2d(64, 64, 1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)).eval()


class Sentences(nn.Module):
    """The largest score of any word in a sentence of up to 12 words, of a vocabulary of 50."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.scores = nn.Embedding(50, 16), nn.Linear(16, 6)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.scores(torch.relu(self.embedding(words))).amax(1)


def patches(image: torch.Tensor) -> torch.Tensor:
    """Return three patches of a photograph of scikit-learn, each of the size of a second of audio: 49 x 10 features."""
    grey = image.float().mean(2) / 128 - 1
    return torch.stack([grey[y : y + 98 : 2, 300:320:2] for y in (50, 150, 250)])[:, None].contiguous()


def quantized(model: nn.Module, calibration: torch.Tensor) -> nn.Module:
    """Return the model quantized to int8, with ranges from the calibration data."""
    captured = torch.export.export(model, (calibration[:1],)).module()
    prepared = prepare_pt2e(
        captured, XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    )
    for sample in calibration.split(1):
        prepared(sample)
    return convert_pt2e(prepared)


def write(folder: Path, name: str, model: nn.Module, samples: Sequence[torch.Tensor], sizes: Any = None) -> None:
    manager = to_edge(torch.export.export(model, (samples[0],), dynamic_shapes=sizes)).to_executorch()
    (folder / f"{name}_memory.h").write_text(memory_header(manager, name))
    program = manager.buffer
    method = Runtime.get().load_program(program).load_method("forward")
    (folder / f"{name}.pte").write_bytes(program)
    padded = [x.numpy().tobytes() + bytes(-x.nbytes % 16) for x in samples]
    (folder / f"{name}.samples").write_bytes(b"".join(padded))
    lines = [" ".join(value.hex() for value in method.execute([x])[0].flatten().tolist()) for x in samples]
    (folder / f"{name}.expected").write_text("\n".join(lines) + "\n")


def main(folder: Path) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the models are small
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    pixels = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    model = trained_digits(pixels[:1500], torch.tensor(digits.target[:1500]))
    write(folder, "digits", model, pixels[1500:1510].split(1))
    write(folder, "digits_int8", quantized(model, pixels[:100]), pixels[1500:1510].split(1))
    write(folder, "keywords", keyword_network(), patches(torch.tensor(load_sample_image("flower.jpg"))).split(1))
    words = torch.randint(0, 50, (3, 12)).split(1)
    write(folder, "sentences", Sentences().eval(), words, sizes=({1: torch.export.Dim("words", max=12)},))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
