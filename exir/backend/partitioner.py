# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partitioner: says which nodes of a program go to which backend, by tagging them; it changes nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import enforcedmethod
from executorch.exir.schema import CompileSpec

__all__ = ["CompileSpec", "DelegationSpec", "ExportedProgram", "PartitionResult", "Partitioner"]


class DelegationSpec(NamedTuple):
    """The backend that compiles a partition, and its configuration."""

    backend_id: str
    compile_specs: list[CompileSpec]


@dataclass
class PartitionResult:
    """Result of a partitioner.

    tagged_exported_program: the program given, with `node.meta["delegation_tag"]` set on the nodes to delegate.
    partition_tags: tag → where that partition goes.
    """

    tagged_exported_program: ExportedProgram
    partition_tags: dict[str, DelegationSpec]


class Partitioner(ABC):
    """Base class of partitioners, which define `partition`. One partitioner may serve several backends.

    Nodes of one tag in one graph become one delegate. They must be convex: no value may leave the partition and come
    back into it; lowering raises an error that names the nodes. Constants (parameters, buffers, lifted tensors) with a
    tag move into the delegate. `backend.utils.programs_of` yields the graphs of control flow as programs, so that one
    function tags all graphs.
    """

    def __init__(self, spec: Mapping[str | int | float | bool, object] = MappingProxyType({})) -> None:
        self._spec = spec

    def __call__(self, exported_program: ExportedProgram) -> PartitionResult:
        return self.partition(exported_program)

    @property
    def spec(self) -> Mapping[str | int | float | bool, object]:
        return self._spec

    @enforcedmethod
    @abstractmethod
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag nodes of `exported_program` (edge dialect) and return it with the delegation of each tag."""

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[torch.fx.Node], bool] | None]:
        """Return ATen operators that lowering must not decompose, and an optional filter of their nodes.

        `to_edge_transform_and_lower` keeps these operators. Without a filter, it keeps all of their nodes. The filter
        gets nodes whose target is the ATen operator.
        """
        return ([], None)
