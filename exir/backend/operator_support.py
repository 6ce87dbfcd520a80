# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Predicates for the nodes that a partitioner may take: those of torch, and others that exclude nodes.

All are `OperatorSupportBase`: `is_node_supported(submodules, node) -> bool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import torch
from torch import fx
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain, chain, create_op_support

__all__ = [
    "DontPartition",
    "DontPartitionModule",
    "DontPartitionName",
    "DontSupportBase",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]


def _matches(wanted: str | None, found: str, exact: bool) -> bool:
    return bool(wanted) and (wanted == found if exact else str(wanted) in found)


class DontSupportBase(OperatorSupportBase):
    """Support every node except those that `_held_back` selects, and record the rejected nodes.

    A class of a user may override `is_node_supported` instead, and call `reject_node`.
    """

    @cached_property
    def _rejected_nodes(self) -> list[fx.Node]:
        return []

    def _held_back(self, node: fx.Node) -> bool:
        raise NotImplementedError(f"{type(self).__name__}._held_back")

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: fx.Node) -> bool:
        if self._held_back(node):
            self.reject_node(node)
            return False
        return True

    def reject_node(self, node: fx.Node) -> None:
        self._rejected_nodes.append(node)

    def rejected_nodes(self) -> list[fx.Node]:
        return self._rejected_nodes

    def has_rejected_node(self) -> bool:
        return bool(self._rejected_nodes)

    def num_rejected(self) -> int:
        return len(self._rejected_nodes)


class DontPartition(DontSupportBase):
    """Holds back nodes by operator: an edge or ATen overload, or a name (part of one with `exact=False`).

    A name is compared with the ATen operator that the node was traced from (`meta["original_aten"]`).
    """

    def __init__(self, *targets: object, exact: bool = True) -> None:
        super().__init__()
        self.targets = targets
        self.exact = exact

    def _held_back(self, node: fx.Node) -> bool:
        if node.target in self.targets:
            return True
        traced_from = node.meta.get("original_aten")
        return traced_from is not None and any(_matches(str(t), str(traced_from), self.exact) for t in self.targets)


class DontPartitionName(DontSupportBase):
    """Holds back nodes by node name (part of one with `exact=False`)."""

    def __init__(self, *targets: str, exact: bool = True) -> None:
        super().__init__()
        self.targets = targets
        self.exact = exact

    def _held_back(self, node: fx.Node) -> bool:
        return any(_matches(target, node.name, self.exact) for target in self.targets)


class DontPartitionModule(DontSupportBase):
    """Holds back all nodes that stem from a module: by class name (with or without its Python module) or instance name.

    A class name without a dot matches classes of any Python module. `exact=False` matches parts.
    """

    def __init__(self, *, module_name: str | None = None, instance_name: str | None = None, exact: bool = True) -> None:
        super().__init__()
        self.module_name = module_name
        self.instance_name = instance_name
        self.exact = exact

    def _held_back(self, node: fx.Node) -> bool:
        for instance, module_class in node.meta.get("nn_module_stack", {}).values():
            full_name = (
                module_class
                if isinstance(module_class, str)
                else f"{module_class.__module__}.{module_class.__qualname__}"
            )
            dotted = self.module_name is not None and "." in self.module_name
            class_name = full_name if dotted else full_name.rsplit(".", 1)[-1]
            if _matches(self.instance_name, instance, self.exact) or _matches(self.module_name, class_name, self.exact):
                return True
        return False
