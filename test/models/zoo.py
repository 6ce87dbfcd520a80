# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One table of the models that tests and benchmarks run, by name."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from .decoder import CachedDecoder, Decoder
from .detector import Detector
from .timm_models import create_model
from .unet import UNet


class Example(NamedTuple):
    """A model in evaluation mode and the arguments of one call."""

    model: nn.Module
    inputs: tuple[torch.Tensor, ...]


class Recurrent(nn.Module):
    """A recurrent layer whose hidden state starts at zero; returns the outputs of all steps."""

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


class WhisperEncoder(nn.Module):
    """The last hidden state of a Whisper encoder, as a plain tensor."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.encoder(features).last_hidden_state


def _timm(name: str) -> Callable[[], Example]:
    return lambda: Example(create_model(name), (torch.randn(1, 3, 224, 224),))


def _transformers() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers imports torchao, which warns of missing CUDA libraries
        import transformers
        from transformers import BertModel, WhisperModel  # noqa: F401 (the imports that warn)
    return transformers


def _bert(**sizes: int) -> Callable[[], Example]:
    def build() -> Example:
        library = _transformers()
        config = library.BertConfig(**sizes)
        ids = torch.randint(0, config.vocab_size, (1, 128))
        encoder = BertOutput(library.BertModel(config, add_pooling_layer=False))
        return Example(encoder, (ids, torch.ones_like(ids)))

    return build


def _whisper_encoder() -> Example:
    """The encoder of whisper-tiny, for 10 s of sound."""
    library = _transformers()
    config = library.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, max_source_positions=500
    )
    return Example(WhisperEncoder(library.WhisperModel(config).encoder), (torch.randn(1, 80, 1000),))


def _mlp() -> Example:
    return Example(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), (torch.randn(1, 64),))


_BUILDERS: dict[str, Callable[[], Example]] = {
    "mlp": _mlp,
    "lstm": lambda: Example(Recurrent(nn.LSTM(32, 64, num_layers=2, batch_first=True)), (torch.randn(1, 16, 32),)),
    "gru": lambda: Example(Recurrent(nn.GRU(32, 64, num_layers=2, batch_first=True)), (torch.randn(1, 16, 32),)),
    "decoder": lambda: Example(Decoder(), (torch.randint(0, 256, (1, 64)),)),
    "minilm": _bert(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536),
    "vit_tiny": _timm("vit_tiny_patch16_224"),
    "resnet18": _timm("resnet18"),
    "mobilenet_v2": _timm("mobilenetv2_100"),
    "mobilenet_v3": _timm("mobilenetv3_large_100"),
}
# Models for benchmarks: too large for the tests.
_LARGE_BUILDERS: dict[str, Callable[[], Example]] = {
    "resnet50": _timm("resnet50"),
    "resnext50": _timm("resnext50_32x4d"),
    "efficientnet_b0": _timm("efficientnet_b0"),
    "convnext_atto": _timm("convnext_atto"),
    "fastvit_t8": _timm("fastvit_t8"),
    "unet": lambda: Example(UNet(), (torch.randn(1, 3, 128, 128),)),
    "detector": lambda: Example(Detector(), (torch.randn(1, 3, 224, 224),)),
    "whisper_encoder": _whisper_encoder,
    "bert": _bert(),
    "decoder_512": lambda: Example(Decoder(dim=512, layers=8, heads=8), (torch.randint(0, 256, (1, 64)),)),
    "decoder_512_token": lambda: Example(
        CachedDecoder(dim=512, layers=8, heads=8), (torch.randint(0, 256, (1, 1)), torch.tensor([63]))
    ),
    "lstm_256": lambda: Example(
        Recurrent(nn.LSTM(128, 256, num_layers=2, batch_first=True)), (torch.randn(1, 32, 128),)
    ),
    "gru_256": lambda: Example(Recurrent(nn.GRU(128, 256, num_layers=2, batch_first=True)), (torch.randn(1, 32, 128),)),
    "linear_1024": lambda: Example(nn.Linear(1024, 1024), (torch.randn(128, 1024),)),
    "depthwise_112": lambda: Example(nn.Conv2d(32, 32, 3, padding=1, groups=32), (torch.randn(1, 32, 112, 112),)),
}
NAMES = tuple(_BUILDERS)
LARGE_NAMES = tuple(_LARGE_BUILDERS)


def make(name: str, seed: int = 0) -> Example:
    """Return the model ``name`` with weights and inputs drawn from ``seed``."""
    torch.manual_seed(seed)
    model, inputs = {**_BUILDERS, **_LARGE_BUILDERS}[name]()
    return Example(model.eval(), inputs)
