# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""GroupBasedPartitioner: largest partitions in which given groups of nodes stay together."""

from __future__ import annotations

from collections.abc import Sequence

from torch.fx import GraphModule, Node
from torch.fx.node import _get_qualified_name
from torch.fx.passes.infra.partitioner import Partition
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir.backend.canonical_partitioners.largest_partitions import largest_partitions

__all__ = ["GroupBasedPartitioner"]


class GroupBasedPartitioner:
    """Proposes partitions of all nodes that `operator_support` accepts; nodes of a group stay in one partition.

    allows_single_node_partition: whether a partition may hold just one operator that computes. Operators named in
    `non_compute_ops` (qualified names) do not count; those in `allowed_single_node_partition_ops` may always be alone.
    Raises ValueError for a node in two groups.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        node_groups: list[list[Node]] | None = None,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = frozenset(non_compute_ops or ())
        self.allowed_single_node_partition_ops = frozenset(allowed_single_node_partition_ops or ())
        self.node_groups = node_groups or []
        owner: dict[Node, int] = {}
        for number, group in enumerate(self.node_groups):
            for node in group:
                if owner.setdefault(node, number) != number:
                    raise ValueError(f"Node {node} exists in multiple groups.")

    def propose_partitions(self) -> list[Partition]:
        """Return partitions in graph order, numbered from 0. PartitionError: a group that cannot be one partition."""
        submodules = dict(self.graph_module.named_modules())

        def is_supported(node: Node) -> bool:
            return bool(self.operator_support.is_node_supported(submodules, node))

        largest = largest_partitions(self.graph_module.graph, is_supported, self.node_groups)
        kept = [nodes for nodes in largest if self.allows_single_node_partition or self._is_worth_a_call(nodes)]
        return [Partition(id=number, nodes=nodes) for number, nodes in enumerate(kept)]

    def _is_worth_a_call(self, nodes: list[Node]) -> bool:
        names = [_get_qualified_name(node.target) for node in nodes if callable(node.target)]
        computing = [name for name in names if name not in self.non_compute_ops]
        return len(computing) > 1 or any(name in self.allowed_single_node_partition_ops for name in computing)
