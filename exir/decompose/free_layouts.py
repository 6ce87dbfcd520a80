# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rewrite calls that rely on eager's strides of a tensor, so that a decomposition may return other strides.

For example, torch's attention interleaves its heads in memory, and ours returns a contiguous tensor. A `view` of the
former can be legal while the latter needs a copy.
"""

from __future__ import annotations

import operator
from collections.abc import Collection

import torch
from torch import fx
from torch._ops import OpOverload

from executorch.exir.decompose.functional_calls import is_fresh
from executorch.exir.operator.call_effects import writes_arguments
from executorch.exir.operator.convert import is_view, is_written_argument
from executorch.exir.rewrite.node_rewrite import insert_before

_aten = torch.ops.aten
# Unlike other composite operators, this one never returns its argument.
_ATTENTION = _aten.scaled_dot_product_attention.default
VIEWS: dict[object, OpOverload] = {
    _aten.view.default: _aten.reshape.default,
    _aten._unsafe_view.default: _aten.reshape.default,
    _aten.view_as.default: _aten.reshape_as.default,
}
"""Views that need strides of eager → the operator with equal arguments that copies if necessary."""


def free_views(graph: fx.Graph, replaced: Collection[object]) -> None:
    """Replace each `view` that depends on a call in `replaced` by a `reshape`, which copies if necessary."""
    reached: set[fx.Node] = set()
    for node in graph.nodes:
        if node.op != "call_function" or not (node.target in replaced or not reached.isdisjoint(node.all_input_nodes)):
            continue
        reached.add(node)
        if node.target in VIEWS and node.target not in replaced:
            view_to_reshape(node)


def view_to_reshape(node: fx.Node) -> bool:
    """Replace a `view` by a `reshape` unless a copy would change results. Return whether it was replaced."""
    if not _may_copy(node):
        return False
    node.target = VIEWS[node.target]
    return True


def free_composite_views(graph: fx.Graph) -> None:
    """Replace each `view_as`, a composite operator: tracing its body fails if its operand has new strides."""
    for node in graph.find_nodes(op="call_function", target=_aten.view_as.default):
        view_to_reshape(node)


def _may_copy(view: fx.Node) -> bool:
    """Return whether a copy can replace `view`: no reader of one sees a write to the other."""
    beyond = _sharing(view, sources=False)
    before = _sharing(view, sources=True) - beyond
    writes = [(node, user) for node in beyond | before for user in node.users if _writes_to(user, node)]
    if not writes:
        return True
    position = {node: index for index, node in enumerate(view.graph.nodes)}
    first_write = len(position)
    for node, user in writes:
        if node in before and position[user] < position[view]:
            continue
        if node in before:
            return False
        first_write = min(first_write, position[user])
    if first_write == len(position):
        return True
    return all(
        node.op == "call_function" and all(position[user] <= first_write for user in node.users) for node in before
    )


def is_written(node: fx.Node) -> bool:
    """Return whether a call writes to the memory of this node, or to that of a view of it."""
    return any(_writes_to(user, shared) for shared in _sharing(node, sources=False) for user in shared.users)


def _writes_to(node: fx.Node, written: fx.Node) -> bool:
    if not isinstance(node.target, OpOverload):
        return False
    given = dict(zip((item.name for item in node.target._schema.arguments), node.args, strict=False)) | node.kwargs
    return any(is_written_argument(item) and given.get(item.name) is written for item in node.target._schema.arguments)


def _sharing(node: fx.Node, sources: bool) -> set[fx.Node]:
    """Return the nodes that may share memory with `node`: users, transitively, and with `sources` also operands."""
    sharing, todo = {node}, [node]
    while todo:
        current = todo.pop()
        linked = [user for user in current.users if _shares_with_operands(user)]
        if sources and _shares_with_operands(current):
            linked += current.all_input_nodes
        # Sizes, which are also operands of views, have no memory.
        fresh = [node for node in linked if node not in sharing and not isinstance(node.meta.get("val"), torch.SymInt)]
        sharing.update(fresh)
        todo += fresh
    return sharing


def _shares_with_operands(node: fx.Node) -> bool:
    if node.op != "call_function" or node.target is _ATTENTION:
        return False
    if writes_arguments(node.target):
        return True  # it returns the argument that it wrote
    return node.target is operator.getitem or not is_fresh(node.target)


def free_strided(graph: fx.Graph) -> None:
    """Make each `as_strided` read a contiguous tensor with the elements in the order of eager's memory."""
    for node in graph.find_nodes(op="call_function", target=_aten.as_strided.default):
        source: fx.Node = node.args[0]
        base = _base_of(source)
        value, offset = base.meta["val"], source.meta["val"].storage_offset()
        order = sorted(range(value.dim()), key=lambda dim: -value.stride(dim)) if _is_fixed_dense(value) else None
        if order is None or not isinstance(offset, int):
            continue
        if base is source and order == list(range(value.dim())) and offset == 0:
            continue
        if order != list(range(value.dim())):
            base = insert_before(node, _aten.permute.default, (base, order), {}, value.permute(order), node)
        given = [*node.args[1:], *node.kwargs.values()]
        size, stride = given[:2]
        first = given[2] if len(given) > 2 and given[2] is not None else offset
        node.args, node.kwargs = (base, size, stride, first), {}


def _base_of(node: fx.Node) -> fx.Node:
    """Return the base of a chain of views."""
    while node.op == "call_function" and isinstance(node.target, OpOverload) and is_view(node.target):
        node = node.args[0]  # type: ignore[assignment]
    return node


def _is_fixed_dense(value: object) -> bool:
    """Return whether the tensor has constant sizes, offset 0, and is dense without overlaps."""
    if not isinstance(value, torch.Tensor) or not all(isinstance(n, int) for n in (*value.shape, *value.stride())):
        return False
    dense: bool = torch._prims_common.is_non_overlapping_and_dense_or_false(value)
    return dense and value.storage_offset() == 0
