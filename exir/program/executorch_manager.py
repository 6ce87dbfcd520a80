# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExecutorchProgramManager: a finished program, its reports, and its bytes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any, BinaryIO, TextIO

from torch.export import ExportedProgram

from executorch.exir.capture import ExecutorchBackendConfig
from executorch.exir.emit import EmitterOutput, emit_program
from executorch.exir.format.named_data import NamedDataStore, NamedDataStoreOutput
from executorch.exir.memory.plan import MEMORY_PLAN, MemoryPlan
from executorch.exir.print_program import print_program
from executorch.exir.program.record import ExportRecord
from executorch.exir.report.lowering_report import LoweringReport, lowering_report
from executorch.exir.schema import Program
from executorch.exir.serialize import (
    Cord,
    NamedBlob,
    PteFile,
    PteLayout,
    named_blobs,
    serialize_flat_tensor,
    serialize_pte,
)


class ExecutorchProgramManager:
    """Planned programs by method name, emitted and serialized. Made by `EdgeProgramManager.to_executorch`."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        config_methods: dict[str, object] | None = None,
        backend_config: ExecutorchBackendConfig | None = None,
        named_data: NamedDataStoreOutput | None = None,
    ) -> None:
        self._execution_programs = dict(execution_programs)
        self._config_methods = dict(config_methods or {})
        self._config = backend_config or ExecutorchBackendConfig()
        self._named_data = named_data
        self._emitter_output: EmitterOutput = emit_program(
            self._execution_programs,
            self._config.emit_stacktrace,
            self._config_methods,
            self._config.emit_mutable_buffer_names,
        )
        self._etrecord: ExportRecord | None = None
        self._serialized: Cord | None = None
        self._data: dict[str, Cord] | None = None
        self._bytes: bytes | None = None

    @property
    def methods(self) -> set[str]:
        """Names of the methods that are programs."""
        return set(self._execution_programs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the methods that return a constant."""
        return set(self._config_methods)

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Return the planned program of a method. Raises KeyError naming the existing methods."""
        if method_name not in self._execution_programs:
            raise KeyError(f"no method '{method_name}', found {sorted(self._execution_programs)}")
        return self._execution_programs[method_name]

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Write the program as text to `out` (standard output if None), with all values if `verbose`."""
        print_program(self.executorch_program, show_meminfo=True, mark_dynamic_shape_tensor=True, out=out or sys.stdout)
        if verbose:
            for plan in self.executorch_program.execution_plan:
                for index, value in enumerate(plan.values):
                    print(f"{plan.name} %{index}: {value.val}", file=out or sys.stdout)

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int | Sequence[int]]]:
        """Method → instruction → debug handle(s) of the edge program's nodes."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, object]]]:
        """Method → delegate call → name and debug map of its backend."""
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """Method → delegate call → number of outputs."""
        return self._emitter_output.instruction_id_to_num_outs_map

    def get_etrecord(self) -> Any:
        """Return the `executorch.devtools.ETRecord`. Raises RuntimeError unless `generate_etrecord=True` was passed."""
        if self._etrecord is None:
            raise RuntimeError(
                "ETRecord was not generated: pass generate_etrecord=True to to_edge or to_edge_transform_and_lower"
            )
        return self._etrecord

    @property
    def memory_plans(self) -> dict[str, MemoryPlan]:
        """Method → places of its tensors, sizes of its arenas, and their distance from the lower bound.

        Methods planned by another pass than MemoryPlanningPass are absent.
        """
        metas = {name: program.graph_module.meta for name, program in self._execution_programs.items()}
        return {name: meta[MEMORY_PLAN] for name, meta in metas.items() if MEMORY_PLAN in meta}

    @property
    def executorch_program(self) -> Program:
        """The program before serialization."""
        return self._emitter_output.program

    @cached_property
    def verdict(self) -> LoweringReport:
        """Report of the operators that each delegate runs and that kernels run instead, with reason and cost.

        `print` it, or call `as_dict()` or `as_json()`. ExecuTorch 1.4 has no such report.
        """
        return lowering_report(
            self._execution_programs,
            self.executorch_program,
            self.buffer,
            self._named_data,
            self.data_files,
            self._config.check_target,
        )

    def _cord(self) -> Cord:
        if self._serialized is None:
            config = self._config
            layout = PteLayout(
                extract_delegate_segments=config.extract_delegate_segments,
                segment_alignment=config.segment_alignment,
                constant_tensor_alignment=config.constant_tensor_alignment,
                delegate_alignment=config.delegate_alignment,
            )
            named = named_blobs(self._named_data)
            named |= {key: NamedBlob(data, 4) for key, data in self._emitter_output.plan_data.items()}
            file = PteFile(self.executorch_program, self._emitter_output.mutable_data, named)
            self._serialized = serialize_pte(file, layout)
        return self._serialized

    @property
    def buffer(self) -> bytes:
        """The bytes of the `.pte` file. `write_to_file` and `save` write them without making this copy."""
        if self._bytes is None:
            self._bytes = bytes(self._cord())
        return self._bytes

    def write_to_file(self, open_file: io.BufferedIOBase | BinaryIO) -> None:
        """Write the `.pte` to a file that is open for binary writing."""
        self._cord().write_to_file(open_file)  # type: ignore[arg-type]

    def _data_cords(self) -> dict[str, Cord]:
        """Return the `.ptd` files by name, without the ending: weights, and external data of delegates."""
        if self._data is None:
            store = NamedDataStore()
            for part in (self._emitter_output.external_data, self._named_data):
                if part is not None:
                    store.merge_named_data_store(part)
            merged = store.get_named_data_store_output()
            self._data = {
                name: serialize_flat_tensor(merged.buffers, entries, self._config.segment_alignment)
                for name, entries in merged.external_data.items()
            }
        return self._data

    @property
    def data_files(self) -> dict[str, bytes]:
        """The bytes of the `.ptd` files by name, without the ending."""
        return {name: bytes(cord) for name, cord in self._data_cords().items()}

    @property
    def _tensor_data(self) -> dict[str, Cord]:
        """Façade: `data_files` under the name that scripts for ExecuTorch 1.4 read; a new dict for each access."""
        return dict(self._data_cords())

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Write `<name>.ptd` for each file of data beside the program into the folder `outdir`."""
        for name, cord in self._data_cords().items():
            with open(os.path.join(outdir, f"{name}.ptd"), "wb") as file:
                cord.write_to_file(file)

    def save(self, path: str) -> None:
        """Write the `.pte` to `path`. Raises ValueError for another ending."""
        if not str(path).endswith(".pte"):
            raise ValueError(f"expected a path that ends in .pte, found {path}")
        with open(path, "wb") as file:
            self.write_to_file(file)
