# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One table of the models that tests and benchmarks run, by name."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from models.decoder import Decoder
from models.timm_models import create_model


class Example(NamedTuple):
    """A model in evaluation mode and the arguments of one call."""

    model: nn.Module
    inputs: tuple[torch.Tensor, ...]


class Recurrent(nn.Module):
    """A recurrent layer whose hidden state starts at zero; gives the outputs of all steps."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class BertOutput(nn.Module):
    """The last hidden state of a BERT encoder, as a plain tensor."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def _timm(name: str) -> Callable[[], Example]:
    return lambda: Example(create_model(name), (torch.randn(1, 3, 224, 224),))


def _minilm() -> Example:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers imports torchao, which complains of its CUDA libraries
        from transformers import BertConfig, BertModel
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    ids = torch.randint(0, config.vocab_size, (1, 128))
    return Example(BertOutput(BertModel(config, add_pooling_layer=False)), (ids, torch.ones_like(ids)))


def _mlp() -> Example:
    return Example(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), (torch.randn(1, 64),))


_BUILDERS: dict[str, Callable[[], Example]] = {
    "mlp": _mlp,
    "lstm": lambda: Example(Recurrent(nn.LSTM(32, 64, num_layers=2, batch_first=True)), (torch.randn(1, 16, 32),)),
    "gru": lambda: Example(Recurrent(nn.GRU(32, 64, num_layers=2, batch_first=True)), (torch.randn(1, 16, 32),)),
    "decoder": lambda: Example(Decoder(), (torch.randint(0, 256, (1, 64)),)),
    "minilm": _minilm,
    "vit_tiny": _timm("vit_tiny_patch16_224"),
    "resnet18": _timm("resnet18"),
    "mobilenet_v2": _timm("mobilenetv2_100"),
    "mobilenet_v3": _timm("mobilenetv3_large_100"),
}
NAMES = tuple(_BUILDERS)


def make(name: str, seed: int = 0) -> Example:
    """The model ``name`` with weights and inputs drawn from ``seed``."""
    torch.manual_seed(seed)
    model, inputs = _BUILDERS[name]()
    return Example(model.eval(), inputs)
