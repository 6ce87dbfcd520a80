# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A custom partitioner and backend: each partition becomes one call of the backend."""

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from executorch.exir import ExportedProgram, to_edge
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import get_delegation_info
from executorch.exir.dialects._ops import ops as exir_ops


class ListingBackend(BackendDetails):
    """Compiles a partition to the list of its operators' names."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        names = [str(n.target) for n in edge_program.graph.nodes if n.op == "call_function"]
        return PreprocessResult(processed_bytes="\n".join(names).encode())


class AddMul(OperatorSupportBase):
    """Supports additions and multiplications."""

    def is_node_supported(self, submodules, node: torch.fx.Node) -> bool:
        return node.target in (exir_ops.edge.aten.add.Tensor, exir_ops.edge.aten.mul.Tensor)


class AddMulPartitioner(Partitioner):
    """Delegates additions and multiplications to the backend above."""

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        spec = DelegationSpec(ListingBackend.__name__, [CompileSpec("mode", b"list")])
        graph_module = exported_program.graph_module
        partitions = CapabilityBasedPartitioner(graph_module, AddMul(), allows_single_node_partition=True)
        tags = {}
        for partition in partitions.propose_partitions():
            for node in partition.nodes:
                node.meta["delegation_tag"] = f"addmul{partition.id}"
                tags[node.meta["delegation_tag"]] = spec
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)


class Model(torch.nn.Module):
    """Arithmetic around a sine."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.sin(a * b + a) * b + b


edge = to_edge(torch.export.export(Model(), (torch.randn(3), torch.randn(3)))).to_backend(AddMulPartitioner())
print(get_delegation_info(edge.exported_program().graph_module).get_summary())
