# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Map a trace's events to nodes of the exported program, by the maps of an ETRecord."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from torch import fx
from torch.export import ExportedProgram

from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.event import Event
from executorch.devtools.inspector.event_block import EventBlock
from executorch.exir.graph_module import bfs_trace_with_node_process, debug_handles_of
from executorch.exir.schema import DelegateCall, ExecutionPlan, KernelCall

RUNTIME_EVENTS = ("Method::init", "Program::load_method", "Method::execute")
OPERATOR_CALL, DELEGATE_CALL = "OPERATOR_CALL", "DELEGATE_CALL"


def method_of(record: ETRecord, wanted: str | None) -> str:
    """Name of the method whose maps apply: `wanted`, else 'forward' or the only one. Raises ValueError naming them."""
    methods = sorted(record._debug_handle_map or {})
    if wanted is None:
        wanted = "forward" if "forward" in methods or len(methods) != 1 else methods[0]
    if wanted not in methods:
        raise ValueError(f"the record lacks maps of the method '{wanted}': expected one of {methods}")
    return wanted


def edge_program_of(record: ETRecord, method: str) -> ExportedProgram | None:
    """The method's edge program, or the record's only unnamed one, as from a file; None if both are missing."""
    programs = record.edge_programs()
    return programs.get(method, next(iter(programs.values())) if len(programs) == 1 else None)


def check_record(record: ETRecord, plan: ExecutionPlan) -> None:
    """Raise ValueError if the record belongs to another program: the plan lacks a call of the record's delegates or
    operators at the recorded instructions.
    """
    name = method_of(record, plan.name)
    instructions = plan.chains[0].instructions
    called = [number for number, entry in enumerate(instructions) if isinstance(entry.instr_args, DelegateCall)]
    expected = sorted(_by_instruction(record._delegate_map, name))
    if expected != called:
        raise ValueError(
            f"the record belongs to another program: expected delegate calls at instructions {expected}; "
            f"the method '{plan.name}' has them at {called}"
        )
    calls = {
        number for number, entry in enumerate(instructions) if isinstance(entry.instr_args, (DelegateCall, KernelCall))
    }
    missing = sorted(set(_by_instruction(record._debug_handle_map, name)) - calls)
    if missing:
        raise ValueError(
            f"the record belongs to another program: expected calls at instructions {missing[:8]}; "
            f"the method '{plan.name}' has {len(instructions)} instructions and no calls there"
        )


def handles_of(event: Event) -> tuple[int, ...]:
    """An event's debug handles; empty if it has none."""
    if event.debug_handles is None:
        return ()
    return (event.debug_handles,) if isinstance(event.debug_handles, int) else tuple(event.debug_handles)


def handles_of_node(node: fx.Node) -> set[int]:
    """A node's debug handles."""
    return set(debug_handles_of(node))


def nodes_by_handle(program: ExportedProgram) -> dict[int, list[fx.Node]]:
    """Debug handle → calls of a program in graph order, including those of branches and loop bodies."""
    nodes: dict[int, list[fx.Node]] = {}

    def collect(node: fx.Node) -> None:
        if node.op == "call_function":
            for handle in debug_handles_of(node):
                nodes.setdefault(handle, []).append(node)

    bfs_trace_with_node_process(program.graph_module, collect)
    return nodes


def attribute(blocks: Sequence[EventBlock], record: ETRecord, method: str, program: ExportedProgram | None) -> None:
    """Set handles, operators and sources of each event. Raises ValueError if trace and record differ in program."""
    handles = _by_instruction(record._debug_handle_map, method)
    delegates = _by_instruction(record._delegate_map, method)
    outputs = _by_instruction(record._instruction_id_to_num_outs_map, method)
    nodes = {} if program is None else nodes_by_handle(program)
    for block in blocks:
        for event in block.events:
            if event._instruction_id is None or event.name in RUNTIME_EVENTS:
                continue
            _set_handles(event, event._instruction_id, handles, delegates, outputs)
            _set_sources(event, nodes)


def _by_instruction(maps: Mapping[str, Any] | None, method: str) -> dict[int, Any]:
    # Keys are strings in a record that was read from a file.
    return {int(key): value for key, value in ((maps or {}).get(method) or {}).items()}


def _set_handles(
    event: Event, instruction: int, handles: dict[int, Any], delegates: dict[int, Any], outputs: dict[int, Any]
) -> None:
    event.num_outputs = int(outputs.get(instruction, 1))
    event.debug_handles = handles.get(instruction)
    if event.name == DELEGATE_CALL and instruction not in delegates:
        raise ValueError(
            f"trace and record belong to different programs: instruction {instruction} called a delegate, but the "
            f"record has delegates at instructions {sorted(delegates) or 'none'}"
        )
    if event.name.startswith("native_call_") and instruction in delegates:
        raise ValueError(
            f"trace and record belong to different programs: instruction {instruction} called the kernel of "
            f"{event.name.removeprefix('native_call_')}, but the record has delegate {delegates[instruction]['name']}"
        )
    if instruction not in delegates:
        return
    event.delegate_backend_name = delegates[instruction].get("name", "")
    if event.delegate_debug_identifier is not None:
        event.debug_handles = _inside(event.delegate_debug_identifier, delegates[instruction].get("delegate_map") or {})


def _inside(identifier: int | str, delegate_map: Mapping[Any, Any]) -> Any:
    """Debug handles of a delegate's event: the map's key equals its identifier, or is a substring of it."""
    for key in (identifier, str(identifier)):
        if key in delegate_map:
            return delegate_map[key]
    if isinstance(identifier, str):
        return next((value for key, value in delegate_map.items() if _is_part(key, identifier)), None)
    return None


def _set_sources(event: Event, nodes: Mapping[int, Sequence[fx.Node]]) -> None:
    for handle in dict.fromkeys(handles_of(event)):
        for node in nodes.get(handle, ()):
            event.stack_traces[node.name] = node.meta.get("stack_trace")
            event.module_hierarchy[node.name] = node.meta.get("nn_module_stack")
            if node.target is not operator.getitem:
                event.op_types.append(str(node.target))
                event._nodes.append(node.name)


def _is_part(key: Any, identifier: str) -> bool:
    """Return whether a key is a substring of the identifier. Numeric keys, strings in a file, must match exactly."""
    return isinstance(key, str) and not key.isdigit() and key in identifier
