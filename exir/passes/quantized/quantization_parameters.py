# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Refuses scales that stand for no numbers, which otherwise give NaN, zeros or a delegate that does not load."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.error import VerificationError
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
    """Raises `VerificationError` naming each quantize and dequantize whose constant scale is not positive and finite,
    or whose limits are out of order. Scales that are computed while running are not known here.
    """
    known = constant_tensors(program)
    nodes = [node for held in all_graph_modules(program.graph_module) for node in held.graph.nodes]
    findings: list[tuple[Node | str | None, str]] = []
    for node in nodes:
        why = _fault(node, known) if _quantizes(node) else None
        if why:
            findings.append((node, why))
    if findings:
        raise VerificationError("quantization parameters", findings)


def _quantizes(node: Node) -> bool:
    name = getattr(node.target, "name", None)
    return node.op == "call_function" and callable(name) and str(name()).startswith(_OPERATORS)


def _fault(node: Node, known: dict[str, torch.Tensor]) -> str | None:
    names = {item.name for item in node.target._schema.arguments}  # type: ignore[union-attr]
    for name in names.intersection(_SCALES):
        bad = _not_positive(argument(node, name), known)
        if bad is not None:
            return f"its {name} is {bad}, expected positive and finite: {_ADVICE}"
    if {"quant_min", "quant_max"} <= names:
        least, most = argument(node, "quant_min"), argument(node, "quant_max")
        if least is not None and most is not None and least >= most:
            return f"its integers are from {least} to {most}, expected quant_min < quant_max"
    return None


def _not_positive(scale: Any, known: dict[str, torch.Tensor]) -> str | None:
    """The text of a scale, or of the first of several, that is none."""
    if isinstance(scale, (int, float)):
        return None if math.isfinite(scale) and scale > 0 else str(scale)
    tensor = known.get(scale.name) if isinstance(scale, Node) else None
    if tensor is None or not tensor.is_floating_point():
        return None
    flat = tensor.detach().reshape(-1)
    bad = ~(torch.isfinite(flat) & (flat > 0))
    if not bool(bad.any()):
        return None
    index = int(bad.nonzero()[0])
    return f"{float(flat[index])} (number {index} of {flat.numel()})" if flat.numel() > 1 else str(float(flat[index]))
