# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators of users' own that write to their arguments are called as they are again; export had made them functional.

nothing, new = auto_functionalized_v2(own, x, base=[state])            own(state, x)
… new …                                                          →     … state …
copy_(state, new)

Where somebody still reads the old value, or holds it, the operator writes to a copy.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.specs import written_placeholder_names
from executorch.exir.passes.node_rewrite import insert_before, replace_by
from executorch.exir.passes.reinplace import later_readers, may_be_written, returned_to_the_user

_FUNCTIONALIZED = torch.ops.higher_order.auto_functionalized_v2
_CLONE = exir_ops.edge.dim_order_ops._clone_dim_order.default


def restore_mutable_calls(program: ExportedProgram) -> None:
    """Rewrites every such call in place. Raises `ExportError` where what is written is a part of another tensor."""
    for held in all_graph_modules(program.graph_module):
        outermost = held is program.graph_module
        calls = held.graph.find_nodes(op="call_function", target=_FUNCTIONALIZED)
        mutable = written_placeholder_names(program.graph_signature) if outermost and calls else set()
        kept = returned_to_the_user(program) if outermost else set(held.graph.output_node().all_input_nodes)
        for call in calls:
            _restore(call, mutable, kept)


def _restore(call: fx.Node, mutable: set[str], kept: set[fx.Node]) -> None:
    op: Any = call.args[0]
    results: dict[Any, fx.Node] = {user.args[1]: user for user in call.users if user.target is operator.getitem}
    first_base = max(len(op._schema.returns), 1)
    bases: Any = call.kwargs["_all_bases"]
    written = [
        base
        if may_be_written(base, mutable) and results.get(first_base + i) not in kept and not later_readers(base, call)
        else _copied(base, call)
        for i, base in enumerate(bases)
    ]
    value = _returned_value(op, call)
    made = insert_before(call, op, _arguments(op, call, written), {}, value, call)
    for index, result in results.items():
        if index >= first_base:
            replace_by(result, written[index - first_base])
        elif len(op._schema.returns) == 1:
            replace_by(result, made)
        else:
            result.args = (made, index)
    call.graph.erase_node(call)


def _returned_value(op: OpOverload, call: fx.Node) -> Any:
    values: Any = call.meta["val"][: len(op._schema.returns)]
    return None if not values else values[0] if len(values) == 1 else tuple(values)


def _copied(base: fx.Node, call: fx.Node) -> fx.Node:
    value = base.meta["val"]
    return insert_before(call, _CLONE, (base,), {"dim_order": list(value.dim_order())}, value, call)


def _arguments(op: OpOverload, call: fx.Node, written: list[fx.Node]) -> tuple[Any, ...]:
    made: list[Any] = []
    for item in op._schema.arguments:
        if item.alias_info is None or not item.alias_info.is_write:
            made.append(call.kwargs.get(item.name, item.default_value))
            continue
        facts = {key: value for key, value in call.kwargs.items() if key.startswith(f"_{item.name}_")}
        index: Any = facts.pop(f"_{item.name}_base_index", None)
        if facts:
            why = f"{op.name()} writes to {item.name!r}, a list of tensors or a part of one: this is not supported"
            raise ExportError("mutable calls", call, f"{why}; write to a whole tensor, or define a functional operator")
        made.append(None if index is None else written[index])
    return tuple(made)
