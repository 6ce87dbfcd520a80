# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write the new values of mutated buffers and inputs back at the end of the method."""

from __future__ import annotations

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, TensorArgument

from executorch.exir.dialects import dim_order_ops  # noqa: F401  (registers the operators)
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.passes.state.reinplace import written_placeholder
from executorch.exir.rewrite.node_rewrite import insert_before

_CLONE = exir_ops.edge.dim_order_ops._clone_dim_order.default


def insert_write_back_for_buffers(program: ExportedProgram) -> None:
    """Append `copy_(buffer, new value)` for every mutation of the signature, and remove new values from the outputs.

    Old values that are returned, or that another mutation reads, are copied before the first write.
    """
    graph = program.graph
    output = graph.output_node()
    targets = _written_placeholders(program)
    results = list(output.args[0])
    specs = program.graph_signature.output_specs
    written = {placeholder for placeholder in targets if placeholder is not None}
    for index, result in enumerate(results):
        if result in written and result is not targets[index]:
            dim_order = list(result.meta["val"].dim_order())
            results[index] = insert_before(output, _CLONE, (result,), {"dim_order": dim_order}, result.meta["val"])
    returned = []
    for index, (result, placeholder) in enumerate(zip(results, targets, strict=True)):
        if placeholder is None:
            returned.append(result)
        elif written_placeholder(result) is placeholder:
            specs[index].arg = TensorArgument(name=result.name)  # written in place
        else:
            value = placeholder.meta["val"]
            copy = insert_before(output, torch.ops.aten.copy_.default, (placeholder, result), {}, value)
            copy.meta["from_node"] = result.meta.get("from_node", [])
            specs[index].arg = TensorArgument(name=copy.name)
    output.args = (tuple(returned),)
    if "val" in output.meta:
        del output.meta["val"]


def _written_placeholders(program: ExportedProgram) -> list[fx.Node | None]:
    """Return, for each output of the signature, the placeholder that it updates; None for the user's outputs."""
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    by_target = {
        spec.target: nodes[spec.arg.name] for spec in signature.input_specs if spec.arg.name in nodes and spec.target
    }
    by_name = {
        spec.arg.name: nodes[spec.arg.name]
        for spec in signature.input_specs
        if spec.kind == InputKind.USER_INPUT and spec.arg.name in nodes
    }
    placeholders: list[fx.Node | None] = []
    for spec in signature.output_specs:
        if spec.kind in (OutputKind.BUFFER_MUTATION, getattr(OutputKind, "PARAMETER_MUTATION", None)):
            placeholders.append(by_target[spec.target])
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            placeholders.append(by_name[str(spec.target)])
        else:
            placeholders.append(None)
    return placeholders


def insert_write_back_for_buffers_pass(ep: ExportedProgram) -> tuple[fx.GraphModule, ExportGraphSignature]:
    """Façade: `insert_write_back_for_buffers` under its documented name; returns the changed graph and signature."""
    insert_write_back_for_buffers(ep)
    ep.graph_module.recompile()
    return ep.graph_module, ep.graph_signature
