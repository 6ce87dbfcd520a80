# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory plan read from a file: planned tensors with the instructions of their lifetimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from executorch.devtools.analysis.program_view import tensors_of
from executorch.devtools.checked_program import arguments_of
from executorch.exir.memory.plan import Arena, MemoryPlan, PlannedTensor
from executorch.exir.scalar_type import to_dtype
from executorch.exir.schema import ExecutionPlan, JumpFalseCall, KernelCall, Tensor


@dataclass
class _Use:
    first: int
    last: int


def plan_of_file(plan: ExecutionPlan, modules: Mapping[int, str]) -> MemoryPlan:
    """Return the lifetimes of planned tensors, with a step for each instruction, from 1.

    modules: instruction → module.

    Inputs live from step 0, outputs to the end, state always. Values of a loop live during the whole loop. A tensor
    within the bytes of another live tensor is a view and does not count. A tensor that begins, in the same bytes, at
    the last use of another is computed in place.
    """
    instructions = plan.chains[0].instructions if plan.chains else []
    end = len(instructions) + 1
    uses: dict[int, _Use] = {}

    def note_use(values: list[int], step: int) -> None:
        for index, _ in tensors_of(plan, values):
            known = uses.setdefault(index, _Use(step, step))
            known.last = max(known.last, step)

    note_use(list(plan.inputs), 0)
    for number, instruction in enumerate(instructions):
        note_use(arguments_of(instruction.instr_args), number + 1)
    for number, instruction in enumerate(instructions):
        call = instruction.instr_args
        if isinstance(call, JumpFalseCall) and call.destination_instruction <= number:
            _extend(uses, call.destination_instruction + 1, number + 1)
    note_use(list(plan.outputs), end)
    uses |= {index: _Use(0, end) for index in uses if _is_state(plan, index)}
    tensors = [_planned(plan, index, use, modules) for index, use in uses.items() if _is_planned(plan, index)]
    kept = _without_aliases(sorted(tensors, key=lambda tensor: (tensor.first, -tensor.size)))
    sizes = enumerate(plan.non_const_buffer_sizes)
    arenas = tuple(_arena(number, size, kept, end) for number, size in sizes if number)
    return MemoryPlan(tuple(kept), arenas, end)


def _extend(uses: dict[int, _Use], first: int, last: int) -> None:
    """Let values that are alive during the loop of steps `first` to `last` live during the whole loop."""
    for use in uses.values():
        if use.first <= last and use.last >= first:
            use.first, use.last = min(use.first, first), max(use.last, last)


def _is_planned(plan: ExecutionPlan, index: int) -> bool:
    value = plan.values[index].val
    return isinstance(value, Tensor) and value.allocation_info is not None


def _is_state(plan: ExecutionPlan, index: int) -> bool:
    """Return whether a tensor has an initial value and keeps its contents between executions."""
    value = plan.values[index].val
    return _is_planned(plan, index) and isinstance(value, Tensor) and value.data_buffer_idx != 0


def _planned(plan: ExecutionPlan, index: int, use: _Use, modules: Mapping[int, str]) -> PlannedTensor:
    tensor = plan.values[index].val
    assert isinstance(tensor, Tensor) and tensor.allocation_info is not None
    dtype = to_dtype(tensor.scalar_type)
    qualified_name = tensor.extra_tensor_info.fully_qualified_name if tensor.extra_tensor_info else None
    return PlannedTensor(
        name=qualified_name or f"%{index}",
        operator="input" if use.first == 0 else _operator(plan, use.first - 1),
        module=modules.get(use.first - 1, ""),
        dtype=str(dtype).removeprefix("torch."),
        shape=tuple(tensor.sizes),
        mem_id=tensor.allocation_info.memory_id,
        offset=tensor.allocation_info.memory_offset,
        size=prod(tensor.sizes) * dtype.itemsize,
        first=use.first,
        last=use.last,
        in_place_of="",
    )


def _operator(plan: ExecutionPlan, instruction: int) -> str:
    call = plan.chains[0].instructions[instruction].instr_args
    if isinstance(call, KernelCall):
        return plan.operators[call.op_index].name
    index = getattr(call, "delegate_index", None)
    return type(call).__name__ if index is None else plan.delegates[index].id


def _without_aliases(tensors: list[PlannedTensor]) -> list[PlannedTensor]:
    """Merge views into the tensors that they share bytes with, and mark tensors that are computed in place."""
    kept: list[PlannedTensor] = []
    for tensor in tensors:
        others = [(place, other) for place, other in enumerate(kept) if _meet(other, tensor)]
        views = [(place, other) for place, other in others if other.last > tensor.first]
        if views:
            for place, view in views:
                kept[place] = replace(view, last=max(view.last, tensor.last))
            continue
        for place, other in others:
            kept[place] = replace(other, last=tensor.first - 1)
        kept.append(replace(tensor, in_place_of=others[0][1].name if others else ""))
    return kept


def _meet(one: PlannedTensor, other: PlannedTensor) -> bool:
    in_time = one.first < other.first <= one.last
    in_place = one.offset < other.offset + other.size and other.offset < one.offset + one.size
    return one.mem_id == other.mem_id and in_time and in_place


def _arena(number: int, size: int, tensors: list[PlannedTensor], end: int) -> Arena:
    changes = [0] * (end + 2)
    for tensor in tensors:
        if tensor.mem_id == number:
            changes[tensor.first] += tensor.size
            changes[tensor.last + 1] -= tensor.size
    peak = alive = 0
    for change in changes:
        alive += change
        peak = max(peak, alive)
    return Arena(number, size, peak, peak)
