# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Record module paths of nodes in branches and bodies, where torch.export omits them, from the weights they read."""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import get_control_flow_submodules

_STACK = "nn_module_stack"


def name_branch_modules(program: ExportedProgram) -> None:
    """Set the module of each node of a branch or body: the owner of the weights it reads, or the module of the call.

    Nodes with a recorded module keep it.
    """
    signature = program.graph_signature
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    owners = {node: weights[node.name].rpartition(".")[0] for node in program.graph.nodes if node.name in weights}
    _name(program.graph_module, owners)


def _name(graph_module: GraphModule, owners: Mapping[Node, str]) -> None:
    """Name the modules in the subgraphs of a graph. owners: node of a weight → path of its module."""
    for _, module, call in get_control_flow_submodules(graph_module):
        operands = [operand for arg in call.args if isinstance(arg, (list, tuple)) for operand in arg]
        taken = [node for node in module.graph.nodes if node.op == "placeholder"]
        given = {
            node: owners[operand]
            for node, operand in zip(taken, operands, strict=False)
            if isinstance(operand, Node) and operand in owners
        }
        _name_nodes(module, given, call)
        _name(module, given)


def _name_nodes(graph_module: GraphModule, given: Mapping[Node, str], call: Node) -> None:
    paths_of_weights = dict(given)  # grows by nodes that depend only on weights
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or node.meta.get(_STACK):
            continue
        read = node.all_input_nodes
        paths = {paths_of_weights[weight] for weight in read if weight in paths_of_weights}
        if len(paths) == 1:
            (path,) = paths
            node.meta[_STACK] = {path: (path, "torch.nn.Module")}
            if all(weight in paths_of_weights for weight in read):
                paths_of_weights[node] = path
        elif call.meta.get(_STACK):
            node.meta[_STACK] = call.meta[_STACK]
