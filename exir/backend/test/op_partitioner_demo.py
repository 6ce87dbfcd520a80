# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Demo partitioners that choose by operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import final

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.operator_support import OperatorSupportBase, any_chain

from executorch.exir.backend.partition.constant_tagging import tag_constant_data, tag_mutated_buffer
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from executorch.exir.backend.test.operator_supports import OperatorsNamed, tag_partitions
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.schema import CompileSpec

_MAX_VALUE = [CompileSpec("max_value", bytes([4]))]


class AddOperatorSupport(OperatorsNamed):
    def __init__(self) -> None:
        super().__init__("aten.add.Tensor")


class MatmulOperatorSupport(OperatorsNamed):
    def __init__(self) -> None:
        super().__init__("aten.mm.default")


class AllOperatorSupport(OperatorSupportBase):
    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.op == "call_function"


@final
class AddMulPartitionerDemo(Partitioner):
    """Delegates every add and matrix multiplication, constants staying with the program."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = any_chain(AddOperatorSupport(), MatmulOperatorSupport())
        self.delegation_spec = DelegationSpec(BackendWithCompilerDemo.__name__, list(_MAX_VALUE))

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = tag_partitions(exported_program.graph_module, self.op_support, self.delegation_spec)
        return PartitionResult(exported_program, tags)


@final
class AddAttributePartitionerDemo(Partitioner):
    """Delegates every add with the constants that it reads and the buffers that only it updates."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AddOperatorSupport()
        self.delegation_spec = DelegationSpec(BackendWithCompilerDemo.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = tag_partitions(exported_program.graph_module, self.op_support, self.delegation_spec)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)


@final
class AllNodesPartitionerDemo(Partitioner):
    """Delegates every operator, with its constants and state, to a backend that is a whole runtime itself."""

    def __init__(self) -> None:
        super().__init__()
        self.op_support = AllOperatorSupport()
        self.delegation_spec = DelegationSpec(ExecutorBackend.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = tag_partitions(exported_program.graph_module, self.op_support, self.delegation_spec)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)


ops_not_to_decompose = [
    torch.ops.aten.linear.default,
    torch.ops.aten.scaled_dot_product_attention.default,
    torch.ops.aten.upsample_nearest2d.vec,
]


@final
class NonDecompTestPartitioner(Partitioner):
    """Keep three ATen operators whole (linear only with a bias), each in its own delegate."""

    def __init__(self) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(BackendWithCompilerDemo.__name__, list(_MAX_VALUE))

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        def keep_whole(node: Node) -> bool:
            return operator_of(node) != "aten.linear.default" or len(node.args) == 3

        return ops_not_to_decompose, keep_whole

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        names = {str(op) for op in ops_not_to_decompose}
        tags: dict[str, DelegationSpec] = {}
        for host in all_graph_modules(exported_program.graph_module):
            for node in host.graph.nodes:
                if node.op == "call_function" and operator_of(node) in names:
                    tag = f"tag{len(tags)}"
                    node.meta["delegation_tag"] = tag
                    tags[tag] = self.delegation_spec
        return PartitionResult(exported_program, tags)
