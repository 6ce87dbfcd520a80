# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The steps from a model to a quantized program, as users write them, and how near two results are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torchao.quantization.pt2e import move_exported_model_to_eval
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import Quantizer

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.runtime import Runtime

Inputs = tuple[torch.Tensor, ...]


def quantized(
    model: torch.nn.Module, quantizer: Quantizer, data: Sequence[Inputs], is_qat: bool = False, shapes: Any = None
) -> torch.fx.GraphModule:
    """The model with quantize and dequantize operators, calibrated with all of `data`."""
    captured = torch.export.export(model.train(is_qat), data[0], dynamic_shapes=shapes).module()
    prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(captured, quantizer)
    for inputs in data:
        prepared(*inputs)
    converted: torch.fx.GraphModule = convert_pt2e(prepared)
    if is_qat:
        move_exported_model_to_eval(converted)
    return converted


def lowered_on_xnnpack(model: torch.nn.Module, inputs: Inputs, shapes: Any = None) -> EdgeProgramManager:
    exported = torch.export.export(model, inputs, dynamic_shapes=shapes)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])


def run(manager: EdgeProgramManager, inputs: Inputs) -> torch.Tensor:
    program = Runtime.get().load_program(manager.to_executorch().buffer)
    result: torch.Tensor = program.load_method("forward").execute(inputs)[0]
    return result


def sqnr(exact: torch.Tensor, other: torch.Tensor) -> float:
    """Signal to quantization noise in dB."""
    signal, noise = (float(tensor.detach().double().pow(2).sum()) for tensor in (exact, exact - other))
    return 10 * math.log10(signal / noise) if noise else math.inf
