# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Binding of the tensors of control-flow subgraphs to those of the node that runs them.

A subgraph's input *is* the outer operand, and a branch writes its output straight into the memory of the outer result
where it can: one spec represents both, so planner and emitter need no rule for them.
"""

from collections.abc import Sequence

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves, tree_map

from executorch.exir.error import ExportError
from executorch.exir.graph_module import get_control_flow_submodules
from executorch.exir.memory.lifetimes.specs import get_node_tensor_specs
from executorch.exir.tensor import TensorSpec, ViewSpec

hop = torch.ops.higher_order


def placeholders(graph_module: GraphModule) -> list[Node]:
    """Return the placeholders of a graph in order."""
    return [node for node in graph_module.graph.nodes if node.op == "placeholder"]


def result_specs(node: Node) -> list[object]:
    """Return the specs of a node's results as a flat list, also for a single result."""
    spec = node.meta.get("spec")
    return list(spec) if isinstance(spec, (list, tuple)) else [spec]


def subgraph_inputs(node: Node) -> list[object]:
    """Return, for each placeholder of a control-flow node's subgraphs, the spec of the operand or result it shares.

    None: the placeholder has its own memory (the slice that a loop works on). Raises ExportError for an unsupported
    operator.
    """
    args = node.args
    if node.target is hop.cond:
        return [_spec_of(operand) for operand in _sequence(args[3])]
    if node.target is hop.map_impl:
        return [None] * len(_sequence(args[1])) + [_spec_of(operand) for operand in _sequence(args[2])]
    if node.target is hop.while_loop:
        return result_specs(node)[: len(_sequence(args[2]))] + [_spec_of(operand) for operand in _sequence(args[3])]
    if node.target is hop.scan:
        carried = len(_sequence(args[1]))
        own = [None] * len(_sequence(args[2]))
        return [*result_specs(node)[:carried], *own, *[_spec_of(operand) for operand in _sequence(args[3])]]
    raise ExportError("memory planning", node, "this control-flow operator is not supported")


def bind_subgraphs(graph_module: GraphModule) -> None:
    """Let inputs, and outputs of branches where possible, share the outer tensors' specs, at every depth.

    Raises ExportError if two nodes use one subgraph.
    """
    seen: dict[int, Node] = {}
    for _, subgraph, node in get_control_flow_submodules(graph_module):
        if id(subgraph) in seen:
            raise ExportError(
                "memory planning", node, f"{seen[id(subgraph)].name} uses the same subgraph; give each its own copy"
            )
        seen[id(subgraph)] = node
        mapping: dict[TensorSpec, TensorSpec] = {}
        for placeholder, spec in zip(placeholders(subgraph), subgraph_inputs(node), strict=True):
            own = placeholder.meta.get("spec")
            if isinstance(own, TensorSpec) and isinstance(spec, TensorSpec) and own is not spec:
                mapping[own] = spec
        if node.target is hop.cond:
            mapping |= _outputs_in_place(subgraph, result_specs(node))
        _replace_specs(subgraph, mapping)
        bind_subgraphs(subgraph)


def _outputs_in_place(branch: GraphModule, results: Sequence[object]) -> dict[TensorSpec, TensorSpec]:
    """Return a branch's outputs that can be the outer results: computed in the branch, of equal layout."""
    outputs = tree_leaves(branch.graph.output_node().args[0])
    mapping: dict[TensorSpec, TensorSpec] = {}
    for output, result in zip(outputs, results, strict=True):
        if not isinstance(output, Node) or output.op != "call_function" or not isinstance(result, TensorSpec):
            continue
        spec = output.meta.get("spec")
        if isinstance(spec, (list, tuple)) and len(spec) == 1:
            spec = spec[0]
        if not isinstance(spec, TensorSpec) or isinstance(spec, ViewSpec) or spec.const or spec in mapping:
            continue
        inputs = {spec for node in placeholders(branch) for spec in get_node_tensor_specs(node)}
        if spec not in inputs and outputs.count(output) == 1 and _same_layout(spec, result):
            mapping[spec] = result
    return mapping


def _same_layout(left: TensorSpec, right: TensorSpec) -> bool:
    return (
        left.dtype == right.dtype
        and left.dim_order == right.dim_order
        and left.shape_dynamism == right.shape_dynamism
        and list(left.shape) == list(right.shape)
    )


def _replace_specs(graph_module: GraphModule, mapping: dict[TensorSpec, TensorSpec]) -> None:
    def replaced(spec: object) -> object:
        if isinstance(spec, ViewSpec):
            if spec.base in mapping:
                spec.rebase(mapping[spec.base])
            return spec
        return mapping.get(spec, spec) if isinstance(spec, TensorSpec) else spec

    if not mapping:
        return
    for node in graph_module.graph.nodes:
        if "spec" in node.meta:
            node.meta["spec"] = tree_map(replaced, node.meta["spec"])
    for _, subgraph, _ in get_control_flow_submodules(graph_module):
        _replace_specs(subgraph, mapping)


def _spec_of(operand: object) -> object:
    return operand.meta.get("spec") if isinstance(operand, Node) else operand


def _sequence(argument: object) -> Sequence[object]:
    return argument if isinstance(argument, (list, tuple)) else [argument]
