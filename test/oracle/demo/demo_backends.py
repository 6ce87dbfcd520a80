# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A backend that shares weights between its delegates, and a partitioner that takes operators by name for any backend.

Its runtime half is the demo backend of test/backends.
"""

from __future__ import annotations

from typing import final

from torch.export import ExportedProgram

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.delegate.delegate_mapping import debug_handles, one_to_one
from executorch.exir.backend.partition.constant_tagging import tag_constant_data, tag_mutated_buffer
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_compiler_demo import NAMES
from executorch.exir.backend.test.demo_payload import encode
from executorch.exir.backend.test.operator_supports import OperatorsNamed, tag_partitions
from executorch.exir.format.named_data import NamedDataStore

__all__ = ["DEMO_OPERATORS", "SharingDemo", "Takes"]

DEMO_OPERATORS = ("aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.sin.default", "aten.mm.default")


@final
class SharingDemo(BackendDetails):
    """Constants lie in the program's named data under their names in the model, once for all delegates of all methods.

    The compile spec "file" names the file beside the program that they lie in instead.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        every = SharingDemo.preprocess_multimethod({"": [edge_program]}, {"": [compile_specs]})
        return every[""][0]

    @classmethod
    def preprocess_multimethod(
        cls, edge_programs: dict[str, list[ExportedProgram]], compile_specs: dict[str, list[list[CompileSpec]]]
    ) -> dict[str, list[PreprocessResult]]:
        weights = NamedDataStore()
        results = {
            method: [
                PreprocessResult(
                    encode(program, NAMES, cls.__name__, weights), one_to_one(debug_handles(program.graph))
                )
                for program in programs
            ]
            for method, programs in edge_programs.items()
        }
        files = [s.value.decode() for of in compile_specs.values() for specs in of for s in specs if s.key == "file"]
        stored = NamedDataStore()
        for name, entry in weights.pte_data.items():
            stored.add_named_data(name, weights.buffers[entry.buffer_index], external_tag=files[0] if files else None)
        # The data belong to all results; the first one that is written adds them to the file.
        next(
            result for of in results.values() for result in of
        ).data_store_output = stored.get_named_data_store_output()
        return results


@final
class Takes(Partitioner):
    """Gives the operators of these names to a backend, with the constants and the buffers that only they use."""

    def __init__(self, backend: str, *operators: str, specs: tuple[CompileSpec, ...] = ()) -> None:
        super().__init__()
        self._support = OperatorsNamed(*operators)
        self._prefix = f"{backend}_{operators[0]}_"
        self._delegation = DelegationSpec(backend, list(specs))

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = tag_partitions(exported_program.graph_module, self._support, self._delegation, self._prefix)
        tag_constant_data(exported_program)
        tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)
