# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace each partition with a call of its lowered module."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import count

from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec
from torch.fx import Node

from executorch.exir.backend.partition.subgraph_constants import drop_unread_operands
from executorch.exir.backend.partition.tagged_partitions import TAG, TaggedPartition
from executorch.exir.delegate import executorch_call_delegate, get_lowered_module_name
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.exir.rewrite.program_copy import copy_call

__all__ = ["insert_delegate_calls"]


def insert_delegate_calls(
    program: ExportedProgram, lowered: Iterable[tuple[TaggedPartition, LoweredBackendModule]]
) -> ExportedProgram:
    """Return `program` with a call in place of every partition, without the constants that only delegates read.

    The graphs of `program` change in place; use only the returned program.
    """
    graph_modules = list(all_graph_modules(program.graph_module))
    handles = [node.meta.get("debug_handle") for module in graph_modules for node in module.graph.nodes]
    next_handle = count(max((handle for handle in handles if isinstance(handle, int)), default=0) + 1)

    renamed: dict[str, str] = {}
    owned: dict[Node, InputSpec] = {}
    for partition, module in lowered:
        owned.update(partition.constants)
        _drop_update_outputs(program, partition)
        new_names = _replace_by_call(partition, module, next(next_handle))
        if partition.host is program.graph_module:
            renamed.update(new_names)

    moved = {spec.target for spec in owned.values()}
    drop_unread_operands(program, moved)
    names = {spec.arg.name for spec in program.graph_signature.input_specs if spec.target in moved}
    dropped = [node for node in program.graph.find_nodes(op="placeholder") if node.name in names and not node.users]
    for node in dropped:
        program.graph.erase_node(node)
    for host in graph_modules:
        for node in host.graph.nodes:
            node.meta.pop(TAG, None)
        host.graph.lint()
        host.recompile()
    return _with_new_signature(program, {node.name for node in dropped}, renamed)


def _drop_update_outputs(program: ExportedProgram, partition: TaggedPartition) -> None:
    """Remove the buffer updates that the delegate performs from the program's outputs and signature."""
    if not partition.mutations:
        return
    output = program.graph.output_node()
    updated = {spec.target for spec in partition.mutations}
    kept = [
        (value, spec)
        for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True)
        if spec.kind is not OutputKind.BUFFER_MUTATION or spec.target not in updated
    ]
    output.args = (tuple(value for value, _ in kept),)
    program.graph_signature.output_specs[:] = [spec for _, spec in kept]


def _replace_by_call(partition: TaggedPartition, module: LoweredBackendModule, debug_handle: int) -> dict[str, str]:
    """Return old name → new name of the values that the call now returns."""
    host, graph = partition.host, partition.host.graph
    inputs, inside = partition.inputs(), set(partition.nodes)
    outputs = [node for node in partition.nodes if any(user not in inside for user in node.users)]
    renamed = {}
    # The partition is one block in topological order, so all its operands precede its first node.
    with graph.inserting_before(partition.nodes[0]):
        attribute = graph.get_attr(get_lowered_module_name(host, module))
        call = graph.call_function(executorch_call_delegate, (attribute, *inputs))
        call.meta["val"] = tuple(node.meta["val"] for node in outputs)
        call.meta["debug_handle"] = debug_handle
        for index, node in enumerate(outputs):
            element = graph.call_function(operator.getitem, (call, index))
            element.meta["val"] = node.meta["val"]
            element.meta["debug_handle"] = debug_handle
            node.replace_all_uses_with(element, delete_user_cb=lambda user: user not in inside)
            renamed[node.name] = element.name
    for node in reversed(partition.nodes):
        graph.erase_node(node)
    return renamed


def _with_new_signature(program: ExportedProgram, dropped: set[str], renamed: dict[str, str]) -> ExportedProgram:
    signature = program.graph_signature
    inputs = [spec for spec in signature.input_specs if spec.arg.name not in dropped]
    outputs = []
    for spec in signature.output_specs:
        argument = spec.arg
        if getattr(argument, "name", None) in renamed:
            argument = type(argument)(name=renamed[argument.name])
        outputs.append(OutputSpec(spec.kind, argument, spec.target))
    kept = {spec.target for spec in inputs if spec.kind is not InputKind.USER_INPUT}
    removed = {spec.target for spec in signature.input_specs if spec.arg.name in dropped} - kept
    return ExportedProgram(
        root=program.graph_module,
        graph=program.graph,
        graph_signature=ExportGraphSignature(input_specs=inputs, output_specs=outputs),
        state_dict={name: tensor for name, tensor in program.state_dict.items() if name not in removed},
        range_constraints=program.range_constraints,
        module_call_graph=_remaining_calls(program, renamed),
        example_inputs=program.example_inputs,
        constants={name: value for name, value in program.constants.items() if name not in removed},
        verifiers=program.verifiers,
    )


def _remaining_calls(program: ExportedProgram, renamed: dict[str, str]) -> list[ModuleCallEntry]:
    """Return the calls of preserved submodules, without those signatures whose values are inside delegates now."""
    names = {node.name for node in program.graph.nodes}
    entries = []
    for entry in map(copy_call, program.module_call_graph):
        arguments = [] if entry.signature is None else [*entry.signature.inputs, *entry.signature.outputs]
        for argument in arguments:
            argument.name = renamed.get(argument.name, argument.name)
        swallowed = any(argument.name and argument.name not in names for argument in arguments)
        entries.append(ModuleCallEntry(entry.fqn) if swallowed else entry)
    return entries
