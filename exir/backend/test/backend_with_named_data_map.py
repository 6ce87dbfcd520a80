# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BackendWithNamedDataMap: a demo that stores its data in the named data store instead of the payload."""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.backend.test.operator_supports import OperatorsNamed, tag_partitions
from executorch.exir.format.named_data import NamedDataStore
from executorch.exir.schema import CompileSpec

_CODES = {"aten.sin.default": 0, "aten.add.Tensor": 1, "aten.sub.Tensor": 2, "aten.mul.Tensor": 3, "aten.div.Tensor": 4}


@final
class BackendWithNamedDataMap(BackendDetails):
    """Stores, under each operator's name, as many zero bytes as its code says; the payload is empty."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        store = NamedDataStore()
        for node in edge_program.graph.nodes:
            name = operator_of(node) if node.op == "call_function" else None
            if name in _CODES:
                store.add_named_data(name, bytes(_CODES[name]))
        return PreprocessResult(data_store_output=store.get_named_data_store_output(), debug_handle_map={})


@final
class BackendWithNDMPartitioner(Partitioner):
    """Delegates the operators that BackendWithNamedDataMap has a code for."""

    def __init__(self) -> None:
        super().__init__()
        self.backend_id = BackendWithNamedDataMap.__name__

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        delegation = DelegationSpec(self.backend_id, [])
        tags = tag_partitions(exported_program.graph_module, OperatorsNamed(*_CODES), delegation, prefix="tag_")
        return PartitionResult(exported_program, tags)
