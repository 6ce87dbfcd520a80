# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit a Program from planned methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch.export import ExportedProgram

from executorch.exir.emit.getters import emit_getter
from executorch.exir.emit.method import emit_method
from executorch.exir.emit.order import KEY_PREFIX as ORDER_PREFIX
from executorch.exir.emit.order import encode_order, find_order
from executorch.exir.emit.parametric import KEY_PREFIX, encode_parametric_plan
from executorch.exir.emit.state import EmitOptions, MethodState, ProgramState
from executorch.exir.error import ExportError
from executorch.exir.format.named_data import NamedDataStoreOutput
from executorch.exir.memory.algorithms.concurrency import CONCURRENT
from executorch.exir.memory.sizes.parametric import PARAMETRIC_PLAN
from executorch.exir.schema import Buffer, ExecutionPlan, Program

SCHEMA_VERSION = 0


@dataclass
class EmitterOutput:
    """A program, and maps of each method by index of instruction.

    debug_handle_map: instruction → debug handle(s). method_to_delegate_debug_id_map: delegate call → its backend's name
    and map. instruction_id_to_num_outs_map: delegate call → number of outputs. mutable_data: initial values of mutable
    buffers, or None. external_data: weights in files beside the program. plan_data: named data with parametric plans
    and orders of tasks.
    """

    program: Program
    debug_handle_map: dict[str, dict[int, int | Sequence[int]]]
    method_to_delegate_debug_id_map: dict[str, dict[int, dict[str, object]]]
    instruction_id_to_num_outs_map: dict[str, dict[int, int]]
    mutable_data: list[Buffer] | None
    external_data: NamedDataStoreOutput
    plan_data: dict[str, bytes]

    @property
    def external_constant_buffer(self) -> list[bytes]:
        """The weights of all files beside the program, without duplicates."""
        return self.external_data.buffers

    @property
    def external_constant_map(self) -> dict[str, dict[str, int]] | None:
        """File tag → name of the weight → index into `external_constant_buffer`; None without such files."""
        files = self.external_data.external_data
        return {tag: {key: entry.buffer_index for key, entry in keys.items()} for tag, keys in files.items()} or None


def emit_program(
    methods: ExportedProgram | Mapping[str, ExportedProgram],
    emit_stacktrace: bool = False,
    prim_getters: Mapping[str, object] | None = None,
    emit_mutable_buffer_names: bool = False,
) -> EmitterOutput:
    """Emit methods in the order of their names, then the constant methods of `prim_getters`.

    The graphs must contain out variants, with planned memory. Raises ExportError with the node.
    """
    if isinstance(methods, ExportedProgram):
        methods = {"forward": methods}
    options = EmitOptions(emit_stacktrace, emit_mutable_buffer_names)
    shared = ProgramState()
    plans: list[ExecutionPlan] = []
    states: dict[str, MethodState] = {}
    plan_data: dict[str, bytes] = {}
    for name, method in sorted(methods.items()):
        if not isinstance(method, ExportedProgram):
            raise ExportError("emit", f"method {name!r}", f"expected an ExportedProgram; found {type(method).__name__}")
        meta = method.graph_module.meta
        states[name] = MethodState(shared, options, bool(meta.get(CONCURRENT)))
        plans.append(emit_method(name, method, states[name]))
        by_sizes = meta.get(PARAMETRIC_PLAN)
        if by_sizes is not None:
            plan_data[KEY_PREFIX + name] = encode_parametric_plan(by_sizes, states[name].spec_values)
        if states[name].concurrent:
            plan_data[ORDER_PREFIX + name] = encode_order(find_order(states[name], name))
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
        plan_data=plan_data,
    )
