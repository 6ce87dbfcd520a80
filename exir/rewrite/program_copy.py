# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copy a program to change its graph: graph and signature are copied, weights are shared."""

from __future__ import annotations

import copy
from dataclasses import replace

from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import ExportGraphSignature

from executorch.exir.graph_module import copy_graph_module
from executorch.exir.rewrite.program_signature import signature_of_graph

__all__ = ["copy_call", "copy_program", "deepcopy_program"]


def copy_program(program: ExportedProgram) -> ExportedProgram:
    """Copy a program's graph (with subgraphs), signature and weight tables. The tensors are shared.

    copy.deepcopy of a program renames inputs that have a Python name, such as `input`, in the graph but not in the
    signature: the copy's signature has the names of the graph.
    """
    graph_module = copy_graph_module(program.graph_module)
    signature, calls = program.graph_signature, program.module_call_graph
    names = [node.name for node in graph_module.graph.find_nodes(op="placeholder")]
    if names != [spec.arg.name for spec in signature.input_specs]:
        signature, calls = signature_of_graph(program, graph_module.graph)
    # ExportedProgram's constructor would verify the graph; callers do that where it may be illegal.
    copied = copy.copy(program)
    copied._graph_module = graph_module
    copied._graph_signature = ExportGraphSignature(
        [replace(spec, arg=replace(spec.arg)) for spec in signature.input_specs],
        [replace(spec, arg=replace(spec.arg)) for spec in signature.output_specs],
    )
    copied._state_dict = dict(program.state_dict)
    copied._constants = dict(program.constants)
    copied._range_constraints = dict(program.range_constraints)
    copied._module_call_graph = [copy_call(entry) for entry in calls]
    copied._verifiers = list(program.verifiers)
    return copied


def deepcopy_program(program: ExportedProgram, memo: dict[int, object]) -> ExportedProgram:
    """Copy a program as `copy_program` does, and its tensors too. memo: that of `__deepcopy__`."""
    copied = copy_program(program)
    copied._state_dict = copy.deepcopy(copied._state_dict, memo)
    copied._constants = copy.deepcopy(copied._constants, memo)
    return copied


def copy_call(entry: ModuleCallEntry) -> ModuleCallEntry:
    """Copy an entry with its argument names, which torch renames in place."""
    call = entry.signature
    if call is None:
        return ModuleCallEntry(entry.fqn)
    names = call.forward_arg_names
    return ModuleCallEntry(
        entry.fqn,
        ModuleCallSignature(
            inputs=[replace(argument) for argument in call.inputs],
            outputs=[replace(argument) for argument in call.outputs],
            in_spec=call.in_spec,
            out_spec=call.out_spec,
            forward_arg_names=None if names is None else list(names),
        ),
    )
