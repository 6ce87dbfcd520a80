# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit cond, map, while_loop and scan as jumps. Subgraphs are emitted inline, with outer values as inputs.

    cond:  jump_if_false p else      loop:  i = 0; carry = init
             true branch             begin: condition; jump_if_false end
             jump end                         body; carry = its outputs; collect y[i]; i += 1
    else:    false branch                     jump begin
    end:                             end:

A loop tests its condition first, so zero iterations are legal. It sets its initial values when it starts, so that an
execution that was stopped half-way does not affect the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.emit.arguments import argument
from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.error import ExportError
from executorch.exir.schema import Bool, Int, MoveCall, Tensor, TensorShapeDynamism

if TYPE_CHECKING:
    from executorch.exir.emit.graph import GraphEmitter

hop = torch.ops.higher_order


def emit_control_flow(emitter: GraphEmitter, node: Node) -> list[Ref]:
    """Emit a node with its subgraphs. Return the values of its results. Raises ExportError for an unknown operator."""
    emit = _EMIT.get(node.target)
    if emit is None:
        raise ExportError("emit", node, f"control flow {node.target} is not supported")
    results = [ref for ref in tree_leaves(emitter.spec_values(node)) if isinstance(ref, Ref)]
    emit(emitter, node, results)
    return results


def _run(emitter: GraphEmitter, subgraph: object, inputs: Sequence[object]) -> list[object]:
    if not isinstance(subgraph, GraphModule):
        raise TypeError(f"expected a subgraph; found {type(subgraph).__name__}")
    return type(emitter)(emitter.state, subgraph).run(inputs)


def _cond(emitter: GraphEmitter, node: Node, results: list[Ref]) -> None:
    state = emitter.state
    predicate, true_branch, false_branch, operands = emitter.bound(node.args)
    to_else = state.jump_if_false(argument(state, predicate), node)
    _assign(state, results, _run(emitter, true_branch, operands), node)
    to_end = state.jump(node)
    to_else.destination_instruction = state.next_instruction
    _assign(state, results, _run(emitter, false_branch, operands), node)
    to_end.destination_instruction = state.next_instruction


def _while(emitter: GraphEmitter, node: Node, results: list[Ref]) -> None:
    state = emitter.state
    condition, body, initial, extra = emitter.bound(node.args)
    _assign(state, results, initial, node)
    begin = state.next_instruction
    (go_on,) = _run(emitter, condition, [*results, *extra])
    to_end = state.jump_if_false(argument(state, go_on), node)
    _assign(state, results, _run(emitter, body, [*results, *extra]), node)
    state.jump(node, begin)
    to_end.destination_instruction = state.next_instruction


def _map(emitter: GraphEmitter, node: Node, results: list[Ref]) -> None:
    body, over, extra = emitter.bound(node.args)
    _counted_loop(emitter, node, body, [], over, extra, results)


def _scan(emitter: GraphEmitter, node: Node, results: list[Ref]) -> None:
    body, initial, over, extra = emitter.bound(node.args)
    _assign(emitter.state, results[: len(initial)], initial, node)
    _counted_loop(emitter, node, body, results[: len(initial)], over, extra, results[len(initial) :])


def _counted_loop(
    emitter: GraphEmitter,
    node: Node,
    body: GraphModule,
    carried: list[Ref],
    over: Sequence[Ref],
    extra: Sequence[object],
    collected: list[Ref],
) -> None:
    """Emit a loop over the slices of `over` along dimension 0.

    `body` maps (carried…, slices…, extra…) to (carried…, collected…).
    """
    state = emitter.state
    if not over:
        raise ExportError("emit", node, "a loop needs at least one tensor to go over")
    for ref in collected:
        # The runtime collects slices in a growing tensor, and refuses to resize a static one.
        tensor = _tensor(state, ref)
        if tensor.shape_dynamism is TensorShapeDynamism.STATIC:
            tensor.shape_dynamism = TensorShapeDynamism.DYNAMIC_BOUND
    zero, one = state.constant(Int(0)), state.constant(Int(1))
    count, index, go_on = _length(state, over[0], node), state.fresh(Int(0)), state.fresh(Bool(False))
    state.add(MoveCall(zero.id, index.id), node)
    begin = state.next_instruction
    state.call("executorch_prim::lt", "Scalar", [index, count, go_on], node)
    to_end = state.jump_if_false(go_on, node)

    loop = type(emitter)(state, body)
    own = [node for node in body.graph.nodes if node.op == "placeholder"][len(carried) : len(carried) + len(over)]
    slices = [argument(state, loop.spec_values(placeholder)) for placeholder in own]
    for source, piece in zip(over, slices, strict=True):
        state.call("aten::select_copy", "int_out", [source, zero, index, piece, piece], node)
    outputs = loop.run([*carried, *slices, *extra])
    for target, value in zip(collected, outputs[len(carried) :], strict=True):
        state.call("executorch_prim::et_copy_index", "tensor", [target, argument(state, value), index], node)
    _assign(state, carried, outputs[: len(carried)], node)
    state.call("executorch_prim::add", "Scalar", [index, one, index], node)
    state.jump(node, begin)
    to_end.destination_instruction = state.next_instruction


def _assign(state: MethodState, targets: Sequence[Ref], values: Sequence[object], node: Node) -> None:
    """Copy values to targets as if in parallel: a target that is also a value is read before it is written."""
    pending = [
        (target, value if isinstance(value, Ref) else argument(state, value))
        for target, value in zip(targets, values, strict=True)
    ]
    pending = [(target, value) for target, value in pending if target != value]
    while pending:
        free = next((pair for pair in pending if all(pair[0] != value for _, value in pending)), None)
        if free is None:
            raise ExportError(
                "emit", node, "a loop's body or a branch returns its inputs in another order; clone one of them in it"
            )
        _copy(state, *free, node)
        pending.remove(free)


def _copy(state: MethodState, target: Ref, value: Ref, node: Node) -> None:
    kind = state.values[target.id].val
    if not isinstance(kind, Tensor):
        state.add(MoveCall(value.id, target.id), node)
    elif kind.shape_dynamism is TensorShapeDynamism.STATIC:
        state.call("aten::copy_", "", [target, value, state.constant(Bool(False)), target], node)
    else:
        # Unlike copy_, this operator resizes its output to the input's sizes.
        keep = state.constant(Bool(False))
        order = _dim_order(state, value)
        state.call("dim_order_ops::_clone_dim_order", "out", [value, keep, order, target, target], node)


def _dim_order(state: MethodState, ref: Ref) -> Ref:
    return argument(state, list(_tensor(state, ref).dim_order), torch.ListType.ofInts())


def _length(state: MethodState, ref: Ref, node: Node) -> Ref:
    """Return the value of a tensor's size in dimension 0: a constant, or the result of sym_size."""
    tensor = _tensor(state, ref)
    if tensor.shape_dynamism is TensorShapeDynamism.STATIC:
        return state.constant(Int(tensor.sizes[0]))
    size = state.fresh(Int(0))
    state.call("aten::sym_size", "int", [ref, state.constant(Int(0)), size], node)
    return size


def _tensor(state: MethodState, ref: Ref) -> Tensor:
    value = state.values[ref.id].val
    if not isinstance(value, Tensor):
        raise ValueError(f"expected a tensor; found {value}")
    return value


_EMIT: dict[object, Callable[[GraphEmitter, Node, list[Ref]], None]] = {
    hop.cond: _cond,
    hop.map_impl: _map,
    hop.while_loop: _while,
    hop.scan: _scan,
}
