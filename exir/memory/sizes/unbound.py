# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors whose size has no bound are allocated at run time; this says which, and where they are given back."""

from torch.fx import GraphModule, Node

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.functions import alloc, free
from executorch.exir.memory.lifetimes.specs import (
    get_graph_input_tensors,
    get_graph_output_tensors,
    get_node_tensor_specs,
)
from executorch.exir.tensor import TensorSpec


def insert_calls_to_free(graph_module: GraphModule) -> None:
    """Adds a `free` behind the last use of each unbound tensor of the graph that is not an input or output."""
    graph = graph_module.graph
    kept = get_graph_input_tensors(graph.nodes) | get_graph_output_tensors(graph.nodes)
    last_use: dict[TensorSpec, Node] = {}
    holders: dict[TensorSpec, Node] = {}
    for node in graph.nodes:
        if isinstance(node.meta.get("spec"), TensorSpec):
            holders.setdefault(node.meta["spec"], node)
        for each in (node, *node.all_input_nodes):
            for spec in get_node_tensor_specs(each):
                if spec.is_dynamic_unbound_tensor and spec not in kept:
                    last_use[spec] = node
    freed = {node.args[0].meta.get("spec") for node in graph.nodes if node.target is free}
    for spec, node in last_use.items():
        if spec not in freed and spec in holders:
            with graph.inserting_after(node):
                graph.call_function(free, (holders[spec],))
    if last_use:
        graph_module.recompile()


def unbounded_tensors(graph_module: GraphModule) -> tuple[str, ...]:
    """Tensors that the runtime allocates, as `name: dtype[sizes]` by their symbols. Inputs are not among them: their
    memory is the caller's."""
    inputs = get_graph_input_tensors(graph_module.graph.nodes)
    names: dict[TensorSpec, str] = {}
    allocated: dict[TensorSpec, str] = {}
    for held in all_graph_modules(graph_module):
        for node in held.graph.nodes:
            for spec in get_node_tensor_specs(node):
                if spec.is_dynamic_unbound_tensor and spec not in inputs:
                    # The operator that fills it says more than where it is allocated.
                    (allocated if node.target is alloc else names).setdefault(spec, node.name)
    return tuple(f"{name}: {_describe(spec)}" for spec, name in {**allocated, **names}.items())


def _describe(spec: TensorSpec) -> str:
    sizes = spec.shape if spec.symbolic_shape is None else spec.symbolic_shape
    return f"{str(spec.dtype).removeprefix('torch.')}[{', '.join(str(size) for size in sizes)}]"
