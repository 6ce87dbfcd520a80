# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantization of the example models for XNNPACK."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class QuantType(Enum):
    """Kinds of 8-bit quantization."""

    NONE = 1
    STATIC_PER_TENSOR = 2  # for operators without weights
    STATIC_PER_CHANNEL = 3  # for convolutions
    DYNAMIC_PER_CHANNEL = 4  # for linear layers and transformers


@dataclass
class XNNPACKOptions:
    """Quantization of a model, and whether it is delegated to XNNPACK."""

    quantization: QuantType
    delegation: bool


_MODELS_BY_QUANTIZATION = {
    QuantType.STATIC_PER_TENSOR: ("add", "add_mul"),
    QuantType.STATIC_PER_CHANNEL: (
        *("linear", "dl3", "ic3", "ic4", "mv2", "mv3", "resnet18", "resnet50", "edsr", "emformer_transcribe"),
        "w2l",  # convolutions only: dynamic quantization would leave the model in float
    ),
    QuantType.DYNAMIC_PER_CHANNEL: ("vit", "mobilebert", "llama2", "emformer_join", "emformer_predict"),
}
MODEL_NAME_TO_OPTIONS = {
    name: XNNPACKOptions(quantization, delegation=True)
    for quantization, names in _MODELS_BY_QUANTIZATION.items()
    for name in names
}

__all__ = ["MODEL_NAME_TO_OPTIONS", "QuantType", "XNNPACKOptions"]
