# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Constant weights that the program converts before a product.

torchao's `Int8WeightOnlyConfig` stores int8 and converts to float; XNNPACK multiplies by the int8 directly. Weights of
float32 layers that the program stores as float16 or bfloat16 are converted ahead of time: XNNPACK takes only float32.
"""

from __future__ import annotations

from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import (
    constant_tensor,
    is_constant,
    layer_with_half_constant,
    operator_of,
)

_CONVERT, _PERMUTE, _PRODUCT = (
    "dim_order_ops._to_dim_order_copy.default",
    "aten.permute_copy.default",
    "aten.mm.default",
)
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def converted_weights(program: ExportedProgram, node: object) -> torch.Tensor | None:
    """The int8 constant from which `node` is converted to a float matrix, in the matrix's order; None for other
    nodes.
    """
    if not isinstance(node, Node) or not _is_converted(program, node) or node.meta["val"].dtype not in _FLOATS:
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
    """The only product that reads the weights which `node` helps to convert from int8, or the float32 layer whose
    half-precision weights it converts; None for other nodes.
    """
    layer = layer_with_half_constant(node)
    if layer is not None and is_constant(program, node):
        return layer
    if not _is_converted(program, node) or len(node.users) != 1:
        return None
    (user,) = node.users
    if operator_of(user) != _PRODUCT:
        return product_of(program, user)
    is_weight = user.args[1] is node and user.args[0] is not node and node.meta["val"].dtype in _FLOATS
    return user if is_weight else None


def _is_converted(program: ExportedProgram, node: Node) -> bool:
    """Return whether `node` transposes a constant int8 matrix, converts it to float, or both."""
    name = operator_of(node)
    if name not in (_CONVERT, _PERMUTE) or len(node.meta["val"].shape) != 2:
        return False
    source = node.all_input_nodes[0]
    dtypes = source.meta["val"].dtype, node.meta["val"].dtype
    if name == _PERMUTE and list(cast("list[int]", node.args[1])) != [1, 0]:
        return False
    if name == _CONVERT and (dtypes[0] != torch.int8 or dtypes[1] not in _FLOATS):
        return False
    if source.op == "placeholder":
        return dtypes[0] == torch.int8 and is_constant(program, source)
    return _is_converted(program, source)
