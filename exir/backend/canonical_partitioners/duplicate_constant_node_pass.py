# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Give each reader of a constant its own placeholder, so that a partition can own the constants that it reads."""

from __future__ import annotations

from dataclasses import replace

from torch.export import ExportedProgram
from torch.export.graph_signature import TensorArgument

from executorch.exir.backend.partition.constant_tagging import is_constant_data
from executorch.exir.rewrite.node_rewrite import origin_of

__all__ = ["duplicate_constant_node"]


def duplicate_constant_node(exported_program: ExportedProgram, candidate_node: str) -> set[str]:
    """Give every reader of the constant but the first a placeholder of its own, in place; return their names.

    candidate_node: name of the placeholder of a parameter, buffer or lifted constant. All placeholders stand for the
    same weight: its data are not copied. ValueError: there is no such constant, or the program updates it.
    """
    graph, signature = exported_program.graph, exported_program.graph_signature
    node = next((node for node in graph.find_nodes(op="placeholder") if node.name == candidate_node), None)
    if node is None or not is_constant_data(exported_program, node):
        raise ValueError(f"{candidate_node!r} is not a constant of the program")
    position = next(i for i, spec in enumerate(signature.input_specs) if spec.arg.name == candidate_node)
    spec = signature.input_specs[position]
    if spec.target in signature.buffers_to_mutate.values():
        raise ValueError(f"{candidate_node!r} is updated by the program: copies would differ after an update")
    copies: list[str] = []
    for number, user in enumerate(list(node.users)[1:]):
        with graph.inserting_before(node):
            copy = graph.placeholder(f"{node.name}_copy_{number}")
        copy.meta = {**origin_of(node), "val": node.meta["val"]}
        user.replace_input_with(node, copy)
        signature.input_specs.insert(position + number, replace(spec, arg=TensorArgument(name=copy.name)))
        copies.append(copy.name)
    exported_program.graph_module.recompile()
    return set(copies)
