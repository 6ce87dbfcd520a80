# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace the calls of delegates with the operators that were delegated."""

from __future__ import annotations

import operator

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_submodules
from executorch.exir.rewrite.program_constants import add_constant, constant_tensors
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.rewrite.program_signature import sync_signature

__all__ = ["inline_delegates"]


def inline_delegates(program: ExportedProgram) -> ExportedProgram:
    """Return a copy in which operators replace the delegates of the outermost graph; the program itself if there are
    none.

    Operators keep their debug handles. Constants of delegates become constants of the program. A delegate stays if it
    changes state, if its program has branches, or if a node reads its results other than one by one.
    """
    if not any(_can_inline(module, call) for _, module, call in get_lowered_submodules(program.graph_module)):
        return program
    copied = copy_program(program)
    for _, module, call in get_lowered_submodules(copied.graph_module):
        if _can_inline(module, call):
            _inline(copied, module.original_module, call)
            # Partitioned programs may contain operators that are no longer allowed after partitioning.
            copied._verifiers = list(module.original_module.verifiers)
    copied.graph_module.graph.eliminate_dead_code()
    copied.graph_module.recompile()
    sync_signature(copied)
    return copied


def _can_inline(module: LoweredBackendModule, call: Node) -> bool:
    original = module.original_module
    signature = original.graph_signature
    constants = constant_tensors(original)
    return (
        all(spec.kind is OutputKind.USER_OUTPUT for spec in signature.output_specs)
        and all(spec.kind is InputKind.USER_INPUT or spec.arg.name in constants for spec in signature.input_specs)
        and not original.graph.find_nodes(op="get_attr")
        and all(isinstance(operand, Node) for operand in call.args)
        and all(user.target is operator.getitem for user in call.users)
    )


def _inline(program: ExportedProgram, original: ExportedProgram, call: Node) -> None:
    constants = constant_tensors(original)
    placed: dict[Node, Node] = {}
    operands = (operand for operand in call.args[1:] if isinstance(operand, Node))
    for placeholder in original.graph.find_nodes(op="placeholder"):
        if placeholder.name in constants:
            tensor, value = constants[placeholder.name].detach(), placeholder.meta["val"]
            placed[placeholder] = add_constant(program, placeholder.name, tensor, value, placeholder)
        else:
            placed[placeholder] = next(operands)
    graph = program.graph
    with graph.inserting_before(call):
        for node in original.graph.nodes:
            if node.op == "call_function":
                placed[node] = graph.node_copy(node, placed.__getitem__)
    results = original.graph.output_node().args[0]
    for user in list(call.users):
        user.replace_all_uses_with(placed[results[user.args[1]]])
        graph.erase_node(user)
    graph.erase_node(call)
