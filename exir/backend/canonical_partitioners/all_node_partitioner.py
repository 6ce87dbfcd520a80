# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""AllNodePartitioner: delegate all operators to one backend."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.backend.partition.constant_tagging import is_constant_data
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.schema import CompileSpec

__all__ = ["AllNodePartitioner", "is_non_tensor_placeholder"]


def is_non_tensor_placeholder(node: Node, ep: ExportedProgram) -> bool:
    """Return whether `node` is a placeholder of a user's input, not of a parameter, buffer or constant."""
    return node.op == "placeholder" and not is_constant_data(ep, node)


class AllNodePartitioner(Partitioner):
    """Tags every operator and constant for `backend_id` unconditionally: the backend must support all of them."""

    def __init__(self, backend_id: str, compile_specs: list[CompileSpec]) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(backend_id, compile_specs)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tag = self.delegation_spec.backend_id
        for node in exported_program.graph.nodes:
            if node.op != "output" and not is_non_tensor_placeholder(node, exported_program):
                node.meta["delegation_tag"] = tag
        return PartitionResult(exported_program, {tag: self.delegation_spec})
