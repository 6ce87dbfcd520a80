# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert tags on nodes to partitions: check the nodes and constants of each, and sort them so that each can be one
call."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from itertools import pairwise

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec
from torch.fx import GraphModule, Node

from executorch.exir.backend.partition.partition_error import PartitionError, node_and_source
from executorch.exir.backend.partition.partition_order import contracted_order
from executorch.exir.backend.partition.subgraph_constants import CONSTANT_KINDS, constants_in_subgraphs
from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.graph_module import get_control_flow_submodules
from executorch.exir.lowered_backend_module import LoweredBackendModule

__all__ = ["TAG", "TaggedPartition", "find_partitions"]

TAG = "delegation_tag"


@dataclass
class TaggedPartition:
    """A partition to be delegated.

    host: the graph it is in (the program's, or a control-flow subgraph).
    nodes: its operators (and attributes), topologically sorted, next to each other in the host's graph.
    constants: the placeholders of `host` whose tensors move into it, with their specs in the program's signature.
    mutations: those outputs of the program that update a buffer in `constants`.
    """

    tag: str
    delegation: DelegationSpec
    host: GraphModule
    nodes: list[Node] = field(default_factory=list)
    constants: dict[Node, InputSpec] = field(default_factory=dict)
    mutations: list[OutputSpec] = field(default_factory=list)

    def inputs(self) -> list[Node]:
        """Return the values from outside, in the order of their first use."""
        inside = set(self.nodes)
        sources: dict[Node, None] = {}
        for node in self.nodes:
            for source in node.all_input_nodes:
                if source not in inside and source not in self.constants:
                    sources[source] = None
        return list(sources)

    def outputs(self) -> list[Node]:
        """Return the values used outside, except updates of buffers that the partition owns, in graph order."""
        inside = set(self.nodes)
        return [node for node in self.nodes if any(self._leaves(node, user, inside) for user in node.users)]

    def _leaves(self, node: Node, user: Node, inside: set[Node]) -> bool:
        if user in inside:
            return False
        if user.op != "output":
            return True
        # The program's output lists a value once for each buffer it updates (the delegate performs it) and once as a
        # result.
        updates = sum(spec.arg.name == node.name for spec in self.mutations)
        return sum(value is node for value in _flat_outputs(user)) > updates


def find_partitions(program: ExportedProgram, delegations: dict[str, DelegationSpec]) -> list[TaggedPartition]:
    """Return the partitions of a tagged program, subgraphs included, in graph order. Reorders graphs where necessary.

    Ignores tags that `delegations` lacks, or that no node has. Raises PartitionError for a tag on a node that cannot
    have one, a partition that is not convex, or a constant that cannot move.
    """
    partitions = _partitions_of_graph(program.graph_module, delegations)
    _hand_over_constants(program, partitions, delegations)
    visited = {id(program.graph_module)}
    delegated = {node for partition in partitions for node in partition.nodes}
    known = constants_in_subgraphs(program)
    pending = [program.graph_module]
    while pending:
        for _, subgraph, caller in get_control_flow_submodules(pending.pop(0)):
            if caller in delegated or id(subgraph) in visited:
                continue  # a subgraph of a delegated operator moves into the delegate as it is
            visited.add(id(subgraph))
            of_graph = _partitions_of_graph(subgraph, delegations)
            _hand_over_inner_constants(subgraph, of_graph, delegations, known)
            delegated.update(node for partition in of_graph for node in partition.nodes)
            partitions.extend(of_graph)
            pending.append(subgraph)
    return partitions


def _partitions_of_graph(host: GraphModule, delegations: dict[str, DelegationSpec]) -> list[TaggedPartition]:
    partition_of: dict[Node, str] = {}
    for node in host.graph.nodes:
        source = node.args[0] if node.target is operator.getitem else None
        tag = partition_of.get(source) if isinstance(source, Node) else None
        # A delegate returns tensors, not lists: a getitem is in the partition of the operator that returns the list.
        tag = tag or node.meta.get(TAG)
        if tag not in delegations or node.op == "placeholder":
            continue
        if node.op == "output":
            raise PartitionError(f"the output node carries tag {tag!r}: outputs cannot be delegated")
        partition_of[node] = tag
    _take_subgraphs_along(host, partition_of)
    if not partition_of:
        return []

    order = contracted_order(host.graph, partition_of)
    for before, after in pairwise(order):
        if before.next is not after:
            before.append(after)
    by_tag: dict[str, TaggedPartition] = {}
    for node in order:
        tag = partition_of.get(node)
        if tag is not None:
            by_tag.setdefault(tag, TaggedPartition(tag, delegations[tag], host)).nodes.append(node)
    return list(by_tag.values())


