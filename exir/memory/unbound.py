# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensors whose size has no bound are allocated at run time; this says where they are given back."""

from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.memory.functions import free
from executorch.exir.memory.specs import get_graph_input_tensors, get_graph_output_tensors, get_node_tensor_specs
from executorch.exir.tensor import TensorSpec


def insert_calls_to_free(graph_module: GraphModule) -> None:
    """Adds a `free` behind the last use of each unbound tensor of the graph that is not an input or output."""
    graph = graph_module.graph
    kept = get_graph_input_tensors(graph.nodes) | get_graph_output_tensors(graph.nodes)
    last_use: dict[TensorSpec, Node] = {}
    for node in graph.nodes:
        for each in (node, *node.all_input_nodes):
            for spec in get_node_tensor_specs(each):
                if spec.is_dynamic_unbound_tensor and spec not in kept:
                    last_use[spec] = node
    freed = {leaf for node in graph.nodes if node.target is free for leaf in tree_leaves(node.args)}
    for spec, node in last_use.items():
        if spec not in freed:
            with graph.inserting_after(node):
                graph.call_function(free, (spec,))  # type: ignore[arg-type]
    if last_use:
        graph_module.recompile()
