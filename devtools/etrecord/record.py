# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ETRecord: the programs of an export's stages, and maps from instructions to nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import IO, Any

from torch.export import ExportedProgram

from executorch.devtools.bundled_program.core import BundledProgram
from executorch.exir.program import EdgeProgramManager, ExecutorchProgramManager

Programs = ExportedProgram | dict[str, ExportedProgram]


class ETRecordReservedFileNames(str, Enum):
    """Entries of a record's file, which further programs may not have in their names."""

    ETRECORD_IDENTIFIER = "ETRECORD_V0"
    EXPORTED_PROGRAM = "exported_program"
    EXPORT_GRAPH_ID = "export_graph_id"
    EDGE_DIALECT_EXPORTED_PROGRAM = "edge_dialect_exported_program"
    ET_DIALECT_GRAPH_MODULE = "et_dialect_graph_module"
    DEBUG_HANDLE_MAP_NAME = "debug_handle_map"
    DELEGATE_MAP_NAME = "delegate_map"
    INSTRUCTION_ID_TO_NUM_OUTS_MAP_NAME = "instruction_id_to_num_outs_map"
    REFERENCE_OUTPUTS = "reference_outputs"
    REPRESENTATIVE_INPUTS = "representative_inputs"

    def __str__(self) -> str:
        return self.value


RESERVED = tuple(name.value for name in ETRecordReservedFileNames)