def _take_subgraphs_along(host: GraphModule, partition_of: dict[Node, str]) -> None:
    """Add the subgraphs of a delegated cond or map, and the module of a delegated delegate call, to its partition:
    neither can be an input."""
    for node in host.graph.nodes:
        attribute = getattr(host, str(node.target), None) if node.op == "get_attr" else None
        if not isinstance(attribute, (GraphModule, LoweredBackendModule)):
            continue
        tags = {partition_of[user] for user in (node, *node.users) if user in partition_of}
        if len(tags) > 1 or (tags and any(user not in partition_of for user in node.users)):
            raise PartitionError(
                f"the subgraph {node_and_source(node)} is used inside and outside of partition {sorted(tags)}"
            )
        if tags:
            partition_of[node] = tags.pop()


def _hand_over_inner_constants(
    host: GraphModule,
    partitions: list[TaggedPartition],
    delegations: dict[str, DelegationSpec],
    known: dict[Node, InputSpec],
) -> None:
    """Give every tagged operand of a control-flow graph that is a constant to each partition that reads it."""
    partition_of = {node: partition for partition in partitions for node in partition.nodes}
    for node in host.graph.find_nodes(op="placeholder"):
        if node.meta.get(TAG) not in delegations:
            continue
        if node not in known:
            raise PartitionError(
                f"placeholder {node.name} of a control-flow subgraph carries tag {node.meta[TAG]!r}: it is an operand "
                "of the call, not a constant, and cannot move into a delegate"
            )
        for partition in [partition_of[user] for user in node.users if user in partition_of]:
            partition.constants[node] = known[node]


def _hand_over_constants(
    program: ExportedProgram, partitions: list[TaggedPartition], delegations: dict[str, DelegationSpec]
) -> None:
    """Give every tagged constant to each partition that reads it; the tensor is shared, and stays where it is read."""
    partition_of = {node: partition for partition in partitions for node in partition.nodes}
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    updates = {
        spec.target: spec for spec in program.graph_signature.output_specs if spec.kind is OutputKind.BUFFER_MUTATION
    }
    tags = {partition.tag for partition in partitions}
    for node in program.graph.find_nodes(op="placeholder"):
        tag = node.meta.get(TAG)
        spec = specs[node.name]
        if tag in delegations and spec.kind not in CONSTANT_KINDS:
            raise PartitionError(
                f"placeholder {node.name} carries tag {tag!r}, but it is a {spec.kind.name}: only parameters, buffers "
                "and lifted tensor constants can move into a delegate"
            )
        if tag not in tags:
            continue
        readers = {user: partition_of.get(user) for user in node.users}
        update = updates.get(spec.target) if spec.kind is InputKind.BUFFER else None
        if node.meta.get("no_copy", False) or update is not None:
            _require_single_owner(node, tag, readers, update)
        for partition in readers.values():
            if partition is not None:
                partition.constants[node] = spec
        if update is not None:
            _hand_over_update(program, node, tag, update, partition_of)


def _require_single_owner(
    node: Node, tag: str, readers: dict[Node, TaggedPartition | None], update: OutputSpec | None
) -> None:
    why = "which the program updates" if update is not None else 'marked "no_copy"'
    for user, partition in readers.items():
        if partition is None or partition.tag != tag:
            other = None if partition is None else partition.tag
            raise PartitionError(
                f"constant data node ({node}), {why}, is tagged with ({tag}) but has user ({user}) "
                f"which has tag ({other})"
            )


def _hand_over_update(
    program: ExportedProgram, buffer: Node, tag: str, update: OutputSpec, partition_of: dict[Node, TaggedPartition]
) -> None:
    source = next(node for node in program.graph.nodes if node.name == update.arg.name)
    partition = partition_of.get(source)
    if partition is None or partition.tag != tag or buffer not in partition.constants:
        raise PartitionError(
            f"buffer {buffer.name} is tagged {tag!r}, but it is updated with {node_and_source(source)}, outside "
            "of that partition: a buffer that the program updates moves into a delegate together with its update"
        )
    partition.mutations.append(update)


def _flat_outputs(output: Node) -> tuple[object, ...]:
    values = output.args[0]
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)
