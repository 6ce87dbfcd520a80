# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented pass that removes parameters without readers; nothing inside the project imports it."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind


def remove_unused_parameters_pass(ep: ExportedProgram) -> ExportedProgram:
    """Remove parameters that no node reads from the graph, the signature and the state; in place."""
    placeholders = {node.name: node for node in ep.graph.nodes if node.op == "placeholder"}
    unused = [
        spec
        for spec in ep.graph_signature.input_specs
        if spec.kind is InputKind.PARAMETER and not placeholders[spec.arg.name].users
    ]
    for spec in unused:
        ep.graph.erase_node(placeholders[spec.arg.name])
        ep.graph_signature.input_specs.remove(spec)
    kept = {spec.target for spec in ep.graph_signature.input_specs}
    for spec in unused:
        if spec.target not in kept:
            ep.state_dict.pop(str(spec.target), None)
    ep.graph_module.recompile()
    return ep
