# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Numbers given where a schema says Tensor become tensors: in the edge dialect a kernel never guesses a dtype."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.passes.node_rewrite import insert_before, origin_of

_NUMBERS = (int, float, bool)
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_aten = torch.ops.aten
_OF_TRUTH_VALUES: dict[Any, OpOverload] = {
    _aten.bitwise_and.Scalar: _aten.bitwise_and.Tensor,
    _aten.bitwise_or.Scalar: _aten.bitwise_or.Tensor,
    _aten.bitwise_xor.Scalar: _aten.bitwise_xor.Tensor,
}


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
    tensor_form = _OF_TRUTH_VALUES.get(node.target)
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
    args = list(node.args)
    for index in to_make:
        args[index] = _tensor_for(graph_module, node, args[index], dtype)
    node.args = tuple(args)
    return True


def _tensor_for(graph_module: fx.GraphModule, user: fx.Node, number: Any, dtype: torch.dtype) -> fx.Node:
    mode = fake_mode_of(graph_module)
    if isinstance(number, fx.Node):
        with mode:
            value = torch.empty((), dtype=dtype)
        return insert_before(user, torch.ops.aten.scalar_tensor.default, (number,), {"dtype": dtype}, value)
    name = f"_scalar_{str(dtype).removeprefix('torch.')}_{number}".replace(".", "_").replace("-", "m").replace("+", "")
    if not hasattr(graph_module, name):
        graph_module.register_buffer(name, torch.tensor(number, dtype=dtype))
    for held in graph_module.graph.nodes:
        if held.op == "get_attr" and held.target == name:
            return held  # type: ignore[no-any-return]
    first = next(held for held in graph_module.graph.nodes if held.op not in ("placeholder",))
    with graph_module.graph.inserting_before(first):
        constant = graph_module.graph.get_attr(name)
    constant.meta = origin_of(user)
    constant.meta["val"] = mode.from_tensor(getattr(graph_module, name), static_shapes=True)
    return constant