@dataclass(eq=False, repr=False)
class ETRecord:
    """Record of an export. Request it with `generate_etrecord=True`; `ExecutorchProgramManager.get_etrecord()` returns
    it.

    exported_program: method `forward` as torch exported it. edge_dialect_program: before delegation; one program, or
    method → program. graph_map: "name/method" → further programs. debug_handle_map: method → instruction → debug
    handle(s). delegate_map: method → instruction → name and map of the delegate. instruction_id_to_num_outs_map: method
    → delegate call → number of outputs. reference_outputs: method → list of outputs for each test case.
    representative_inputs: inputs of `forward`.
    """

    exported_program: ExportedProgram | None = None
    export_graph_id: int | None = None
    edge_dialect_program: Programs | None = None
    graph_map: dict[str, ExportedProgram] | None = None
    _debug_handle_map: dict[str, Any] | None = None
    _delegate_map: dict[str, Any] | None = None
    _instruction_id_to_num_outs_map: dict[str, Any] | None = None
    _reference_outputs: dict[str, list[Any]] | None = None
    _representative_inputs: Sequence[Any] | None = None

    def edge_programs(self) -> dict[str, ExportedProgram]:
        """Method → edge program."""
        program = self.edge_dialect_program
        if program is None:
            return {}
        return {"forward": program} if isinstance(program, ExportedProgram) else dict(program)

    def copy(self) -> ETRecord:
        """Copy the record without the ExecuTorch stage, so that another program can be added."""
        return ETRecord(self.exported_program, self.export_graph_id, self.edge_dialect_program, self.graph_map)

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the record. Raises RuntimeError if it lacks the edge or the ExecuTorch program."""
        from executorch.devtools.etrecord.file import write_record

        write_record(self, path)

    def add_exported_program(self, exported_program: Programs | None) -> None:
        """Add the exported program, or `forward` of several. Raises RuntimeError if the record already has one."""
        if self.exported_program is not None or self.export_graph_id is not None:
            raise RuntimeError("the record already has an exported program")
        if exported_program is None:
            return
        programs = {"forward": exported_program} if isinstance(exported_program, ExportedProgram) else exported_program
        if "forward" in programs:
            self.exported_program = programs["forward"]
            self.export_graph_id = id(programs["forward"].graph)

    def add_edge_dialect_program(self, edge_dialect_program: EdgeProgramManager | ExportedProgram) -> None:
        """Add copies of the edge programs, which later steps cannot change. Raises RuntimeError if the record already
        has some.

        Calls of delegates are replaced by the delegates' operators, so that events inside delegates find their nodes.
        """
        from executorch.exir.backend.delegate.inline_delegates import inline_delegates
        from executorch.exir.rewrite.program_copy import copy_program

        if self.edge_dialect_program is not None:
            raise RuntimeError("the record already has an edge program")
        if isinstance(edge_dialect_program, ExportedProgram):
            self.edge_dialect_program = copy_program(inline_delegates(edge_dialect_program))
            return
        if not isinstance(edge_dialect_program, EdgeProgramManager):
            raise RuntimeError(f"expected an EdgeProgramManager; found {type(edge_dialect_program).__name__}")
        names = sorted(edge_dialect_program.methods)
        programs = {name: inline_delegates(edge_dialect_program.exported_program(name)) for name in names}
        copies = {name: copy_program(program) for name, program in programs.items()}
        self.edge_dialect_program = next(iter(copies.values())) if len(copies) == 1 else copies

    def add_executorch_program(self, executorch_program: ExecutorchProgramManager | BundledProgram) -> None:
        """Add a program's maps and, for a bundled program, its test cases. Raises RuntimeError if the record already
        has maps.
        """
        if self._debug_handle_map is not None or self._delegate_map is not None:
            raise RuntimeError("the record already has an ExecuTorch program")
        if isinstance(executorch_program, BundledProgram):
            self.update_reference_outputs(executorch_program)
            self.update_representative_inputs(executorch_program)
            if executorch_program.executorch_program is None:
                raise RuntimeError("a bundled program read from a file lacks debug handles")
            executorch_program = executorch_program.executorch_program
        self._debug_handle_map = executorch_program.debug_handle_map
        self._delegate_map = executorch_program.delegate_map
        self._instruction_id_to_num_outs_map = executorch_program.instruction_id_to_num_outs_map

    def add_extra_export_modules(
        self, extra_recorded_export_modules: Mapping[str, ExportedProgram | EdgeProgramManager]
    ) -> None:
        """Add programs by user-chosen names. Raises RuntimeError for a reserved name."""
        self.graph_map = dict(self.graph_map or {})
        for name, module in extra_recorded_export_modules.items():
            reserved = next((entry for entry in RESERVED if entry in name), None)
            if reserved is not None:
                raise RuntimeError(f"'{name}': expected a name without '{reserved}', a reserved name of the record")
            if isinstance(module, EdgeProgramManager):
                for method in sorted(module.methods):
                    self.graph_map[f"{name}/{method}"] = module.exported_program(method)
            elif isinstance(module, ExportedProgram):
                self.graph_map[f"{name}/forward"] = module
            else:
                raise RuntimeError(f"'{name}': expected an exported program; found {type(module).__name__}")

    def update_representative_inputs(self, representative_inputs: Sequence[Any] | BundledProgram) -> None:
        """Set the inputs of `forward` for comparisons of stages, e.g. those of a bundled program's first test case.

        Raises ValueError for a bundled program without a test case of `forward`.
        """
        if isinstance(representative_inputs, BundledProgram):
            suites = {suite.method_name: suite for suite in representative_inputs.method_test_suites}
            if "forward" not in suites:
                self._representative_inputs = None
                return
            if not suites["forward"].test_cases:
                raise ValueError("the method 'forward' lacks a test case to take inputs from")
            representative_inputs = suites["forward"].test_cases[0].inputs
        self._representative_inputs = list(representative_inputs)

    def update_reference_outputs(self, reference_outputs: Mapping[str, Any] | Sequence[Any] | BundledProgram) -> None:
        """Set the expected outputs: method → list of outputs for each test case; a plain list is for `forward`.

        Raises ValueError for a bundled program with a test case that has no expected outputs.
        """
        if isinstance(reference_outputs, BundledProgram):
            self._reference_outputs = {}
            for suite in reference_outputs.method_test_suites:
                if not all(case.expected_outputs for case in suite.test_cases):
                    raise ValueError(f"a test case of the method '{suite.method_name}' lacks expected outputs")
                self._reference_outputs[suite.method_name] = [case.expected_outputs for case in suite.test_cases]
        elif isinstance(reference_outputs, Mapping):
            self._reference_outputs = dict(reference_outputs)
        else:
            self._reference_outputs = {"forward": list(reference_outputs)}
