# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gives all that a runtime can run to ExecutorBackend: operators, and calls of the demo compiler's delegates."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from executorch.exir.backend.test.op_partitioner_demo import AllOperatorSupport
from executorch.exir.backend.test.operator_supports import tag_partitions

# Documented name of the support class of this partitioner.
AnyOperatorSupport = AllOperatorSupport


@final
class ExecutorBackendPartitioner(Partitioner):
    """Delegates every call, of operators and of delegates, constants staying with the program."""

    def __init__(self) -> None:
        super().__init__()
        self.delegation_spec = DelegationSpec(ExecutorBackend.__name__, [])

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = tag_partitions(exported_program.graph_module, AnyOperatorSupport(), self.delegation_spec)
        return PartitionResult(exported_program, tags)
