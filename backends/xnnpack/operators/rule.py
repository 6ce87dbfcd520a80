# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rule: a row of the table of supported operators. Partitioner and lowering read the same row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.facts import broadcast_at_bounds, is_reshapable, rank, tensors_of
from executorch.backends.xnnpack.lowering.lowering import Lowering
from executorch.backends.xnnpack.lowering.quantization import Affine
from executorch.exir.decompose.call_body import aten_operator
from executorch.exir.error import Rejection
from executorch.exir.sym_util import may_be_zero, upper_bound

MAX_RANK = 6
"""Most dimensions of an XNNPACK tensor (XNN_MAX_TENSOR_DIMS)."""

Check = Callable[[Node, ExportedProgram], Rejection | None]
Emit = Callable[[Lowering, Node], None]
OnIntegers = Callable[[Node, Affine, ExportedProgram], bool]

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
FLOATS_AND_BOOLEANS = (*FLOATS, torch.bool)


@dataclass(frozen=True)
class Rule:
    """Support of one operator.

    refusal: return a Rejection if a node cannot be lowered exactly; None if it can.
    emit: add the XNNPACK nodes of a node.
    fuses_activation: a following clamp is fused if nothing else reads the result.
    mixes_dtypes: the tensors may have different dtypes, all supported by XNNPACK.
    on_integers: return whether `emit` computes a call between dequantize and quantize (the second argument) on
    integers; None if the operator is always computed in float.
    any_tensors: `refusal` checks the tensors itself.
    booleans: the tensors may be boolean.
    sizes: the call may have arguments that are sizes of its operands (`sym_size`); `refusal` checks them.
    newer: return whether `emit` writes nodes that ExecuTorch 1.4 lacks.
    takes_empty: in float, the delegate computes a result that has elements from an operand that has none.
    """

    emit: Emit
    refusal: Check = lambda node, program: None
    fuses_activation: bool = False
    mixes_dtypes: bool = False
    on_integers: OnIntegers | None = None
    any_tensors: bool = False
    booleans: bool = False
    sizes: bool = False
    newer: Callable[[Node, ExportedProgram], bool] = lambda node, program: False
    takes_empty: bool = False


def refusal_of_tensors(
    node: Node, mixed: bool, dtypes: Sequence[torch.dtype] = FLOATS, sizes: bool = False
) -> Rejection | None:
    """Return why XNNPACK cannot represent the operands and used results of a call; None if it can.

    sizes: the call may have arguments that are sizes.
    """
    if not sizes and len(tensors_of(node)) < len(node.all_input_nodes):
        return Rejection("an argument is a size computed at run time")
    has_several_results = not isinstance(node.meta.get("val"), torch.Tensor)
    results = [user for user in node.users if user.users] if has_several_results else [node]
    for tensor in (*tensors_of(node), *results):
        rejection = refusal_of_tensor(tensor, dtypes)
        if rejection is not None:
            return rejection
    distinct = {tensor.meta["val"].dtype for tensor in (*tensors_of(node), *results)}
    return None if mixed or len(distinct) == 1 else Rejection(f"mixed dtypes {sorted(map(str, distinct))}")


def refusal_of_reshape(*shapes: Sequence[object]) -> Rejection | None:
    """Return why XNNPACK's reshape, which infers at most one size, cannot have these shapes; None if it can."""
    return None if all(map(is_reshapable, shapes)) else Rejection("more than one of its sizes is dynamic")


def refusal_of_emptiness(node: Node) -> Rejection | None:
    """Return why a call cannot run if a data-dependent size is 0, which makes an operand empty.

    None if the result is then empty too: the delegate skips the call.
    """
    sources = [(source, size) for source in tensors_of(node) for size in source.meta["val"].shape if may_be_zero(size)]
    results = _tensor_values(node.meta.get("val")) if sources else []
    elements = [math.prod(map(_expression, value.shape), start=sympy.S.One) for value in results]
    for source, size in sources:
        if not all(_is_zero_with(count, size) for count in elements):
            return Rejection(f"{source.name} may be empty, as {size} may be 0, but the result may have elements")
    return None


def refusal_of_broadcast(node: Node) -> Rejection | None:
    """Return why the operands of a pointwise call do not broadcast at the upper bounds of their sizes, as the delegate
    requires. None if they do.
    """
    if torch.Tag.pointwise not in getattr(aten_operator(node), "tags", ()):
        return None
    shapes = [source.meta["val"].shape for source in tensors_of(node)]
    for sizes in zip_longest(*map(reversed, shapes), fillvalue=1):
        if not broadcast_at_bounds(sizes):
            return Rejection(f"its operands' sizes {', '.join(map(str, sizes))} are equal only at run time")
    return None


def _is_zero_with(elements: sympy.Expr, size: torch.SymInt) -> bool:
    """Return whether a number of elements is 0 if the size is 0."""
    for factor in sympy.Mul.make_args(_expression(size)):
        terms = sympy.Add.make_args(factor)
        if factor in sympy.Mul.make_args(elements) or factor.is_number:
            continue
        if not all(term.is_Symbol for term in terms) or elements.subs(dict.fromkeys(terms, 0)) != 0:
            return False
    return True


def _expression(size: int | torch.SymInt) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def _tensor_values(value: object) -> list[torch.Tensor]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [value for value in values if isinstance(value, torch.Tensor)]


def refusal_of_tensor(node: Node, dtypes: Sequence[torch.dtype]) -> Rejection | None:
    """Return why XNNPACK cannot represent a node's result; None if it can. dtypes: the accepted ones."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return Rejection(f"{node.name} is not a tensor")
    if value.dtype not in dtypes:
        expected = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        return Rejection(f"{node.name} has dtype {value.dtype}, expected {expected}")
    if rank(node) > MAX_RANK:
        return Rejection(f"{node.name} has {rank(node)} dimensions, expected at most {MAX_RANK}")
    if any(isinstance(size, int) and size == 0 for size in value.shape):
        return Rejection(f"{node.name} is empty")
    if any(upper_bound(size) is None for size in value.shape):
        return Rejection(f"{node.name} has a size without an upper bound: {tuple(value.shape)}")
    return None
