# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""RunAnalysis: the data of a report: a program's method, its run, sources and numeric differences."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import fx

from executorch.devtools.analysis.program_view import Call, calls_of
from executorch.devtools.comparison.result import Comparison, OperatorGap
from executorch.devtools.etdump.trace import Trace
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.attribution import (
    DELEGATE_CALL,
    attribute,
    check_record,
    edge_program_of,
    method_of,
    nodes_by_handle,
)
from executorch.devtools.inspector.event_block import BlockSettings, EventBlock, blocks_of
from executorch.devtools.inspector.sources import KERNEL
from executorch.devtools.inspector.steps import Step, execution_of, run_count, steps_of, whole_time
from executorch.devtools.inspector.time_scale import TimeScale
from executorch.exir.memory.plan import MemoryPlan
from executorch.exir.schema import DelegateCall, ExecutionPlan, KernelCall


@dataclass(frozen=True)
class RunAnalysis:
    """Data of a report.

    steps: of an execution, in milliseconds. whole: average time of an execution, 0 without a run. inside: delegate
    call's instruction → nodes of the edge program that it runs, with a record. comparison: with the model. memory:
    planned arenas. constants: module path → bytes; "" if the module is unknown.
    """

    title: str
    method: str
    plan: ExecutionPlan
    file_bytes: int
    blocks: Sequence[EventBlock] = ()
    steps: Sequence[Step] = ()
    whole: float = 0.0
    runs: int = 0
    inside: Mapping[int, Sequence[fx.Node]] = field(default_factory=dict)
    comparison: Comparison | None = None
    memory: MemoryPlan | None = None
    constants: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def calls(self) -> list[Call]:
        """The method as a graph of instructions."""
        return calls_of(self.plan)

    @property
    def modules(self) -> dict[int, str]:
        """Instruction → module path of its operators, if known."""
        return {step.instruction: step.module for step in self.steps if step.instruction is not None and step.module}

    def with_memory(self, memory: MemoryPlan, constants: Mapping[str, int]) -> RunAnalysis:
        """A copy with planned arenas and bytes of constants by module."""
        return replace(self, memory=memory, constants=constants)

    def steps_of(self, instruction: int | None) -> list[Step]:
        """The steps of an instruction."""
        return [step for step in self.steps if instruction is not None and step.instruction == instruction]

    def gaps_of(self, instruction: int | None, handles: Collection[int] = ()) -> list[OperatorGap]:
        """Differences at an instruction, or at those of its operators with the given debug handles."""
        gaps = [] if self.comparison is None else self.comparison.operators
        return [
            gap for gap in gaps if gap.instruction == instruction and (not handles or set(handles) & set(gap.handles))
        ]


def blocks_with_sources(trace: Trace, record: ETRecord | None, method: str | None) -> list[EventBlock]:
    """The trace's blocks in milliseconds, attributed by the record."""
    blocks = blocks_of(trace, BlockSettings(TimeScale.NS, TimeScale.MS, lambda _: None))
    if record is not None:
        name = method_of(record, method)
        attribute(blocks, record, name, edge_program_of(record, name))
    return blocks


def analysis_of(
    title: str,
    plan: ExecutionPlan,
    file_bytes: int,
    *,
    trace: Trace | None = None,
    record: ETRecord | None = None,
    comparison: Comparison | None = None,
) -> RunAnalysis:
    """Collect the data of a report. Raises ValueError if trace or record belong to another program."""
    if record is not None:
        check_record(record, plan)
    inside = _inside(record, plan.name)
    analysis = RunAnalysis(title, plan.name, plan, file_bytes, inside=inside, comparison=comparison)
    if trace is None:
        return analysis
    blocks = blocks_with_sources(trace, record, plan.name)
    block = execution_of(blocks)
    _check_events(block, plan)
    return replace(
        analysis,
        blocks=blocks,
        steps=steps_of(block),
        whole=whole_time(block),
        runs=run_count(block),
        notes=tuple(trace.missing),
    )


def _check_events(block: EventBlock, plan: ExecutionPlan) -> None:
    """Raise ValueError for an event that does not match the plan's call at its instruction."""
    instructions = plan.chains[0].instructions
    for event in block.events:
        number = event._instruction_id
        is_kernel = event.name.startswith(KERNEL)
        if number is None or not (is_kernel or event.name == DELEGATE_CALL):
            continue
        call = instructions[number].instr_args if number < len(instructions) else None
        found = "nothing" if call is None else type(call).__name__
        if isinstance(call, KernelCall):
            found = plan.operators[call.op_index].name.split("::")[-1]
        elif isinstance(call, DelegateCall):
            found = DELEGATE_CALL
        wanted = event.name.removeprefix(KERNEL).split(".")[0]
        if wanted != found:
            raise ValueError(
                f"the trace belongs to another program: instruction {number} ran {wanted}; in the method '{plan.name}' "
                f"that is {found}"
            )


def _inside(record: ETRecord | None, method: str) -> dict[int, list[fx.Node]]:
    if record is None:
        return {}
    name = method_of(record, method)
    program = edge_program_of(record, name)
    nodes = {} if program is None else nodes_by_handle(program)
    handles = (record._debug_handle_map or {}).get(name) or {}
    inner_nodes: dict[int, list[fx.Node]] = {}
    for instruction in (record._delegate_map or {}).get(name) or {}:
        listed = handles.get(instruction, handles.get(str(instruction), ()))
        listed = [listed] if isinstance(listed, int) else listed
        members = {node: None for name in dict.fromkeys(listed) for node in nodes.get(name, ())}
        inner_nodes[int(instruction)] = [node for node in members if node.target is not operator.getitem]
    return inner_nodes
