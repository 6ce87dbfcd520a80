# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find the constants of a program that its control-flow calls pass to their graphs as operands.

cond(p, then, otherwise, (x, weight))       in `then` and `otherwise`, the second placeholder is `weight`
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules, get_control_flow_submodules

__all__ = ["CONSTANT_KINDS", "constants_in_subgraphs", "drop_unread_operands"]

CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)

hop = torch.ops.higher_order
# Operator → the argument whose operands its graphs receive unchanged, and the arguments whose values precede them.
_OPERANDS: dict[object, tuple[int, tuple[int, ...]]] = {
    hop.cond: (3, ()),
    hop.map_impl: (2, (1,)),
    hop.while_loop: (3, (2,)),
    hop.scan: (3, (1, 2)),
}


def constants_in_subgraphs(program: ExportedProgram) -> dict[Node, InputSpec]:
    """Return placeholders of control-flow graphs → the constant that each call of the graph passes to it.

    Buffers that the program updates are left out: their value depends on when they are read.
    """
    signature = program.graph_signature
    updated = {*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values()}
    specs = {spec.arg.name: spec for spec in signature.input_specs if spec.kind in CONSTANT_KINDS}
    outer = {node: specs.get(node.name) for node in program.graph.find_nodes(op="placeholder")}
    given: dict[Node, list[object]] = {}
    for host in all_graph_modules(program.graph_module):
        for inner, operand in _handed_over(host):
            given.setdefault(inner, []).append(operand)

    def constant(value: object) -> InputSpec | None:
        if not isinstance(value, Node):
            return None
        specs = [constant(argument) for argument in given[value]] if value in given else [outer.get(value)]
        targets = {None if spec is None or spec.target in updated else spec.target for spec in specs}
        return specs[0] if len(targets) == 1 and None not in targets else None

    return {
        inner: InputSpec(spec.kind, TensorArgument(inner.name), spec.target, spec.persistent)
        for inner in given
        if (spec := constant(inner)) is not None
    }


def drop_unread_operands(program: ExportedProgram, targets: Collection[str | None]) -> None:
    """Remove operands that are constants in `targets` and that no graph of a call reads, from the graphs and the
    call."""
    wanted = {node for node, spec in constants_in_subgraphs(program).items() if spec.target in targets}
    for host in reversed(list(all_graph_modules(program.graph_module))):  # inner graphs first
        for call in [node for node in host.graph.nodes if node.target in _OPERANDS]:
            _drop_from_call(host, call, wanted)


def _drop_from_call(host: GraphModule, call: Node, wanted: set[Node]) -> None:
    place, _ = _OPERANDS[call.target]
    graphs = [graph for _, graph, caller in get_control_flow_submodules(host) if caller is call]
    before = len(_operands_before(call))
    inside = zip(*(graph.graph.find_nodes(op="placeholder", sort=True)[before:] for graph in graphs), strict=True)
    kept = []
    for operand, inner in zip(_sequence(call.args[place]), inside, strict=True):
        if wanted.intersection(inner) and not any(node.users for node in inner):
            for node in inner:
                node.graph.erase_node(node)
        else:
            kept.append(operand)
    call.update_arg(place, tuple(kept))  # type: ignore[arg-type]  # they were arguments before


def _handed_over(host: GraphModule) -> Iterator[tuple[Node, object]]:
    """Yield (placeholder, operand of the call in `host`) for the graphs that `host` runs; None for its own values."""
    for _, graph, call in get_control_flow_submodules(host):
        if call.target not in _OPERANDS:
            continue
        place, _ = _OPERANDS[call.target]
        given = [*(None for _ in _operands_before(call)), *_sequence(call.args[place])]
        yield from zip(graph.graph.find_nodes(op="placeholder", sort=True), given, strict=True)


def _operands_before(call: Node) -> list[object]:
    return [value for position in _OPERANDS[call.target][1] for value in _sequence(call.args[position])]


def _sequence(argument: object) -> list[object]:
    return list(argument) if isinstance(argument, (list, tuple)) else [argument]
