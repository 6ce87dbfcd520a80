# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Predicates of the demo partitioners, and tagging of the partitions that they give."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import generate_pattern_op_partitions
from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.graph_module import all_graph_modules

__all__ = ["OperatorsNamed", "tag_partitions"]


class OperatorsNamed(OperatorSupportBase):
    """Takes the operators of the given names, `aten.add.Tensor` and so on, in the ATen and the edge dialect."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = frozenset(names)

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.op == "call_function" and operator_of(node) in self.names


def tag_partitions(
    graph_module: GraphModule, op_support: OperatorSupportBase, delegation: DelegationSpec, prefix: str = "tag"
) -> dict[str, DelegationSpec]:
    """Tag the largest partitions of nodes that `op_support` accepts, in the graph and its control-flow subgraphs."""
    tags: dict[str, DelegationSpec] = {}
    for host in all_graph_modules(graph_module):
        for partition in generate_pattern_op_partitions(host, op_support=op_support):
            tag = f"{prefix}{len(tags)}"
            tags[tag] = delegation
            for node in partition.nodes:
                node.meta["delegation_tag"] = tag
    return tags
