# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Edge programs → planned programs of out variants, ready to be emitted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

from torch.export import ExportedProgram

from executorch.exir.capture import ExecutorchBackendConfig
from executorch.exir.format.named_data import NamedDataStore, NamedDataStoreOutput
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.passes.quantized.quant_fusion_pass import quant_fusion_and_const_prop_pass
from executorch.exir.program.pipeline import for_method, steps_to_out_variants
from executorch.exir.program.target import check_target
from executorch.exir.program.transform import run_passes
from executorch.exir.report.lowering_report import check_strict
from executorch.exir.rewrite.program_copy import copy_program
from executorch.exir.verification.verifier import WellFormed


def to_executorch_programs(
    programs: dict[str, ExportedProgram], config: ExecutorchBackendConfig, strict: bool = False
) -> tuple[dict[str, ExportedProgram], NamedDataStoreOutput]:
    """Return new programs of out variants with their memory planned, and the named data of all their delegates.

    strict: operators that requested partitioners left are an error; otherwise a warning.
    """
    planned = {name: _out_variants(name, program, config) for name, program in programs.items()}
    for name, program in planned.items():
        check_strict(name, program.graph_module, strict)
    planners = []
    for name, program in planned.items():
        planner = for_method(config.memory_planning_pass, name)
        _plan(program, planner)
        planners.append(planner)
    for planner in dict.fromkeys(planners):
        if isinstance(planner, MemoryPlanningPass):
            planner.run_multimethod()
    for program in planned.values():
        program.graph_module.recompile()
    return planned, delegates_named_data(planned.values())


def delegates_named_data(programs: Iterable[ExportedProgram]) -> NamedDataStoreOutput:
    """Return the named data of all delegates in programs."""
    named_data = NamedDataStore()
    for program in programs:
        for module in all_graph_modules(program.graph_module):
            for lowered in get_lowered_backend_modules(module):
                if lowered.named_data_store_output is not None:
                    named_data.merge_named_data_store(lowered.named_data_store_output)
    return named_data.get_named_data_store_output()


def _out_variants(name: str, program: ExportedProgram, config: ExecutorchBackendConfig) -> ExportedProgram:
    verifiers = list(program.verifiers)
    for verifier in verifiers:
        verifier().check(program)  # its graph may have been changed in place
    copied = copy_program(program)
    copied._verifiers = [WellFormed]
    if config.do_quant_fusion_and_const_prop:
        copied = quant_fusion_and_const_prop_pass(copied)
    if config.passes:
        copied = run_passes(copied, config.passes)
        for verifier in verifiers:
            verifier().check(copied)
    for step in steps_to_out_variants(config, name):
        step(copied)
    if config.check_target:
        check_target(copied.graph_module, config.target_manifest)
    return copied


def _plan(program: ExportedProgram, planner: Callable[..., object]) -> None:
    """Run the planning pass on the program's graph: its `run`, with the signature if it takes one, or the pass."""
    run = getattr(planner, "run", None)
    if run is None:
        result = planner(program.graph_module)
    elif len(inspect.signature(run).parameters) > 1:
        result = run(program.graph_module, program.graph_signature)
    else:
        result = run(program.graph_module)
    planned = getattr(result, "graph_module", None)
    if planned is not None and planned is not program.graph_module:
        program._graph_module = planned
