# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Names of modules inside of branches and bodies, where torch.export records none: from the weights that nodes read."""

from __future__ import annotations

from collections.abc import Mapping

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from executorch.exir.graph_module import get_control_flow_submodules

_STACK = "nn_module_stack"


def name_branch_modules(program: ExportedProgram) -> None:
    """Gives each node of a branch or body the module of the weights that it reads, or else the module that runs the
    branch. Nodes whose module is recorded keep it."""
    signature = program.graph_signature
    weights = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    owners = {node: weights[node.name].rpartition(".")[0] for node in program.graph.nodes if node.name in weights}
    _name(program.graph_module, owners)


def _name(graph_module: GraphModule, owners: Mapping[Node, str]) -> None:
    """owners: what weights of the graph are of which module."""
    for _, held, call in get_control_flow_submodules(graph_module):
        operands = [each for arg in call.args if isinstance(arg, (list, tuple)) for each in arg]
        taken = [node for node in held.graph.nodes if node.op == "placeholder"]
        given = {
            node: owners[operand]
            for node, operand in zip(taken, operands, strict=False)
            if isinstance(operand, Node) and operand in owners
        }
        _name_nodes(held, given, call)
        _name(held, given)


def _name_nodes(graph_module: GraphModule, given: Mapping[Node, str], call: Node) -> None:
    made = dict(given)  # and what is made of weights alone
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or node.meta.get(_STACK):
            continue
        read = node.all_input_nodes
        paths = {made[each] for each in read if each in made}
        if len(paths) == 1:
            (path,) = paths
            node.meta[_STACK] = {path: (path, "torch.nn.Module")}
            if all(each in made for each in read):
                made[node] = path
        elif call.meta.get(_STACK):
            node.meta[_STACK] = call.meta[_STACK]
