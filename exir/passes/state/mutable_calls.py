# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Restore calls of custom operators that write to their arguments, which torch.export made functional.

nothing, new = auto_functionalized_v2(own, x, base=[state])            own(state, x)
… new …                                                          →     … state …
copy_(state, new)

If another node or the caller reads the old value, the operator writes to a copy. If it writes to a part of a tensor,
it writes to a copy of the part, which is then put back (`slice_writes`).
"""

from __future__ import annotations

import operator
from typing import Any, cast

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.node import Argument

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.lifetimes.specs import written_placeholder_names
from executorch.exir.operator.convert import is_written_argument
from executorch.exir.passes.state.reinplace import later_readers, may_be_written, returned_to_the_user
from executorch.exir.rewrite.node_rewrite import insert_before, replace_by
from executorch.exir.rewrite.slice_writes import Place, check_disjoint, copy_part, place_of, put_part

_FUNCTIONALIZED = torch.ops.higher_order.auto_functionalized_v2
_CLONE = exir_ops.edge.dim_order_ops._clone_dim_order.default


def restore_mutable_calls(program: ExportedProgram) -> None:
    """Let custom operators that write to an argument do so again, on a copy where the old value is still read.

    Raises `ExportError` if one call writes to the same elements twice.

    Helps: state of custom operators.
    """
    for module in all_graph_modules(program.graph_module):
        outermost = module is program.graph_module
        calls = module.graph.find_nodes(op="call_function", target=_FUNCTIONALIZED)
        mutable = written_placeholder_names(program.graph_signature) if outermost and calls else set()
        kept = returned_to_the_user(program) if outermost else set(module.graph.output_node().all_input_nodes)
        for call in calls:
            _restore(call, mutable, kept)


def _restore(call: fx.Node, mutable: set[str], kept: set[fx.Node]) -> None:
    op: Any = call.args[0]
    results = {cast(int, user.args[1]): user for user in call.users if user.target is operator.getitem}
    first_base = max(len(op._schema.returns), 1)
    bases: Any = call.kwargs["_all_bases"]
    places = _places(op, call)
    check_disjoint(call, bases, places)
    written: list[fx.Node] = []
    for i, base in enumerate(bases):
        in_place = may_be_written(base, mutable) and results.get(first_base + i) not in kept
        only_parts = all(place.part is not None for place in places.values() if place.base == i)
        # A part is copied anyway; the base does not change until put_part.
        written.append(base if only_parts or (in_place and not later_readers(base, call)) else _copied(base, call))
    given = {key: copy_part(call, written[place.base], place) for key, place in places.items()}
    value = _returned_value(op, call)
    new_call = insert_before(call, op, _arguments(op, call, given), {}, value, call)
    for key, place in places.items():
        written[place.base] = put_part(call, written[place.base], given[key], place)
    for index, result in results.items():
        if index >= first_base:
            replace_by(result, written[index - first_base])
        elif len(op._schema.returns) == 1:
            replace_by(result, new_call)
        else:
            result.args = (new_call, index)
    call.graph.erase_node(call)


def _returned_value(op: OpOverload, call: fx.Node) -> object:
    values: Any = call.meta["val"][: len(op._schema.returns)]
    return None if not values else values[0] if len(values) == 1 else tuple(values)


def _copied(base: fx.Node, call: fx.Node) -> fx.Node:
    value = base.meta["val"]
    return insert_before(call, _CLONE, (base,), {"dim_order": list(value.dim_order())}, value, call)


def _written_arguments(op: OpOverload) -> list[str]:
    return [item.name for item in op._schema.arguments if is_written_argument(item)]


def _places(op: OpOverload, call: fx.Node) -> dict[str, Place]:
    """Return the written places by key prefix: `_x` for argument x, `_x_0` for the first tensor of a list x."""
    places: dict[str, Place] = {}
    for name in _written_arguments(op):
        length: Any = call.kwargs.get(f"_{name}_length")
        prefixes = [f"_{name}"] if length is None else [f"_{name}_{i}" for i in range(length)]
        for prefix in prefixes:
            place = place_of(call, prefix)
            if place is not None:
                places[prefix] = place
    return places


def _arguments(op: OpOverload, call: fx.Node, given: dict[str, fx.Node]) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    written = _written_arguments(op)
    for item in op._schema.arguments:
        length: Any = call.kwargs.get(f"_{item.name}_length")
        if item.name not in written:
            arguments.append(call.kwargs.get(item.name, item.default_value))
        elif length is None:
            arguments.append(given.get(f"_{item.name}"))
        else:
            arguments.append([given.get(f"_{item.name}_{i}") for i in range(length)])
    return tuple(arguments)
