# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace scalars by tensors where the schema says Tensor, so that kernels need not guess a dtype."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.passes.graph_pass import HookedGraphPass
from executorch.exir.rewrite.node_rewrite import insert_before, origin_of

_SCALARS = (int, float, bool)
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_aten = torch.ops.aten
_TENSOR_OVERLOADS: dict[object, OpOverload] = {
    _aten.add.Scalar: _aten.add.Tensor,
    _aten.bitwise_and.Scalar: _aten.bitwise_and.Tensor,
    _aten.bitwise_or.Scalar: _aten.bitwise_or.Tensor,
    _aten.bitwise_xor.Scalar: _aten.bitwise_xor.Tensor,
    _aten.mul.Scalar: _aten.mul.Tensor,
}
_16_BITS = (torch.float16, torch.bfloat16)
# Eager computes these with the exact scalar for every dtype of the tensor, and rounds only the result.
_COMPUTES_WITH_EXACT_SCALAR = frozenset(
    {_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten.div.Tensor_mode}
)


def promoted_dtype(values: list[object]) -> torch.dtype:
    """Return the dtype in which PyTorch computes with these tensors and scalars."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    scalars = [value for value in values if not isinstance(value, torch.Tensor)]
    result: Any = None
    for value in [*tensors, *(_plain(number) for number in scalars)]:
        result = value if result is None else torch.empty(_rank(result, value), dtype=torch.result_type(result, value))
    if isinstance(result, torch.Tensor):
        return result.dtype
    return torch.result_type(torch.empty((), dtype=torch.bool), result)


def _rank(one: object, other: object) -> list[int]:
    """Return a size of rank 1 if a value is a tensor with dimensions, else of rank 0: promotion differs."""
    return [0] if any(isinstance(value, torch.Tensor) and value.dim() > 0 for value in (one, other)) else []


def _plain(number: object) -> Any:
    kinds: dict[type, object] = {torch.SymInt: 1, torch.SymFloat: 1.0, torch.SymBool: True}
    return kinds.get(type(number), number)


class ScalarToTensorPass(HookedGraphPass):
    """Replaces scalars by 0-dimensional constants, one for each dtype and value, and symbols by `scalar_tensor` calls.

    They have the dtype in which the operator computes, so that no conversion runs.
    """

    def rewrite_graphs(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                if node.op == "call_function" and isinstance(node.target, (OpOverload, EdgeOpOverload)):
                    modified = _convert(module, node) or modified
        return PassResult(graph_module, modified)


def _use_tensor_overload_for_bool(node: fx.Node) -> None:
    """Use the tensor overload for `x ^ True` with a boolean x, whose result is boolean.

    With a Scalar argument, the call could not be distinguished from `x ^ 1`, whose result is an integer.
    """
    tensor_form = _TENSOR_OVERLOADS.get(node.target) if len(node.args) == 2 else None
    if tensor_form is not None and isinstance(node.args[1], bool) and _value(node.args[0]).dtype is torch.bool:
        node.target = tensor_form


def _value(argument: object) -> Any:
    return argument.meta.get("val") if isinstance(argument, fx.Node) else argument


@cache
def _tensors(op: OpOverload | EdgeOpOverload) -> tuple[int, ...]:
    """Return the places of an operator's tensor arguments, optional ones among them."""
    types = enumerate(str(item.type) for item in op._schema.arguments)
    return tuple(place for place, kind in types if kind in ("Tensor", "Optional[Tensor]"))


def _convert(graph_module: fx.GraphModule, node: fx.Node) -> bool:
    _use_tensor_overload_for_bool(node)
    schema = node.target._schema.arguments  # type: ignore[union-attr]
    given = {index: _value(node.args[index]) for index in _tensors(node.target) if index < len(node.args)}
    converted = [index for index, value in given.items() if isinstance(value, (*_SCALARS, *_SYMBOLS))]
    if not converted:
        return False
    others = [value for index, value in given.items() if value is not None and schema[index].name != "condition"]
    dtype = promoted_dtype(others)
    result = _value(node)
    if isinstance(result, torch.Tensor) and result.dtype.is_floating_point and not dtype.is_floating_point:
        dtype = result.dtype  # true division of integers: an int8 operand must not narrow the scalar 300
    if dtype in _16_BITS and not all(_keeps_result(node, value, dtype) for value in given.values()):
        dtype = _compute_in_float32(node)
    args = list(node.args)
    for index in converted:
        args[index] = _tensor_for(graph_module, node, args[index], dtype)
    node.args = tuple(args)
    return True


def _keeps_result(node: fx.Node, number: object, dtype: torch.dtype) -> bool:
    """Return whether the call gives eager's result with the number rounded to `dtype`.

    The rounded number must be close (no overflow, no underflow), and exact if a floor or truncation follows.
    """
    computes_with_scalar = node.target in _COMPUTES_WITH_EXACT_SCALAR
    if not isinstance(number, (int, float)) or not math.isfinite(number) or not computes_with_scalar:
        return True
    error = 0.0 if node.target is _aten.div.Tensor_mode else torch.finfo(dtype).eps * abs(number)
    return abs(torch.tensor(number, dtype=dtype).item() - number) <= error


def _compute_in_float32(node: fx.Node) -> torch.dtype:
    """Convert the tensors of a call to float32, and its result back. Return float32."""
    value = node.meta["val"]
    for operand in node.all_input_nodes:
        tensor = operand.meta["val"]
        if isinstance(tensor, torch.Tensor):
            with tensor.fake_mode:  # type: ignore[attr-defined]
                wide = tensor.to(torch.float32)
            kind = {"dtype": torch.float32}
            node.replace_input_with(operand, insert_before(node, _aten._to_copy.default, (operand,), kind, wide))
    with value.fake_mode:
        node.meta["val"] = value.to(torch.float32)
    result = insert_before(node.next, _aten._to_copy.default, (node,), {"dtype": value.dtype}, value, origin=node)
    node.replace_all_uses_with(result, delete_user_cb=lambda user: user is not result)
    return torch.float32


def _tensor_for(graph_module: fx.GraphModule, user: fx.Node, number: object, dtype: torch.dtype) -> fx.Node:
    mode = fake_mode_of(graph_module)
    if isinstance(number, fx.Node):
        with mode:
            value = torch.empty((), dtype=dtype)
        return insert_before(user, torch.ops.aten.scalar_tensor.default, (number,), {"dtype": dtype}, value)
    name = f"_scalar_{str(dtype).removeprefix('torch.')}_{number}".replace(".", "_").replace("-", "m").replace("+", "")
    if not hasattr(graph_module, name):
        # As in eager, an integer outside the range of the dtype wraps around.
        value = torch.tensor(number).to(dtype) if isinstance(number, int) else torch.tensor(number, dtype=dtype)
        graph_module.register_buffer(name, value)
    for other in graph_module.graph.find_nodes(op="get_attr", sort=False):
        if other.target == name:
            return other  # type: ignore[no-any-return]
    first = next(other for other in graph_module.graph.nodes if other.op not in ("placeholder",))
    with graph_module.graph.inserting_before(first):
        constant = graph_module.graph.get_attr(name)
    constant.meta = origin_of(user)
    constant.meta["val"] = mode.from_tensor(getattr(graph_module, name), static_shapes=True)
    return constant
