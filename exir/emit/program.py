# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planned methods → one Program."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from executorch.exir.emit.getters import emit_getter
from executorch.exir.emit.method import emit_method
from executorch.exir.emit.parametric import KEY_PREFIX, encode_parametric_plan
from executorch.exir.emit.state import EmitOptions, MethodState, ProgramState
from executorch.exir.error import ExportError
from executorch.exir.memory.parametric import PARAMETRIC_PLAN
from executorch.exir.named_data import NamedDataStoreOutput
from executorch.exir.schema import Buffer, ExecutionPlan, Program

SCHEMA_VERSION = 0


@dataclass
class EmitterOutput:
    """A program, and for each method what its instructions (by index) stand for.

    debug_handle_map: instruction → debug handle(s). method_to_delegate_debug_id_map: delegate call → its backend's name
    and map. instruction_id_to_num_outs_map: delegate call → number of outputs. mutable_data: initial values of mutable
    buffers, None if there are none. external_data: weights in files beside the program. parametric_plans: named data
    of the program.
    """

    program: Program
    debug_handle_map: dict[str, dict[int, int | list[int]]]
    method_to_delegate_debug_id_map: dict[str, dict[int, dict[str, Any]]]
    instruction_id_to_num_outs_map: dict[str, dict[int, int]]
    mutable_data: list[Buffer] | None
    external_data: NamedDataStoreOutput
    parametric_plans: dict[str, bytes]


def emit_program(
    methods: ExportedProgram | Mapping[str, ExportedProgram],
    emit_stacktrace: bool = False,
    prim_getters: Mapping[str, Any] | None = None,
    emit_mutable_buffer_names: bool = False,
) -> EmitterOutput:
    """Emits methods in the order of their names, then the constant methods of `prim_getters`.

    The graphs hold out variants and their memory is planned. Raises ExportError naming the node at fault.
    """
    if isinstance(methods, ExportedProgram):
        methods = {"forward": methods}
    options = EmitOptions(emit_stacktrace, emit_mutable_buffer_names)
    shared = ProgramState()
    plans: list[ExecutionPlan] = []
    states: dict[str, MethodState] = {}
    parametric_plans: dict[str, bytes] = {}
    for name, method in sorted(methods.items()):
        if not isinstance(method, ExportedProgram):
            raise ExportError("emit", f"method {name!r}", f"expected an ExportedProgram; found {type(method).__name__}")
        states[name] = MethodState(shared, options)
        plans.append(emit_method(name, method, states[name]))
        by_sizes = method.graph_module.meta.get(PARAMETRIC_PLAN)
        if by_sizes is not None:
            parametric_plans[KEY_PREFIX + name] = encode_parametric_plan(by_sizes, states[name].spec_values)
    plans += [emit_getter(name, value, shared) for name, value in (prim_getters or {}).items()]
    program = Program(
        version=SCHEMA_VERSION,
        execution_plan=plans,
        constant_buffer=shared.constants.buffers,
        backend_delegate_data=shared.delegate_data,
    )
    return EmitterOutput(
        program=program,
        debug_handle_map={name: state.debug_handles for name, state in states.items()},
        method_to_delegate_debug_id_map={name: state.delegate_maps for name, state in states.items()},
        instruction_id_to_num_outs_map={name: state.output_counts for name, state in states.items()},
        mutable_data=shared.mutable_data.buffers if len(shared.mutable_data.buffers) > 1 else None,
        external_data=shared.external.get_named_data_store_output(),
        parametric_plans=parametric_plans,
    )
