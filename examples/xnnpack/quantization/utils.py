# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""8-bit quantization by XNNPACKQuantizer, in torchao's flow."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch.export import ExportedProgram
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # type: ignore[import-untyped]

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    NothingQuantizedError,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.examples.models import available_models
from executorch.examples.xnnpack import MODEL_NAME_TO_OPTIONS, QuantType


def quantize(
    model: torch.fx.GraphModule,
    example_inputs: tuple[Any, ...],
    quant_type: QuantType = QuantType.STATIC_PER_TENSOR,
    *,
    strict: bool = False,
) -> torch.fx.GraphModule:
    """Return the exported model quantized, calibrated with one call of the example inputs.

    If no operator of the model can be quantized like this, a warning says why and the model stays in float; with
    `strict`, `NothingQuantizedError` is raised. ValueError: quant_type is QuantType.NONE.
    """
    if quant_type is QuantType.NONE:
        raise ValueError("quantize: quant_type is QuantType.NONE; expected a kind of quantization")
    config = get_symmetric_quantization_config(
        is_per_channel=quant_type in (QuantType.STATIC_PER_CHANNEL, QuantType.DYNAMIC_PER_CHANNEL),
        is_dynamic=quant_type is QuantType.DYNAMIC_PER_CHANNEL,
    )
    prepared = prepare_pt2e(model, XNNPACKQuantizer(strict=strict).set_global(config))
    prepared(*example_inputs)
    quantized: torch.fx.GraphModule = convert_pt2e(prepared)
    return quantized


def check_is_quantizable(parser: argparse.ArgumentParser, name: str) -> None:
    """End the command with code 2 if no quantization of the example model is known."""
    if name not in MODEL_NAME_TO_OPTIONS:
        known = ", ".join(model for model in available_models() if model in MODEL_NAME_TO_OPTIONS)
        parser.error(f"no quantization is known for example model '{name}': expected one of: {known}")


def quantize_example(
    parser: argparse.ArgumentParser, name: str, exported: ExportedProgram, example_inputs: tuple[Any, ...]
) -> torch.fx.GraphModule:
    """Return an example model quantized as its options say. Ends the command with code 2 if nothing is quantized."""
    kind = MODEL_NAME_TO_OPTIONS[name].quantization
    try:
        return quantize(exported.module(), example_inputs, kind, strict=True)
    except NothingQuantizedError as error:
        parser.error(f"NothingQuantizedError: example model '{name}' with {kind}: {error}")
