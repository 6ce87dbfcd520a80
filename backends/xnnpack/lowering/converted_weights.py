# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights that are int8 in the program and converted to numbers in front of a product, as torchao's
`Int8WeightOnlyConfig` writes them: XNNPACK multiplies by the integers as they are. Weights of layers of float32 that
are float16 or bfloat16 in the program are converted ahead of time: XNNPACK takes no others.
"""

from __future__ import annotations

from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import constant_tensor, is_constant, layer_of_halves, operator_of

_CONVERT, _PERMUTE, _PRODUCT = (
    "dim_order_ops._to_dim_order_copy.default",
    "aten.permute_copy.default",
    "aten.mm.default",
)
_NUMBERS = (torch.float32, torch.float16, torch.bfloat16)


def converted_weights(program: ExportedProgram, node: object) -> torch.Tensor | None:
    """The constant int8 that a matrix of numbers is converted from, in its order; None for another node."""
    if not isinstance(node, Node) or not _is_converted(program, node) or node.meta["val"].dtype not in _NUMBERS:
        return None
    return _integers(program, node)


def _integers(program: ExportedProgram, node: Node) -> torch.Tensor:
    if node.op == "placeholder":
        tensor = constant_tensor(program, node)
        assert tensor is not None
        return tensor
    inner = _integers(program, node.all_input_nodes[0])
    return inner.t() if operator_of(node) == _PERMUTE else inner


def product_of(program: ExportedProgram, node: Node) -> Node | None:
    """The one product with numbers that a node is a part of making such weights for, or the layer whose halves it
    converts; None for another node.
    """
    layer = layer_of_halves(node)
    if layer is not None and is_constant(program, node):
        return layer
    if not _is_converted(program, node) or len(node.users) != 1:
        return None
    (user,) = node.users
    if operator_of(user) != _PRODUCT:
        return product_of(program, user)
    is_weight = user.args[1] is node and user.args[0] is not node and node.meta["val"].dtype in _NUMBERS
    return user if is_weight else None


def _is_converted(program: ExportedProgram, node: Node) -> bool:
    """Whether a node transposes a constant matrix of int8, converts it to numbers, or both."""
    name = operator_of(node)
    if name not in (_CONVERT, _PERMUTE) or len(node.meta["val"].shape) != 2:
        return False
    source = node.all_input_nodes[0]
    dtypes = source.meta["val"].dtype, node.meta["val"].dtype
    if name == _PERMUTE and list(cast("list[int]", node.args[1])) != [1, 0]:
        return False
    if name == _CONVERT and (dtypes[0] != torch.int8 or dtypes[1] not in _NUMBERS):
        return False
    if source.op == "placeholder":
        return dtypes[0] == torch.int8 and is_constant(program, source)
    return _is_converted(program, source)
