# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace in-place calls by functional ones where the graph proves that results are equal.

`y = x.relu_()` becomes `y = x.relu()`, and later readers of `x` read `y`. This is correct if the graph computed `x`,
or `x` is writable state, and no later node reads a tensor that may share its memory (a view, or the base of `x`).
The end of the graph reads all writable state.

A write to a part of a tensor makes a new tensor: `x[1].copy_(y)` becomes `x = select_scatter(x, copy(x[1], y), 0, 1)`.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from functools import cache

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload

from executorch.exir.decompose.call_body import is_composite
from executorch.exir.operator.call_effects import writes_arguments
from executorch.exir.operator.convert import is_functional, is_written_argument
from executorch.exir.rewrite.node_rewrite import insert_before, with_values

# Arguments that, if true, make an operator update its running statistics, which the schema does not declare.
_HIDDEN_WRITES = frozenset({"training", "train", "use_input_stats"})

# A view of a part → the operator that returns the base with this part replaced; their other arguments are equal.
_SCATTER: dict[object, OpOverload] = {
    torch.ops.aten.select.int: torch.ops.aten.select_scatter.default,
    torch.ops.aten.slice.Tensor: torch.ops.aten.slice_scatter.default,
}


@cache
def functional_form(op: OpOverload) -> OpOverload | None:
    """Return the functional form of an in-place operator (`relu_` → `relu`), or None. Overloads of both may have
    different names: that of `pow_.Scalar` is `pow.Tensor_Scalar`."""
    arguments = op._schema.arguments
    writes = [is_written_argument(item) for item in arguments]
    name = op._schema.name.split("::")[1]
    if not name.endswith("_") or not writes[0] or any(writes[1:]):
        return None
    packet = getattr(getattr(torch.ops, op.namespace), name.removesuffix("_"), None)
    overloads = [] if packet is None else [getattr(packet, overload) for overload in packet.overloads()]
    forms = [overload for overload in overloads if is_functional(overload) and _parameters(overload) == _parameters(op)]
    return next((form for form in forms if form._overloadname == op._overloadname), forms[0] if forms else None)


def _parameters(op: OpOverload) -> list[tuple[str, str, object]]:
    return [(item.name, str(item.type), item.default_value) for item in op._schema.arguments]


def updates_statistics(node: fx.Node) -> bool:
    """Return whether a call updates an argument without declaring it: norms in training mode."""
    schema = node.target._schema.arguments  # type: ignore[union-attr]
    given = {item.name: value for item, value in zip(schema, node.args, strict=False)} | node.kwargs
    return any(given.get(name) not in (None, False) for name in _HIDDEN_WRITES)


class _Memory:
    """Groups of nodes that may share memory, and of nodes that are the same tensor."""

    def __init__(self) -> None:
        self._group: dict[fx.Node, list[fx.Node]] = {}
        self._names: dict[fx.Node, list[fx.Node]] = {}

    def group(self, node: fx.Node) -> list[fx.Node]:
        return self._group.setdefault(node, [node])

    def join(self, node: fx.Node, other: fx.Node) -> None:
        one, two = self.group(node), self.group(other)
        if one is not two:
            one.extend(two)
            self._group.update(dict.fromkeys(two, one))

    def names(self, node: fx.Node) -> list[fx.Node]:
        return self._names.setdefault(node, [node])

    def rename(self, node: fx.Node, new: fx.Node) -> None:
        names = self.names(node)
        names.append(new)
        self._names[new] = names


def make_functional(graph: fx.Graph, state: Collection[fx.Node] = ()) -> dict[fx.Node, fx.Node] | None:
    """Replace the in-place calls of a graph. state: placeholders that may be written.

    Return placeholder → its final value, or None (and a partly rewritten graph) if a call cannot be replaced.
    """
    memory = _Memory()
    position = {node: index for index, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if writes_arguments(node.target):
            if not _replace(node, memory, position, state):
                return None
        elif not is_fresh(node.target) and not _is_own_result(node):
            for operand in node.all_input_nodes:
                memory.join(operand, node)
    return {placeholder: memory.names(placeholder)[-1] for placeholder in state if len(memory.names(placeholder)) > 1}


def is_fresh(target: object) -> bool:
    """Return whether the results never alias arguments.

    Composite operators may return an argument. torch refuses control flow whose results alias operands.
    """
    if isinstance(target, HigherOrderOperator):
        return True
    return isinstance(target, OpOverload) and is_functional(target) and not is_composite(target)


def _is_own_result(node: fx.Node) -> bool:
    """Return whether a node reads a result of a call whose results do not share memory."""
    if node.target is not operator.getitem or not isinstance(node.args[0], fx.Node):
        return False
    return isinstance(node.args[0].target, OpOverload) and is_fresh(node.args[0].target)


def _keeps_dtype(functional: OpOverload, node: fx.Node) -> bool:
    """Return whether the functional form has the dtype that the call writes: not `x.gt_(0)`, unless x is boolean."""
    value = functional(*with_values(node.args), **with_values(node.kwargs))
    return not isinstance(value, torch.Tensor) or value.dtype == node.meta["val"].dtype


def _replace(node: fx.Node, memory: _Memory, position: dict[fx.Node, int], state: Collection[fx.Node]) -> bool:
    functional, written = functional_form(node.target), node.args[0]
    if functional is None or not isinstance(written, fx.Node) or not _keeps_dtype(functional, node):
        return False
    where = position[node]
    parts = _parts(written, memory)
    names = {name for part in parts for name in memory.names(part)}
    for alias in memory.group(written):
        read_later = alias in state or any(position[user] > where for user in alias.users)
        may_write = alias.op == "call_function" or alias in state
        if not may_write or (read_later and alias not in names):
            return False
    node.target = functional
    following, new = node.next, node
    for part, whole in zip(parts, [*parts[1:], None], strict=True):
        _rename(part, new, memory, position, where)
        if whole is not None:
            arguments = (memory.names(whole)[-1], new, *part.args[1:])
            new = insert_before(following, _SCATTER[part.target], arguments, part.kwargs, whole.meta["val"], node)
            position[new] = where
    return True


def _parts(written: fx.Node, memory: _Memory) -> list[fx.Node]:
    """Return the written tensor, the tensor that contains it, and so on, up to the outermost.

    Each is the node before any write replaced it: its arguments are the position of the part in its container.
    """
    parts = [memory.names(written)[0]]
    while parts[-1].target in _SCATTER:
        container = parts[-1].args[0]
        assert isinstance(container, fx.Node)
        parts.append(memory.names(container)[0])
    return parts


def _rename(node: fx.Node, new: fx.Node, memory: _Memory, position: dict[fx.Node, int], where: int) -> None:
    """Let later nodes read `new` in place of `node` and its other names."""
    for name in memory.names(node):
        name.replace_all_uses_with(new, delete_user_cb=lambda user: position[user] > where)
    memory.join(node, new)
    memory.rename(node, new)
