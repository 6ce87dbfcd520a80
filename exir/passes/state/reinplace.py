# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run functional updates in place where no reader can see the difference: a KV cache is written, not copied.

new = index_put(cache, at, values)           index_put_(cache, at, values)
…                                     →      …
copy_(cache, new)                            (nothing to write back)

new = slice_scatter(cache, part, …)   →      slice_scatter.out(cache, part, …, out=cache)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.fx.node import Argument

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.dialects.edge_rules import CHECKED_IN_PLACE
from executorch.exir.memory.lifetimes.specs import written_argument, written_placeholder_names
from executorch.exir.operator.convert import is_written_argument

_aten = exir_ops.edge.aten

DEFAULT_INPLACEABLE_OPS: frozenset[object] = frozenset(
    {_aten.index_put.default, _aten.slice_scatter.default, _aten.select_scatter.default}
)
"""Operators that return their first argument with a part replaced."""

WRITES_ITS_FIRST_ARGUMENT = "writes_its_first_argument"
"""Key of `node.meta`: the out variant of this operator writes to its first argument."""

# Copies that a later pass may replace by views of their argument, by operator name without overload.
_MAY_BECOME_VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        "view_copy", "_unsafe_view", "unsqueeze_copy", "squeeze_copy", "select_copy", "slice_copy", "permute_copy",
        "transpose_copy", "expand_copy", "alias_copy", "detach_copy", "split_copy", "split_with_sizes_copy",
        "unbind_copy", "narrow_copy", "t_copy",
    )
)  # fmt: skip


def reinplace_pass(
    ep: ExportedProgram,
    ops_to_inplace: Iterable[object] | None = None,
    inplace_overrides: Mapping[object, object] | None = None,
) -> ExportedProgram:
    """Let updates of a part of state (`index_put`, `slice_scatter`, …) write to the state instead of a copy.

    Rewrites the program's outermost graph in place, and returns the program.

    ops_to_inplace: edge operators to try, DEFAULT_INPLACEABLE_OPS if None. The output of their out variants must be
    allowed to alias the first argument.
    inplace_overrides: operator → in-place operator with the same arguments, which writes only to the first one.
    A call writes to its first argument only if that is state that the method updates, or a result of the graph, has the
    result's sizes and dtype, and no later node reads it. Calls through an out variant also need constant sizes.
    Raises ValueError for an override with other arguments.

    Helps: KV caches.
    """
    overrides = dict(inplace_overrides or {})
    for functional, in_place in overrides.items():
        _check_override(functional, in_place)
    wanted = set(DEFAULT_INPLACEABLE_OPS if ops_to_inplace is None else ops_to_inplace) | set(overrides)
    mutable = written_placeholder_names(ep.graph_signature)
    kept = returned_to_the_user(ep)
    for node in list(ep.graph.nodes):
        if node.op != "call_function" or node.target not in wanted or node in kept:
            continue
        operand = node.args[0]
        if not isinstance(operand, fx.Node) or not may_be_written(operand, mutable) or not _holds(operand, node):
            continue
        if operand in _nodes(node.args[1:]) | _nodes(node.kwargs) or later_readers(operand, node):
            continue
        if node.target in overrides:
            node.target = overrides[node.target]
            node.meta[CHECKED_IN_PLACE] = True
        elif _is_static(operand):
            node.meta[WRITES_ITS_FIRST_ARGUMENT] = True
    return ep


def written_placeholder(node: fx.Node) -> fx.Node:
    """Return the node that allocated the memory of an in-place operator's result; for any other node, the node."""
    while True:
        operand = node.args[0] if WRITES_ITS_FIRST_ARGUMENT in node.meta else written_argument(node)
        if not isinstance(operand, fx.Node):
            return node
        node = operand


def _holds(operand: fx.Node, node: fx.Node) -> bool:
    """Return whether the node's result is known to have the operand's sizes and dtype."""
    before, after = operand.meta["val"], node.meta["val"]
    return (
        isinstance(after, torch.Tensor)
        and before.dtype == after.dtype
        and before.dim() == after.dim()
        and all(statically_known_true(a == b) for a, b in zip(before.shape, after.shape, strict=True))
    )


def _is_static(node: fx.Node) -> bool:
    """Return whether all sizes are constants. The runtime refuses calls that may resize a tensor they read."""
    return all(isinstance(size, int) for size in node.meta["val"].shape)


def _check_override(functional: object, in_place: object) -> None:
    first, second = (_overload(overload)._schema.arguments for overload in (functional, in_place))
    if [str(a.type) for a in first] != [str(a.type) for a in second]:
        raise ValueError(f"{in_place} and {functional} have different arguments; an override needs equal ones")
    writes = [is_written_argument(argument) for argument in second]
    if not writes or not writes[0] or any(writes[1:]):
        raise ValueError(f"{in_place} has to write to its first argument and to no other")


def _overload(target: Any) -> OpOverload:
    overload: OpOverload = target._op if isinstance(target, EdgeOpOverload) else target
    return overload


def returned_to_the_user(ep: ExportedProgram) -> set[fx.Node]:
    """Return the user's outputs. They must not alias state, which the next execution changes."""
    outputs = list(ep.graph.output_node().args[0])
    kinds = [spec.kind for spec in ep.graph_signature.output_specs]
    return {
        node
        for node, kind in zip(outputs, kinds, strict=True)
        if kind is OutputKind.USER_OUTPUT and isinstance(node, fx.Node)
    }


def may_be_written(operand: fx.Node, mutable: set[str]) -> bool:
    """Return whether the operand is mutable state, or memory that a node of this graph allocated for its result."""
    if operand.op == "placeholder":
        return operand.name in mutable
    if operand.op != "call_function" or not isinstance(operand.target, (OpOverload, EdgeOpOverload)):
        return False
    return not _may_become_view(operand) and isinstance(operand.meta.get("val"), torch.Tensor)


def _may_become_view(node: fx.Node) -> bool:
    name = getattr(node.target, "name", None)
    return callable(name) and name().partition(".")[0] in _MAY_BECOME_VIEWS


def later_readers(operand: fx.Node, node: fx.Node) -> set[fx.Node]:
    """Return the nodes after `node` that read the operand's memory."""
    return {reader for reader in _other_readers(operand, node) if node < reader}


def _other_readers(operand: fx.Node, node: fx.Node) -> set[fx.Node]:
    """Return the readers of the operand's memory except `node`: its users, and users of its potential views."""
    readers: set[fx.Node] = set(operand.users) - {node}
    waiting = [user for user in readers if _may_become_view(user)]
    while waiting:
        for user in waiting.pop().users:
            if user not in readers and (_may_become_view(user) or user.target is operator.getitem):
                waiting.append(user)
            readers.add(user)
    return readers


def _nodes(arguments: Argument) -> set[fx.Node]:
    nodes: set[fx.Node] = set()
    fx.node.map_arg(arguments, nodes.add)
    return nodes
