# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ATen → Core ATen → edge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from torch._ops import OpOverload
from torch.export import ExportedProgram

from executorch.exir.capture import EdgeCompileConfig
from executorch.exir.decompose.constant_scalars import compute_constant_scalars, states_of
from executorch.exir.decompose.context_calls import without_autocast_marks
from executorch.exir.decompose.decomposition import decompose
from executorch.exir.decompose.flex_attention import without_flex_attention
from executorch.exir.decompose.functorch_calls import without_functorch
from executorch.exir.decompose.operators.training_mode import warn_of_training
from executorch.exir.decompose.recorded_values import refuse_recorded_values
from executorch.exir.dialects.edge_rules import ATEN_CALLS, core_aten_rules
from executorch.exir.dialects.verifier import verify
from executorch.exir.error import ExportError, ExportErrorType
from executorch.exir.passes.state.external_constants_pass import restore_delegate_files
from executorch.exir.program.edge_manager import EdgeProgramManager
from executorch.exir.program.merged_inputs import warn_of_merged_inputs
from executorch.exir.program.pipeline import steps_to_edge
from executorch.exir.rewrite.name_branch_modules import name_branch_modules
from executorch.exir.verification.verifier import WellFormed


def methods_of(programs: object) -> dict[str, ExportedProgram]:
    """Return the programs by method name; a single program is the method `forward`. Raises `ExportError` for anything
    else."""
    given = programs if isinstance(programs, Mapping) else {"forward": programs}
    methods: dict[str, ExportedProgram] = {}
    for name, program in given.items():
        if not isinstance(program, ExportedProgram):
            raise ExportError(
                ExportErrorType.INVALID_INPUT_TYPE,
                f"method '{name}': expected torch.export.export's ExportedProgram, found {type(program).__name__}",
            )
        warn_of_merged_inputs(name, program)
        methods[name] = program
    return methods


def edge_program(
    program: ExportedProgram,
    config: EdgeCompileConfig,
    preserve: Iterable[OpOverload] = (),
    states: Collection[str] = (),
) -> ExportedProgram:
    """Return a new program in the edge dialect, which shares the weights of `program`. Raises `ExportError` naming a
    node that is not Core ATen. `EdgeProgramManager` checks the rules of the edge dialect.

    preserve: operators not to decompose, in addition to the configuration's. states: names of parameters and buffers
    that other methods update.
    """
    exported = program.graph_module
    kept = [*config.preserve_ops, *preserve]
    allowed = [*config._core_aten_ops_exception_list, *kept]
    refuse_recorded_values(program)
    program = without_flex_attention(without_functorch(without_autocast_marks(program)))
    program = compute_constant_scalars(program, states)
    if config._check_ir_validity:
        verify(program.graph_module, [ATEN_CALLS], "ATen verifier")
    warn_of_training(program)
    edge = decompose(program, kept, config.unroll_recurrent)
    restore_delegate_files(edge, exported)
    edge._verifiers = [WellFormed]
    name_branch_modules(edge)  # messages of all later steps name modules
    for position, step in enumerate(steps_to_edge(config)):
        step(edge)
        if position == 0 and config._check_ir_validity:
            verify(edge.graph_module, core_aten_rules(allowed), "Core ATen verifier")
    edge.graph_module.recompile()
    return edge


def to_edge(
    programs: ExportedProgram | dict[str, ExportedProgram],
    constant_methods: dict[str, object] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Lower exported programs to the edge dialect.

    programs: one program (method `forward`) or programs by method name. constant_methods: values that methods of these
    names return. generate_etrecord: record the export: `get_etrecord()` of the finished program returns an
    `executorch.devtools.ETRecord`.
    """
    config = compile_config or EdgeCompileConfig()
    methods = methods_of(programs)
    states = states_of(methods.values())
    edge = {name: edge_program(program, config, states=states) for name, program in methods.items()}
    manager = EdgeProgramManager(edge, constant_methods, config)
    manager.lowered_from(methods)
    if generate_etrecord:
        manager.record_from(programs)
    return manager
