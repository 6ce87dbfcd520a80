# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit calls of delegates and their payloads. A program stores equal payloads once."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils._pytree import tree_leaves

from executorch.exir.emit.arguments import argument
from executorch.exir.emit.state import MethodState, ProgramState, Ref
from executorch.exir.graph_module import debug_handles_of
from executorch.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    CompileSpec,
    DataLocation,
    DelegateCall,
)


class LoweredModule(Protocol):
    """The attributes of a lowered module that the emitter reads."""

    meta: dict[str, object] | None

    @property
    def backend_id(self) -> str: ...
    @property
    def processed_bytes(self) -> bytes: ...
    @property
    def compile_specs(self) -> list[CompileSpec]: ...
    @property
    def original_module(self) -> ExportedProgram: ...


def emit_delegate(
    state: MethodState, lowered: LoweredModule, inputs: Sequence[object], outputs: Sequence[Ref], node: Node
) -> None:
    """Emit a call of a new delegate: delegates with equal payloads have separate state."""
    reference = BackendDelegateDataReference(DataLocation.INLINE, _payload(state.program, lowered.processed_bytes))
    specs = [CompileSpec(spec.key, spec.value) for spec in lowered.compile_specs]
    state.delegates.append(BackendDelegate(lowered.backend_id, reference, specs))
    args = [argument(state, value) for value in tree_leaves(list(inputs), is_leaf=lambda leaf: leaf is None)]
    index = state.add(DelegateCall(len(state.delegates) - 1, [ref.id for ref in [*args, *outputs]]), node)

    calls = (node for node in lowered.original_module.graph.nodes if node.op == "call_function")
    state.debug_handles[index] = [handle for call in calls for handle in debug_handles_of(call)]
    state.output_counts[index] = len(outputs)
    state.delegate_maps[index] = {
        "name": lowered.backend_id,
        "delegate_map": (lowered.meta or {}).get("debug_handle_map", {}),
    }
    node.meta["debug_handle"] = index


def _payload(program: ProgramState, data: bytes) -> int:
    digest = hashlib.sha256(data).digest()
    if digest not in program.delegate_index:
        program.delegate_index[digest] = len(program.delegate_data)
        program.delegate_data.append(BackendDelegateInlineData(data))
    return program.delegate_index[digest]
