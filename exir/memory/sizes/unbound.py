# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors without an upper bound on their size, which the runtime allocates: their list, and where it frees them."""

from collections.abc import Collection

from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.functions import alloc, free
from executorch.exir.memory.lifetimes.specs import (
    get_graph_input_tensors,
    get_graph_output_tensors,
    get_node_tensor_specs,
)
from executorch.exir.tensor import TensorSpec


def insert_calls_to_free(graph_module: GraphModule, allspecs: Collection[TensorSpec] | None = None) -> None:
    """Add a `free` after the last use of each unbound tensor of the graph, inputs and outputs excepted.

    allspecs: only these tensors are freed; None means all.
    """
    graph = graph_module.graph
    kept = get_graph_input_tensors(graph.nodes) | get_graph_output_tensors(graph.nodes)
    last_use: dict[TensorSpec, Node] = {}
    holders: dict[TensorSpec, Node] = {}
    for node in graph.nodes:
        if isinstance(node.meta.get("spec"), TensorSpec):
            holders.setdefault(node.meta["spec"], node)
        for operand in (node, *node.all_input_nodes):
            for spec in get_node_tensor_specs(operand):
                if spec.is_dynamic_unbound_tensor and spec not in kept:
                    last_use[spec] = node
    freed = {node.args[0].meta.get("spec") for node in graph.nodes if node.target is free}
    for spec, node in last_use.items():
        if spec not in freed and spec in holders and (allspecs is None or spec in allspecs):
            with graph.inserting_after(node):
                graph.call_function(free, (holders[spec],))
    if last_use:
        graph_module.recompile()


def unbounded_tensors(graph_module: GraphModule) -> tuple[str, ...]:
    """Return the tensors that the runtime allocates, as `name: dtype[sizes]` by their symbols, without inputs, whose
    memory is the caller's."""
    inputs = get_graph_input_tensors(graph_module.graph.nodes)
    names: dict[TensorSpec, str] = {}
    allocated: dict[TensorSpec, str] = {}
    for module in all_graph_modules(graph_module):
        for node in module.graph.nodes:
            for spec in get_node_tensor_specs(node):
                if spec.is_dynamic_unbound_tensor and spec not in inputs:
                    # The name of the operator that fills it is more useful than that of its alloc.
                    (allocated if node.target is alloc else names).setdefault(spec, node.name)
    return tuple(f"{name}: {_describe(spec)}" for spec, name in {**allocated, **names}.items())


def _describe(spec: TensorSpec) -> str:
    sizes = spec.shape if spec.symbolic_shape is None else spec.symbolic_shape
    return f"{str(spec.dtype).removeprefix('torch.')}[{', '.join(str(size) for size in sizes)}]"
