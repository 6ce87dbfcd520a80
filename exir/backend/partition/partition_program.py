# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A partition as a separate program, for a backend's `preprocess` and for the eager run of a lowered module."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from executorch.exir.backend.partition.partition_error import PartitionError, node_and_source
from executorch.exir.backend.partition.tagged_partitions import TaggedPartition

__all__ = ["argument_spec", "flat_call", "make_partition_program"]

_CONSTANT_ORDER = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def make_partition_program(partition: TaggedPartition, parent: ExportedProgram) -> ExportedProgram:
    """Copy the partition's nodes into a program: parameters, buffers, constants, then inputs; buffer updates, then
    outputs.

    Node names are those of the parent. Weights are shared with it. The parent is left as it is.
    """
    border = f"partition {partition.tag!r}"
    constants = sorted(partition.constants.items(), key=lambda item: _CONSTANT_ORDER.index(item[1].kind))
    inputs, outputs = partition.inputs(), partition.outputs()
    by_name = {node.name: node for node in partition.nodes}
    updates = [by_name[spec.arg.name] for spec in partition.mutations]
    graph = _copy_nodes(partition.nodes, [node for node, _ in constants] + inputs, updates + outputs)

    input_specs = [InputSpec(s.kind, TensorArgument(n.name), s.target, s.persistent) for n, s in constants]
    input_specs += [InputSpec(InputKind.USER_INPUT, argument_spec(node, border), None) for node in inputs]
    output_specs = [OutputSpec(s.kind, TensorArgument(s.arg.name), s.target) for s in partition.mutations]
    output_specs += [OutputSpec(OutputKind.USER_OUTPUT, argument_spec(node, border), None) for node in outputs]
    targets = [str(spec.target) for _, spec in constants]
    return ExportedProgram(
        root=partition.host,
        graph=graph,
        graph_signature=ExportGraphSignature(input_specs=input_specs, output_specs=output_specs),
        state_dict={name: parent.state_dict[name] for name in targets if name in parent.state_dict},
        range_constraints=dict(parent.range_constraints),
        module_call_graph=[flat_call(len(inputs), len(outputs))],
        constants={name: parent.constants[name] for name in targets if name in parent.constants},
        verifiers=list(parent.verifiers),
    )


def argument_spec(node: object, border: str) -> ArgumentSpec:
    """Return the signature's description of the value of `node`, or of a constant. PartitionError: such a value cannot
    cross the border."""
    if not isinstance(node, Node):
        return ConstantArgument(name="", value=node)  # type: ignore[arg-type]  # None or a number
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return TensorArgument(name=node.name)
    if isinstance(value, torch.SymInt):
        return SymIntArgument(name=node.name)
    if isinstance(value, torch.SymFloat):
        return SymFloatArgument(name=node.name)
    if isinstance(value, torch.SymBool):
        return SymBoolArgument(name=node.name)
    if value is None or isinstance(value, (bool, int, float, str)):
        return ConstantArgument(name=node.name, value=value)
    raise PartitionError(
        f"{node_and_source(node)} crosses the border of {border}, but its value is a "
        f"{type(value).__name__}: only tensors and symbolic or plain numbers can"
    )


def _copy_nodes(nodes: list[Node], placeholders: list[Node], outputs: list[Node]) -> Graph:
    graph = Graph()
    copies: dict[Node, Node] = {}
    for source in placeholders:
        copies[source] = graph.create_node("placeholder", source.name, name=source.name)
        copies[source].meta = dict(source.meta)
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    for source, copied in copies.items():
        if copied.name != source.name:  # a new graph avoids names such as "input", to which the signature refers
            copied.name = source.name
    graph.output(tuple(copies[node] for node in outputs))
    graph.lint()
    return graph


def flat_call(inputs: int, outputs: int) -> ModuleCallEntry:
    """The call signature of a program that takes and returns a flat tuple (torch leaves out the names, too)."""
    in_spec = pytree.tree_structure((tuple(range(inputs)), {}))
    out_spec = pytree.tree_structure(tuple(range(outputs)))
    return ModuleCallEntry("", ModuleCallSignature(inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec))
