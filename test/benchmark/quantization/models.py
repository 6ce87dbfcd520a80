# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The models whose quantization is measured, as they are before and after it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torchao.quantization import IntxWeightOnlyConfig, PerAxis, PerGroup, quantize_  # type: ignore[import-untyped]
from torchao.quantization.pt2e import move_exported_model_to_eval  # type: ignore[import-untyped]
from torchao.quantization.pt2e.quantize_pt2e import (  # type: ignore[import-untyped]
    convert_pt2e,
    prepare_pt2e,
    prepare_qat_pt2e,
)
from torchao.utils import unwrap_tensor_subclass  # type: ignore[import-untyped]

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "minilm"
Inputs = tuple[torch.Tensor, ...]


def quantized(
    model: nn.Module,
    inputs: Inputs,
    use: Callable[[Any], object],
    sizes: Any = None,
    **settings: Any,
) -> Any:
    """Quantize a model with torchao's flow. use: calibrates or trains the model. settings: of the quantizer."""
    config = get_symmetric_quantization_config(is_per_channel=True, **settings)
    captured = torch.export.export(model.train(config.is_qat), inputs, dynamic_shapes=sizes).module()
    prepare = prepare_qat_pt2e if config.is_qat else prepare_pt2e
    prepared = prepare(captured, XNNPACKQuantizer().set_global(config))
    use(prepared)
    converted = convert_pt2e(prepared)
    move_exported_model_to_eval(converted)
    return converted


def on_xnnpack(model: Any, inputs: Inputs, sizes: Any = None) -> bytes:
    """A program of the model."""
    exported = torch.export.export(model, inputs, dynamic_shapes=sizes)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    buffer: bytes = program.buffer
    return buffer


class Digits:
    """scikit-learn's handwritten digits and a small network of convolutions for them."""

    SIZES = ({0: torch.export.Dim("batch", max=1024)},)

    def __init__(self, seed: int) -> None:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped]

        torch.manual_seed(seed)
        digits = load_digits()
        self.pixels = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
        self.labels = torch.tensor(digits.target)
        order = torch.randperm(len(self.labels))
        self.known, self.unseen = order[:1200], order[1200:]
        self.inputs: Inputs = (self.pixels[:2],)
        self.model = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)),
        )
        self.fit(self.model, 8, 3e-3)
        self.model.eval()

    def fit(self, model: Any, epochs: int, rate: float) -> None:
        """Train."""
        optimizer = torch.optim.Adam(model.parameters(), rate)
        for _ in range(epochs):
            for part in self.known[torch.randperm(len(self.known))].split(100):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(self.pixels[part]), self.labels[part]).backward()
                optimizer.step()

    def accuracy(self, run: Callable[[torch.Tensor], torch.Tensor]) -> float:
        """In percent, on digits that were not seen."""
        result = run(self.pixels[self.unseen])
        return 100 * float((result.argmax(1) == self.labels[self.unseen]).float().mean())

    def variants(self) -> Iterable[tuple[str, bytes]]:
        """Programs: calibrated, fine-tuned, and with weights of four bits."""

        def calibrate(prepared: Any) -> None:
            prepared(self.pixels[self.known[:300]])

        def train(prepared: Any) -> None:
            self.fit(prepared, 3, 3e-4)

        kinds: tuple[tuple[str, Callable[[Any], None], dict[str, Any]], ...] = (
            ("PTQ", calibrate, {}),
            ("QAT", train, {"is_qat": True}),
            ("4-bit weights", calibrate, {"weight_qmin": -7, "weight_qmax": 7}),
        )
        for name, use, settings in kinds:
            quantized_model = quantized(copy.deepcopy(self.model), self.inputs, use, self.SIZES, **settings)
            yield name, on_xnnpack(quantized_model, self.inputs, self.SIZES)


class MiniLM:
    """The example's model with its own weights and text. bits: of the tables of embeddings; 32: float."""

    def __init__(self, bits: int) -> None:
        sys.path.insert(0, str(EXAMPLE))
        from model import load_model, load_tokenizer  # type: ignore[import-not-found]

        model, tokenizer = load_model(), load_tokenizer()
        lines = (EXAMPLE / "sentences.txt").read_text().splitlines()
        self.sentences = [torch.tensor([tokenizer.encode(line).ids]) for line in lines if line.strip()]
        example = (torch.ones(1, 16, dtype=torch.int64), torch.ones(1, 16, dtype=torch.int64))
        tokens = torch.export.Dim("tokens", min=2, max=128)
        sizes = ({1: tokens}, {1: tokens})
        tables = [module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding)]
        self.table_numbers, self.bits = sum(tables), bits
        self.float_program = on_xnnpack(model, example, sizes)
        if bits < 32:
            kind, granularity = {8: (torch.int8, PerAxis(0)), 4: (torch.int4, PerGroup(32))}[bits]
            config = IntxWeightOnlyConfig(weight_dtype=kind, granularity=granularity)
            quantize_(model, config, lambda module, name: isinstance(module, nn.Embedding))
            unwrap_tensor_subclass(model)
        first = (self.sentences[0], torch.ones_like(self.sentences[0]))
        quantized_model = quantized(model, example, lambda prepared: prepared(*first), sizes, is_dynamic=True)
        self.program = on_xnnpack(quantized_model, example, sizes)
