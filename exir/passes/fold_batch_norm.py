# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A batch norm behind a convolution is a factor and an offset a channel: both go into the convolution's weights."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram

from executorch.exir.passes.node_rewrite import replace_by
from executorch.exir.passes.program_constants import add_constant, constant_tensors, drop_unused_constants

_BATCH_NORM = "aten::_native_batch_norm_legit_no_training"
_CONVOLUTION = "aten::convolution"


def fold_batch_norm(program: ExportedProgram) -> None:
    """Folds every batch norm with constant statistics whose input is a convolution that nothing else reads, in place.

    w' = w * factor, b' = (b - mean) * factor + beta with factor = gamma / sqrt(variance + epsilon), computed in
    float64. Transposed convolutions are left alone.
    """
    known = constant_tensors(program)
    for node in list(program.graph.nodes):
        if _name(node) == _BATCH_NORM and _foldable(node, known):
            _fold(program, node, known)
    drop_unused_constants(program)


def _name(node: Any) -> str:
    if not isinstance(node, fx.Node) or node.op != "call_function":
        return ""
    name = getattr(node.target, "name", None)
    return str(name()) if callable(name) else ""


def _is_known(value: Any, known: dict[str, torch.Tensor]) -> bool:
    return value is None or (isinstance(value, fx.Node) and value.name in known)


def _foldable(node: fx.Node, known: dict[str, torch.Tensor]) -> bool:
    source: Any = node.args[0]
    if _name(source) != _CONVOLUTION or len(source.users) != 1 or source.args[6] is not False:
        return False
    first_only = all(user.target is operator.getitem and user.args[1] == 0 for user in node.users)
    weight, bias = source.args[1], source.args[2]
    constant = all(_is_known(value, known) for value in (weight, bias, *node.args[1:5]))
    if not (first_only and constant and len(weight.users) == 1):
        return False
    return known[weight.name].dtype in (torch.float32, torch.float64)


def _fold(program: ExportedProgram, node: fx.Node, known: dict[str, torch.Tensor]) -> None:
    convolution: Any = node.args[0]
    weight_node, bias_node = convolution.args[1], convolution.args[2]

    def value(held: Any, default: float) -> torch.Tensor:
        return torch.tensor(default, dtype=torch.float64) if held is None else known[held.name].detach().double()

    gamma, beta = value(node.args[1], 1.0), value(node.args[2], 0.0)
    mean, variance = value(node.args[3], 0.0), value(node.args[4], 1.0)
    epsilon: Any = node.args[6]
    weight = known[weight_node.name].detach()
    factor = (gamma / torch.sqrt(variance + epsilon)).expand(weight.shape[0])
    new_weight = weight * factor.to(weight.dtype).reshape(-1, *[1] * (weight.dim() - 1))
    offset = (value(bias_node, 0.0) - mean) * factor + beta
    fake = weight_node.meta["val"]
    with fake.fake_mode:
        fake_bias = torch.empty(weight.shape[0], dtype=weight.dtype)
    made = add_constant(program, "_folded_weight", new_weight, fake, convolution)
    bias = add_constant(program, "_folded_bias", offset.to(weight.dtype), fake_bias, convolution)
    convolution.args = (convolution.args[0], made, bias, *convolution.args[3:])
    for user in list(node.users):
        replace_by(user, convolution)
    program.graph.erase_node(node)
