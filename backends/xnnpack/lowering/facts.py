# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Queries about the nodes of a program: operator, constants, sizes, arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node, map_arg
from torch.fx.node import Target

from executorch.exir.error import operator_name
from executorch.exir.rewrite.program_constants import constant_spec_of, tensor_of
from executorch.exir.sym_util import upper_bound

# Operators that are evaluated ahead of time if all operands are constants.
_FOLDED = ("quantized_decomposed.dequantize_per_", "aten.repeat.")
_CONVERT = "dim_order_ops._to_dim_order_copy.default"
_LAYERS = ("aten.convolution.default", "aten.linear.default")


def operator_of(node: Node) -> str:
    """Name of a call's operator with its overload, such as `aten.add.Tensor`; empty for other nodes."""
    return _name_with_overload(node.target) if node.op == "call_function" else ""


@cache
def _name_with_overload(target: Target) -> str:
    name = operator_name(target).replace("::", ".")
    return name if name.count(".") > 1 else f"{name}.default"


def constant_tensor(program: ExportedProgram, node: object) -> torch.Tensor | None:
    """Tensor of a parameter, an unmutated buffer, a lifted constant, or one of these dequantized, repeated or converted
    for a layer; None for other nodes.
    """
    if not isinstance(node, Node):
        return None
    if _is_folded(node):
        return _folded(program, node) if is_constant(program, node) else None
    spec = constant_spec_of(program, node)
    if spec is None:
        return None
    if spec.kind is InputKind.BUFFER and spec.target in program.graph_signature.buffers_to_mutate.values():
        return None
    return tensor_of(program, spec)


def is_constant(program: ExportedProgram, node: object) -> bool:
    """Return whether `constant_tensor` returns a tensor, without evaluating it."""
    if isinstance(node, Node) and _is_folded(node):
        return all(is_constant(program, source) for source in node.all_input_nodes)
    return constant_tensor(program, node) is not None


def _is_folded(node: Node) -> bool:
    return operator_of(node).startswith(_FOLDED) or layer_with_half_constant(node) is not None


def layer_with_half_constant(node: Node) -> Node | None:
    """Return the float32 layer whose weight or bias only `node` converts from half precision; None for other nodes."""
    if operator_of(node) != _CONVERT or len(node.users) != 1:
        return None
    (user,) = node.users
    dtypes = node.all_input_nodes[0].meta["val"].dtype, node.meta["val"].dtype
    is_weight = operator_of(user) in _LAYERS and user.args[0] is not node
    is_widened = dtypes[0] in (torch.float16, torch.bfloat16) and dtypes[1] == torch.float32
    return user if is_weight and is_widened else None


def _folded(program: ExportedProgram, node: Node) -> torch.Tensor:
    tensors = {source: constant_tensor(program, source) for source in node.all_input_nodes}
    args, kwargs = map_arg((node.args, node.kwargs), tensors.__getitem__)
    result: torch.Tensor = node.target(*args, **kwargs)  # type: ignore[operator]
    return result


def upper_bounds(node: Node) -> list[int]:
    """Upper bounds of the sizes of a node's tensor. Raises ValueError if a size is unbounded."""
    bounds = [upper_bound(size) for size in node.meta["val"].shape]
    if any(bound is None for bound in bounds):
        raise ValueError(f"{node.name} has a size without an upper bound: {tuple(node.meta['val'].shape)}")
    return [int(bound) for bound in bounds if bound is not None]


def broadcast_at_bounds(sizes: Iterable[int | torch.SymInt]) -> bool:
    """Return whether sizes broadcast at their upper bounds, as delegates require. Unbounded sizes always broadcast."""
    return len({upper_bound(size) for size in sizes} - {1, None}) <= 1


def rank(node: Node) -> int:
    """Return the number of dimensions of a node's tensor."""
    return len(node.meta["val"].shape)


def is_static(sizes: Sequence[object]) -> bool:
    """Return whether all sizes are static."""
    return all(isinstance(size, int) for size in sizes)


def argument(node: Node, place: int, name: str, default: object = None) -> object:
    """Argument of a call, by position or keyword."""
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)


def tensors_of(node: Node) -> list[Node]:
    """The tensor operands of a call."""
    return [source for source in node.all_input_nodes if isinstance(source.meta.get("val"), torch.Tensor)]


def same_sizes(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return whether sizes are equal as expressions. Comparing the symbols would add a guard, or fail for
    data-dependent sizes.
    """
    return [str(size) for size in one] == [str(size) for size in other]


def is_reshapable(sizes: Sequence[object]) -> bool:
    """Return whether at most one size is dynamic, as XNNPACK's reshape requires."""
    return sum(not isinstance(size, int) for size in sizes) < 2


def getitems_of(node: Node) -> dict[int, Node]:
    """Index of a result → the getitem node that reads it."""
    return {cast(int, user.args[1]): user for user in node.users}
