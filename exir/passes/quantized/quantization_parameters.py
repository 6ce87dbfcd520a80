# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Refuse invalid scales, which otherwise give NaN, zeros or a delegate that does not load."""

from __future__ import annotations

import math

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.error import Rejection, VerificationError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.rewrite.node_rewrite import argument
from executorch.exir.rewrite.program_constants import constant_tensors

_OPERATORS = ("quantized_decomposed::quantize_per_", "quantized_decomposed::dequantize_per_")
_SCALES = ("scale", "scales")
_ADVICE = (
    "calibrate the prepared model with data that this layer sees in use, finite and not all zero, before convert; or "
    "leave the layer in float (`set_module_name(name, None)` of the quantizer)"
)


def check_quantization_parameters(program: ExportedProgram) -> None:
    """Raise `VerificationError` if a quantize or dequantize has an invalid scale, or quant_min ≥ quant_max.

    A constant scale must be positive and finite. Scales that are computed at run time are not checked.
    """
    constants = constant_tensors(program)
    nodes = [node for module in all_graph_modules(program.graph_module) for node in module.graph.nodes]
    findings: list[tuple[Node | str | None, str]] = []
    for node in nodes:
        rejection = _check(node, constants) if _quantizes(node) else None
        if rejection is not None:
            findings.append((node, rejection.reason))
    if findings:
        raise VerificationError("quantization parameters", findings)


def _quantizes(node: Node) -> bool:
    name = getattr(node.target, "name", None)
    return node.op == "call_function" and callable(name) and str(name()).startswith(_OPERATORS)


def _check(node: Node, constants: dict[str, torch.Tensor]) -> Rejection | None:
    names = {item.name for item in node.target._schema.arguments}  # type: ignore[union-attr]
    for name in names.intersection(_SCALES):
        bad = _invalid_scale(argument(node, name), constants)
        if bad is not None:
            return Rejection(f"its {name} is {bad}, expected positive and finite: {_ADVICE}")
    if {"quant_min", "quant_max"} <= names:
        low, high = argument(node, "quant_min"), argument(node, "quant_max")
        if low is not None and high is not None and low >= high:
            return Rejection(f"its integers are from {low} to {high}, expected quant_min < quant_max")
    return None


def _invalid_scale(scale: object, constants: dict[str, torch.Tensor]) -> str | None:
    """Return the first invalid scale as text, or None."""
    if isinstance(scale, (int, float)):
        return None if math.isfinite(scale) and scale > 0 else str(scale)
    tensor = constants.get(scale.name) if isinstance(scale, Node) else None
    if tensor is None or not tensor.is_floating_point():
        return None
    flat = tensor.detach().reshape(-1)
    bad = ~(torch.isfinite(flat) & (flat > 0))
    if not bool(bad.any()):
        return None
    index = int(bad.nonzero()[0])
    return f"{float(flat[index])} (index {index} of {flat.numel()})" if flat.numel() > 1 else str(float(flat[index]))
