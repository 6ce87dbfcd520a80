# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pairs of dequantize and quantize."""

import importlib

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed


def _requantized(x: torch.Tensor) -> torch.Tensor:
    q, parameters = torch.ops.quantized_decomposed, (0.1, 3, -128, 127, torch.int8)
    return q.quantize_per_tensor(q.dequantize_per_tensor(x, *parameters), *parameters) + 1


def test_a_pair_with_equal_parameters_is_removed() -> None:
    assert_step_saves("FoldQuantizationPass", kind_of(_requantized, (torch.tensor([1, -5, 7], dtype=torch.int8),)))
