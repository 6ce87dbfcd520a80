# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""EdgeProgramManager: programs in the edge dialect, to be transformed, delegated and turned into a `.pte` program."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from torch._export.verifier import Verifier
from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.passes.edge.debug_handle_generator_pass import generate_missing_debug_handles
from executorch.exir.program.executorch_manager import ExecutorchProgramManager
from executorch.exir.program.executorch_steps import to_executorch_programs
from executorch.exir.program.origin import Origin
from executorch.exir.program.program_graph import set_verifiers
from executorch.exir.program.record import ExportRecord, new_record
from executorch.exir.program.transform import Passes, program_for, run_passes
from executorch.exir.rewrite.program_copy import deepcopy_program
from executorch.exir.rewrite.shared_state import read_as_state
from executorch.exir.verification.verifier import EXIREdgeDialectVerifier


class EdgeProgramManager:
    """Edge programs by method name. Each step returns a new manager and leaves this one unchanged.

    edge_programs: programs in the edge dialect, verified here. A buffer that one of them updates becomes state in all,
    before constants are folded and delegated. constant_methods: method name → the constant that it
    returns. Raises `ExportError` naming the illegal node.
    """

    def __init__(
        self,
        edge_programs: ExportedProgram | dict[str, ExportedProgram],
        constant_methods: dict[str, object] | None = None,
        compile_config: EdgeCompileConfig | None = None,
        core_aten_ops_exception_list: list[OpOverload] | None = None,
        preserve_ops: list[OpOverload] | None = None,
    ) -> None:
        self.compile_config = compile_config or EdgeCompileConfig()
        self._allowed = [*(core_aten_ops_exception_list or []), *(preserve_ops or [])]
        self._edge_programs = (
            {"forward": edge_programs} if isinstance(edge_programs, ExportedProgram) else dict(edge_programs)
        )
        self._config_methods = dict(constant_methods or {})
        self._etrecord: ExportRecord | None = None
        self._origin: Origin | None = None
        read_as_state(self._edge_programs)
        for program in self._edge_programs.values():
            set_verifiers(program, [self._verifier(self.compile_config)])

    def __deepcopy__(self, memo: dict[int, object]) -> EdgeProgramManager:
        # torch's copy of a program renames an input such as `input` in the graph but not in the signature.
        copied = copy.copy(self)
        memo[id(self)] = copied
        copied._edge_programs = _deepcopy_programs(self._edge_programs, memo)
        copied._config_methods = copy.deepcopy(self._config_methods, memo)
        copied._etrecord = None if self._etrecord is None else self._etrecord.copy()
        if self._origin is not None:
            is_current = self._origin.is_current(self._edge_programs)
            exported = _deepcopy_programs(self._origin.exported, memo)  # memo: both have the same tensors
            copied._origin = Origin.of(exported, copied._edge_programs) if is_current else None
        return copied

    def _verifier(self, config: EdgeCompileConfig) -> type[Verifier]:
        verifier: type[Verifier] = EXIREdgeDialectVerifier(config, True, self._allowed)
        return verifier

    @property
    def methods(self) -> set[str]:
        """Names of the methods that are programs."""
        return set(self._edge_programs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the methods that return a constant."""
        return set(self._config_methods)

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Return the program of a method. Raises KeyError naming the existing methods."""
        if method_name not in self._edge_programs:
            raise KeyError(f"no method '{method_name}', found {sorted(self._edge_programs)}")
        return self._edge_programs[method_name]

    def _with(
        self, programs: dict[str, ExportedProgram], config: EdgeCompileConfig | None = None
    ) -> EdgeProgramManager:
        manager = EdgeProgramManager(programs, self._config_methods, config or self.compile_config, self._allowed)
        manager._etrecord = self._etrecord
        return manager

    def lowered_from(self, exported_programs: dict[str, ExportedProgram]) -> None:
        """Record the exported programs: `to_backend` lowers them again to keep operators whole for a partitioner."""
        self._origin = Origin.of(exported_programs, self._edge_programs)

    def record_from(
        self, exported_programs: ExportedProgram | dict[str, ExportedProgram], transformed: bool = False
    ) -> None:
        """Begin an `executorch.devtools.ETRecord` of the exported programs and these edge programs.

        transformed: users' passes made these programs; the record also has them under their documented name.
        """
        record = new_record()
        record.add_exported_program(exported_programs)
        record.add_edge_dialect_program(self)
        if transformed:
            programs = record.edge_programs().values()
            names = sorted(self.methods)
            record.graph_map = {
                f"edge_after_transform/{name}": program for name, program in zip(names, programs, strict=True)
            }
        self._etrecord = record

    def transform(
        self,
        passes: Passes | Mapping[str, Passes],
        compile_config: EdgeCompileConfig | None = None,
    ) -> EdgeProgramManager:
        """Run passes on every method (one, a list, or a PassManager), or on the methods that a dict names.

        A pass is called with a graph module and returns a PassResult, or is an ExportedProgramPassBase. Passes work on
        a copy of the program, unless one was made for the program itself (`Pass(manager.exported_program())`): it may
        add constants to that program, which is changed in place.
        """
        by_method = passes if isinstance(passes, Mapping) else dict.fromkeys(self._edge_programs, passes)
        unknown = sorted(set(by_method) - self.methods)
        if unknown:
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE,
                f"passes for methods {unknown}, found methods {sorted(self.methods)}",
            )
        programs = dict(self._edge_programs)
        for name, wanted in by_method.items():
            programs[name] = run_passes(program_for(programs[name], wanted), wanted)
            generate_missing_debug_handles(programs[name])
        return self._with(programs, compile_config)

    def to_backend(self, partitioner: Partitioner | dict[str, Partitioner]) -> EdgeProgramManager:
        """Delegate with one partitioner for all methods, or with a dict of partitioners by method.

        Directly after `to_edge` this is `to_edge_transform_and_lower`: the operators that a partitioner preserves are
        not decomposed, and constants are folded. After `transform` or another `to_backend`, partitioners get the
        programs as they are.
        """
        by_method = partitioner if isinstance(partitioner, dict) else dict.fromkeys(self._edge_programs, partitioner)
        origin = self._origin_for(by_method)
        if origin is not None:
            from executorch.exir.program.lowering import lower  # returns a manager, so its module imports this one

            wanted = {name: [partitioner] for name, partitioner in by_method.items()}
            record = self._etrecord is not None
            return lower(origin.exported, wanted, self._config_methods, self.compile_config, generate_etrecord=record)
        return self._with(to_backend(MethodProgramsPartitionerSpec(self._edge_programs, by_method)))

    def _origin_for(self, by_method: Mapping[str, Partitioner]) -> Origin | None:
        """Return the exported programs if partitioners preserve operators that these programs have decomposed.

        None for invalid partitioners, which `to_backend` of backend_api refuses.
        """
        are_valid = set(by_method) <= self.methods and all(isinstance(one, Partitioner) for one in by_method.values())
        origin = self._origin
        if origin is None or not are_valid:
            return None
        return origin if origin.is_useful_to(by_method) and origin.is_current(self._edge_programs) else None

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """Create out variants, plan memory and emit. Return a program that can be written to a file."""
        config = config or ExecutorchBackendConfig()
        planned, named_data = to_executorch_programs(self._edge_programs, config, self.compile_config.strict)
        manager = ExecutorchProgramManager(planned, self._config_methods, config, named_data)
        if self._etrecord is not None:
            record = self._etrecord.copy()
            record.add_executorch_program(manager)
            manager._etrecord = record
        return manager


def _deepcopy_programs(programs: Mapping[str, ExportedProgram], memo: dict[int, object]) -> dict[str, ExportedProgram]:
    return {name: deepcopy_program(program, memo) for name, program in programs.items()}
