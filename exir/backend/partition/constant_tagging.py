# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tagging constants for partitioners: a parameter, buffer or lifted tensor follows the operators that read it.

Call these after all operators are tagged.
"""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from executorch.exir.backend.partition.subgraph_constants import CONSTANT_KINDS
from executorch.exir.backend.partition.subgraph_programs import programs_of
from executorch.exir.rewrite.program_constants import constant_spec_of

__all__ = ["is_constant_data", "tag_constant_data", "tag_mutated_buffer"]

_TAG = "delegation_tag"


def tag_constant_data(edge_program: ExportedProgram) -> None:
    """Tag every constant that a tagged operator reads, in the program and in the graphs that its control flow runs,
    except for buffers that the program updates.

    A constant that several partitions read gets one of their tags, and lowering adds it to each of them. The tensor is
    shared; with `meta["no_copy"] = True` on its node, lowering raises an error instead.
    """
    updated = _updates(edge_program)
    for program in programs_of(edge_program):
        for node, fqn in _constants(program):
            tags = _reader_tags(node)
            if tags and fqn not in updated:
                node.meta[_TAG] = min(tags)


def tag_mutated_buffer(edge_program: ExportedProgram) -> None:
    """Tag the buffers that the program updates, if one partition has all their readers and the update.

    All other buffers stay with the program, because state must have one owner.
    """
    updated = _updates(edge_program)
    nodes = {node.name: node for node in edge_program.graph.nodes}
    for node, fqn in _constants(edge_program):
        if fqn not in updated:
            continue
        tags = {user.meta.get(_TAG) for user in node.users} | {nodes[updated[fqn]].meta.get(_TAG)}
        if len(tags) == 1 and None not in tags:
            node.meta[_TAG] = tags.pop()


def is_constant_data(ep: ExportedProgram, node: Node) -> bool:
    """Return whether `node` is a placeholder of a parameter, buffer or lifted tensor constant."""
    return constant_spec_of(ep, node) is not None


def _constants(program: ExportedProgram) -> list[tuple[Node, str]]:
    targets = {
        spec.arg.name: str(spec.target) for spec in program.graph_signature.input_specs if spec.kind in CONSTANT_KINDS
    }
    return [(n, targets[n.name]) for n in program.graph.find_nodes(op="placeholder") if n.name in targets]


def _updates(program: ExportedProgram) -> dict[str, str]:
    """Buffer → name of the node whose value it gets."""
    return {
        str(spec.target): spec.arg.name
        for spec in program.graph_signature.output_specs
        if spec.kind is OutputKind.BUFFER_MUTATION
    }


def _reader_tags(node: Node) -> set[str]:
    return {user.meta[_TAG] for user in node.users if user.meta.get(_TAG) is not None}
