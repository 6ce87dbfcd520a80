# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Numbers given where a schema says Tensor become tensors: in the edge dialect a kernel never guesses a dtype."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.node_rewrite import insert_before, origin_of

_NUMBERS = (int, float, bool)
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_aten = torch.ops.aten
_OF_TRUTH_VALUES: dict[Any, OpOverload] = {
    _aten.add.Scalar: _aten.add.Tensor,
    _aten.bitwise_and.Scalar: _aten.bitwise_and.Tensor,
    _aten.bitwise_or.Scalar: _aten.bitwise_or.Tensor,
    _aten.bitwise_xor.Scalar: _aten.bitwise_xor.Tensor,
    _aten.mul.Scalar: _aten.mul.Tensor,
}
_16_BITS = (torch.float16, torch.bfloat16)
# Where eager takes a number as it is, whatever the tensor's dtype, and rounds the result alone.
_TAKES_ANY_NUMBER = frozenset(
    {_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.div.Tensor, _aten.div.Tensor_mode}
)


def promoted_dtype(values: list[Any]) -> torch.dtype:
    """The dtype that PyTorch computes in for these tensors and numbers."""
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    numbers = [value for value in values if not isinstance(value, torch.Tensor)]
    result: Any = None
    for value in [*tensors, *(_plain(number) for number in numbers)]:
        result = value if result is None else torch.empty(_rank(result, value), dtype=torch.result_type(result, value))
    if isinstance(result, torch.Tensor):
        return result.dtype
    return torch.result_type(torch.empty((), dtype=torch.bool), result)


def _rank(one: Any, other: Any) -> list[int]:
    """A size whose rank says whether the result so far counts as a dimensioned tensor (as PyTorch's promotion does)."""
    return [0] if any(isinstance(value, torch.Tensor) and value.dim() > 0 for value in (one, other)) else []


def _plain(number: Any) -> Any:
    kinds: dict[type, Any] = {torch.SymInt: 1, torch.SymFloat: 1.0, torch.SymBool: True}
    return kinds.get(type(number), number)


class ScalarToTensorPass(PassBase):
    """Numbers become 0-dimensional constants (one for each dtype and value), symbols a `scalar_tensor` call.

    Their dtype is the one that the operator computes in, so that nothing is converted while running.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for held in all_graph_modules(graph_module):
            for node in list(held.graph.nodes):
                if node.op == "call_function" and isinstance(node.target, (OpOverload, EdgeOpOverload)):
                    modified = _convert(held, node) or modified
        return PassResult(graph_module, modified)


def _keep_truth_values(node: fx.Node) -> None:
    """`x ^ True` of truth values is one: told from `x ^ 1`, an integer, by the dtype that only a tensor has."""
    tensor_form = _OF_TRUTH_VALUES.get(node.target) if len(node.args) == 2 else None
    if tensor_form is not None and isinstance(node.args[1], bool) and _value(node.args[0]).dtype is torch.bool:
        node.target = tensor_form


def _value(argument: Any) -> Any:
    return argument.meta.get("val") if isinstance(argument, fx.Node) else argument


def _convert(graph_module: fx.GraphModule, node: fx.Node) -> bool:
    _keep_truth_values(node)
    schema = node.target._schema.arguments  # type: ignore[union-attr]
    wants_tensor = [index for index, item in enumerate(schema) if str(item.type) in ("Tensor", "Optional[Tensor]")]
    given = {index: _value(node.args[index]) for index in wants_tensor if index < len(node.args)}
    to_make = [index for index, value in given.items() if isinstance(value, (*_NUMBERS, *_SYMBOLS))]
    if not to_make:
        return False
    others = [value for index, value in given.items() if value is not None and schema[index].name != "condition"]
    dtype = promoted_dtype(others)
    result = _value(node)
    if isinstance(result, torch.Tensor) and result.dtype.is_floating_point and not dtype.is_floating_point:
        dtype = result.dtype  # true division of integers: 300 is not to be cut to the width of int8
    if dtype in _16_BITS and not all(_is_held(node, value, dtype) for value in given.values()):
        dtype = _computed_in_float32(node)
    args = list(node.args)
    for index in to_make:
        args[index] = _tensor_for(graph_module, node, args[index], dtype)
    node.args = tuple(args)
    return True


def _is_held(node: fx.Node, number: Any, dtype: torch.dtype) -> bool:
    """Whether `dtype` can stand for the number: it neither overflows nor vanishes, and no floor is taken after it."""
    if not isinstance(number, (int, float)) or not math.isfinite(number) or node.target not in _TAKES_ANY_NUMBER:
        return True
    error = 0.0 if node.target is _aten.div.Tensor_mode else torch.finfo(dtype).eps * abs(number)
    return abs(torch.tensor(number, dtype=dtype).item() - number) <= error


def _computed_in_float32(node: fx.Node) -> torch.dtype:
    """Converts the tensors of a call to float32, and its result back."""
    value = node.meta["val"]
    for operand in node.all_input_nodes:
        held = operand.meta["val"]
        if isinstance(held, torch.Tensor):
            with held.fake_mode:  # type: ignore[attr-defined]
                wide = held.to(torch.float32)
            kind = {"dtype": torch.float32}
            node.replace_input_with(operand, insert_before(node, _aten._to_copy.default, (operand,), kind, wide))
    with value.fake_mode:
        node.meta["val"] = value.to(torch.float32)
    result = insert_before(node.next, _aten._to_copy.default, (node,), {"dtype": value.dtype}, value, origin=node)
    node.replace_all_uses_with(result, delete_user_cb=lambda user: user is not result)
    return torch.float32


def _tensor_for(graph_module: fx.GraphModule, user: fx.Node, number: Any, dtype: torch.dtype) -> fx.Node:
    mode = fake_mode_of(graph_module)
    if isinstance(number, fx.Node):
        with mode:
            value = torch.empty((), dtype=dtype)
        return insert_before(user, torch.ops.aten.scalar_tensor.default, (number,), {"dtype": dtype}, value)
    name = f"_scalar_{str(dtype).removeprefix('torch.')}_{number}".replace(".", "_").replace("-", "m").replace("+", "")
    if not hasattr(graph_module, name):
        # As in eager, an integer that the dtype does not hold wraps around.
        value = torch.tensor(number).to(dtype) if isinstance(number, int) else torch.tensor(number, dtype=dtype)
        graph_module.register_buffer(name, value)
    for held in graph_module.graph.nodes:
        if held.op == "get_attr" and held.target == name:
            return held  # type: ignore[no-any-return]
    first = next(held for held in graph_module.graph.nodes if held.op not in ("placeholder",))
    with graph_module.graph.inserting_before(first):
        constant = graph_module.graph.get_attr(name)
    constant.meta = origin_of(user)
    constant.meta["val"] = mode.from_tensor(getattr(graph_module, name), static_shapes=True)
    return constant
