# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A partitioner built from configurations: for each operator, an object decides whether a node may be delegated, and
which nodes go with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import Partition

from executorch.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_grouped_partitions_from_list_of_nodes,
)
from executorch.exir.backend.partition.constant_tagging import is_constant_data
from executorch.exir.backend.partition.subgraph_programs import programs_of
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult

__all__ = ["ConfigerationBasedPartitioner", "PartitionerConfig", "format_target_name", "is_constant_data"]


def format_target_name(target_name: str) -> str:
    """Return the operator's name without its namespace: `aten.add.Tensor` → `add.Tensor`."""
    parts = target_name.split(".")
    return ".".join(parts[1:] if len(parts) > 2 else parts)


class PartitionerConfig(ABC):
    """The rules of a ConfigerationBasedPartitioner for one operator. Subclasses set `target_name` and the methods.

    target_name: the operator as `format_target_name` gives it, such as `linear.default`.
    """

    target_name: str

    @abstractmethod
    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        """Return whether `node` can be delegated."""

    @abstractmethod
    def get_original_aten(self) -> torch._ops.OpOverload | None:
        """Return the ATen operator to preserve where `check_constraints` holds; None to decompose as usual."""

    @abstractmethod
    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        """Return `node` and all nodes that have to be delegated with it."""


class ConfigerationBasedPartitioner(Partitioner):
    """Delegate the nodes that the configurations select; the nodes of one `get_partition` stay together.

    Raises RuntimeError for two configurations of one operator. (The name's spelling is part of the documented API.)
    """

    def __init__(self, delegation_spec: DelegationSpec, partitioner_configs: Iterable[PartitionerConfig]) -> None:
        super().__init__()
        self.delegation_spec = delegation_spec
        self.target_partitioner_configs: dict[str, PartitionerConfig] = {}
        for config in partitioner_configs:
            other = self.target_partitioner_configs.setdefault(config.target_name, config)
            if other is not config:
                raise RuntimeError(
                    f"PartitionerConfig: {config} and {other} have the same target_name: {config.target_name}"
                )

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        def keep_whole(node: Node) -> bool:
            config = self._config_of(node)
            return config is not None and config.get_original_aten() is not None and config.check_constraints(node, ep)

        originals = [config.get_original_aten() for config in self.target_partitioner_configs.values()]
        return [original for original in originals if original is not None], keep_whole

    def get_matched_nodes_from_configs(self, ep: ExportedProgram) -> list[list[Node]]:
        """Return groups of nodes that have to stay together; configurations whose nodes overlap make one group.

        A constant belongs to the first group that names it: lowering gives it to every partition that reads it.
        """
        group_of: dict[Node, list[Node]] = {}
        for node in ep.graph.nodes:
            config = self._config_of(node)
            if config is None or not config.check_constraints(node, ep):
                continue
            named = [n for n in config.get_partition(node, ep) if not (n in group_of and is_constant_data(ep, n))]
            merged: dict[Node, None] = {}
            for member in named:
                merged.update(dict.fromkeys(group_of.get(member, [member])))
            group = list(merged)
            group_of.update(dict.fromkeys(group, group))
        return list({id(group): group for group in group_of.values()}.values())

    def generate_partitions(self, ep: ExportedProgram) -> list[Partition]:
        """Return the partitions of a program, or of a control-flow graph given as a program with its constants. A
        backend may override it."""
        return generate_grouped_partitions_from_list_of_nodes(ep.graph_module, self.get_matched_nodes_from_configs(ep))

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        partition_tags: dict[str, DelegationSpec] = {}
        for program in programs_of(exported_program):
            for partition in self.generate_partitions(program):
                self._tag(partition, f"tag{len(partition_tags)}")
                partition_tags[f"tag{len(partition_tags)}"] = self.delegation_spec
        return PartitionResult(exported_program, partition_tags)

    def _tag(self, partition: Partition, tag: str) -> None:
        for node in partition.nodes:
            if "delegation_tag" in node.meta:
                raise RuntimeError(
                    f"{type(self).__name__}: node {node} is in partition {node.meta['delegation_tag']} and in {tag}"
                )
            node.meta["delegation_tag"] = tag

    def _config_of(self, node: Node) -> PartitionerConfig | None:
        if node.op != "call_function":
            return None
        return self.target_partitioner_configs.get(format_target_name(getattr(node.target, "__name__", "")))
