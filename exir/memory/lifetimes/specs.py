# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The tensor specs of a graph's nodes: inputs, outputs, state, constants, results."""

from collections.abc import Iterable, Iterator

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_leaves

from executorch.exir.memory.functions import alloc
from executorch.exir.operator.convert import is_written_argument
from executorch.exir.tensor import TensorSpec, ViewSpec


def get_node_tensor_specs(node: Node) -> list[TensorSpec]:
    """Return the specs of a node's tensors, in order; empty for nodes without any. For a view, its base."""
    specs = [leaf for leaf in tree_leaves(node.meta.get("spec")) if isinstance(leaf, TensorSpec)]
    return [spec.base if isinstance(spec, ViewSpec) else spec for spec in specs]


def out_arguments(node: Node) -> list[str]:
    """Return the names of the out arguments of an out variant's call; empty for every other node."""
    schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
    return [argument.name for argument in schema.arguments if argument.is_out] if schema is not None else []


def written_argument(node: Node) -> Node | None:
    """Return the argument that an in-place operator writes to and returns (`copy_`); None for every other node."""
    schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
    if schema is None or len(schema.returns) != 1 or schema.returns[0].alias_info is None:
        return None
    written = [i for i, entry in enumerate(schema.arguments) if is_written_argument(entry)]
    if len(written) != 1 or schema.arguments[written[0]].is_out or written[0] >= len(node.args):
        return None
    argument = node.args[written[0]]
    return argument if isinstance(argument, Node) else None


def share_specs_of_written_tensors(graph_module: GraphModule) -> None:
    """Give an operator's result and the memory that it writes to the same spec object.

    The alloc nodes of an out variant get the result's specs; the result of an in-place operator gets its argument's.
    """
    for node in graph_module.graph.nodes:
        written = written_argument(node)
        if written is not None and "spec" in written.meta:
            node.meta["spec"] = written.meta["spec"]
            continue
        names = out_arguments(node)
        outs = [node.kwargs[name] for name in names if isinstance(node.kwargs.get(name), Node)]
        allocs = [out for out in outs if out.target is alloc]
        if not allocs or len(allocs) != len(outs):
            continue
        if len(names) == 1:
            allocs[0].meta["spec"] = node.meta["spec"]
            continue
        specs = zip(names, node.meta["spec"], strict=True)
        present = [spec for name, spec in specs if isinstance(node.kwargs.get(name), Node)]
        for out, spec in zip(allocs, present, strict=True):
            out.meta["spec"] = spec


def mutable_buffer_names(signature: ExportGraphSignature | None) -> set[str]:
    """Return the names of the placeholders of buffers that the method updates."""
    if signature is None:
        return set()
    mutated = set(signature.buffers_to_mutate.values())
    return {name for name, buffer in signature.inputs_to_buffers.items() if buffer in mutated}


def written_placeholder_names(signature: ExportGraphSignature | None) -> set[str]:
    """Return the names of the placeholders that the method updates, buffers and inputs: valid until its end."""
    if signature is None:
        return set()
    return mutable_buffer_names(signature) | set(signature.user_inputs_to_mutate.values())


def constant_names(signature: ExportGraphSignature | None) -> set[str]:
    """Return the names of the placeholders of parameters, constants, and buffers that the method only reads."""
    if signature is None:
        return set()
    kinds = (signature.inputs_to_parameters, signature.inputs_to_buffers, signature.inputs_to_lifted_tensor_constants)
    return {name for kind in kinds for name in kind} - mutable_buffer_names(signature)


def placeholder_specs(nodes: Iterable[Node], names: set[str]) -> set[TensorSpec]:
    """Return the specs of the placeholders with these names."""
    placeholders = (node for node in nodes if node.op == "placeholder" and str(node.target) in names)
    return {spec for node in placeholders for spec in get_node_tensor_specs(node)}


def get_graph_input_tensors(
    nodes: Iterable[Node], graph_signature: ExportGraphSignature | None = None
) -> set[TensorSpec]:
    """Return the specs of the placeholders without mutable buffers."""
    nodes = list(nodes)
    everything = {str(node.target) for node in nodes if node.op == "placeholder"}
    return placeholder_specs(nodes, everything - mutable_buffer_names(graph_signature))


def get_graph_output_tensors(nodes: Iterable[Node]) -> set[TensorSpec]:
    """Return the specs of the values that the output node returns."""
    outputs = (leaf for node in nodes if node.op == "output" for leaf in node.all_input_nodes)
    return {spec for leaf in outputs for spec in get_node_tensor_specs(leaf)}


def collect_specs_from_nodes(
    nodes: Iterable[Node],
    graph_signature: ExportGraphSignature | None = None,
    ignore_graph_input: bool = False,
    ignore_graph_output: bool = False,
    ignore_mutable_buffers: bool = False,
    ignore_const: bool = True,
    ignore_out_var_node: bool = True,
    dedup: bool = True,
    do_assertion: bool = True,
    ignore_dynamic_unbound_tensor: bool = True,
) -> Iterator[TensorSpec]:
    """Return the specs of `nodes` (one graph, without its subgraphs). Each `ignore_...` leaves out a kind of tensor.

    dedup: each spec once. ignore_out_var_node: leave out results of out variants, which are also their arguments.
    do_assertion: ignored; accepted for compatibility.
    """
    nodes = list(nodes)
    left_out: set[TensorSpec] = set()
    if ignore_graph_input:
        left_out |= get_graph_input_tensors(nodes, graph_signature)
    if ignore_graph_output:
        left_out |= get_graph_output_tensors(nodes)
    if ignore_mutable_buffers:
        left_out |= placeholder_specs(nodes, mutable_buffer_names(graph_signature))
    for node in nodes:
        if node.op == "get_attr" or (ignore_out_var_node and out_arguments(node)):
            continue
        for spec in get_node_tensor_specs(node):
            if spec in left_out or (ignore_const and spec.const):
                continue
            if ignore_dynamic_unbound_tensor and spec.is_dynamic_unbound_tensor:
                continue
            if dedup:
                left_out.add(spec)
            yield spec
