# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Put the operators of delegates back in the place of their calls, as they were before partitioning."""

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
    """Return a copy that calls the operators of its outermost graph's delegates; without delegates, the program itself.

    Operators keep their debug handles, constants of delegates become constants of the program. Delegates that change
    state, or whose programs have branches, stay.
    """
    calls = get_lowered_submodules(program.graph_module)
    if not any(_can_inline(module) for _, module, _ in calls):
        return program
    copied = copy_program(program)
    for _, module, call in get_lowered_submodules(copied.graph_module):
        if _can_inline(module):
            _inline(copied, module.original_module, call)
            # Partitioned programs may contain operators that are no longer allowed after partitioning.
            copied._verifiers = list(module.original_module.verifiers)
    copied.graph_module.graph.eliminate_dead_code()
    copied.graph_module.recompile()
    sync_signature(copied)
    return copied


def _can_inline(module: LoweredBackendModule) -> bool:
    original = module.original_module
    signature = original.graph_signature
    constants = constant_tensors(original)
    return (
        all(spec.kind is OutputKind.USER_OUTPUT for spec in signature.output_specs)
        and all(spec.kind is InputKind.USER_INPUT or spec.arg.name in constants for spec in signature.input_specs)
        and not original.graph.find_nodes(op="get_attr")
    )


def _inline(program: ExportedProgram, original: ExportedProgram, call: Node) -> None:
    constants = constant_tensors(original)
    placed: dict[Node, Node] = {}
    operands = iter(call.args[1:])
    for placeholder in original.graph.find_nodes(op="placeholder"):
        if placeholder.name in constants:
            tensor, value = constants[placeholder.name].detach(), placeholder.meta["val"]
            placed[placeholder] = add_constant(program, placeholder.name, tensor, value, placeholder)
        else:
            operand = next(operands)
            assert isinstance(operand, Node), operand
            placed[placeholder] = operand
    graph = program.graph
    with graph.inserting_before(call):
        for node in original.graph.nodes:
            if node.op == "call_function":
                placed[node] = graph.node_copy(node, placed.__getitem__)
    results = original.graph.output_node().args[0]
    for user in list(call.users):
        assert user.target is operator.getitem, user
        user.replace_all_uses_with(placed[results[user.args[1]]])
        graph.erase_node(user)
    graph.erase_node(call)
