# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""explain(): memory of a program, from its plan or its file, and from a measured run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from executorch.devtools.analysis.file_plan import plan_of_file
from executorch.devtools.checked_program import checked_program
from executorch.devtools.memory.constants import constants_of_file, constants_of_programs
from executorch.devtools.memory.explanation import ArenaUse, Figure, MemoryExplanation, MethodMemory
from executorch.devtools.memory.measured import Measured, measure
from executorch.exir.memory.plan import MemoryPlan, PlannedTensor
from executorch.exir.program import ExecutorchProgramManager
from executorch.exir.schema import BytesLike, ExecutionPlan
from executorch.exir.serialize.regular_file import read_regular_file


def explain(
    program: ExecutorchProgramManager | BytesLike | str | Path,
    inputs: Mapping[str, Sequence[Any]] | None = None,
    *,
    run: bool = True,
) -> MemoryExplanation:
    """Account for each byte that running the program takes.

    program: the result of `to_executorch`, which gives names, modules and lower bounds; or a `.pte` file's path or
    bytes.
    inputs: method → inputs for the measurement; other methods run on zeros of their upper-bound sizes. run: measure by
    loading and running every method once in the installed runtime; a method that fails reports why.

    Raises MalformedProgramError for bytes that are not a program, OSError, and ValueError for inputs of an unknown
    method.
    """
    manager = program if isinstance(program, ExecutorchProgramManager) else None
    if isinstance(program, ExecutorchProgramManager):
        data: BytesLike = program.buffer
    else:
        data = read_regular_file(program) if isinstance(program, (str, Path)) else program
    file = checked_program(data)
    plans = {plan.name: plan for plan in file.program.execution_plan}
    unknown = set(inputs or {}) - set(plans)
    if unknown:
        raise ValueError(f"inputs of {sorted(unknown)}: expected methods of the program, {sorted(plans)}")
    known = manager.memory_plans if manager else {}
    measured = {
        name: measure(data, plan, (inputs or {}).get(name)) if run else Measured() for name, plan in plans.items()
    }
    if manager is not None:
        programs = {name: manager.exported_program(name) for name in manager.methods}
        by_module = constants_of_programs(programs)
    else:
        by_module = constants_of_file(file.program)
    return MemoryExplanation(
        file=len(memoryview(data).cast("B")),
        constants=sum(len(buffer.storage) for buffer in file.program.constant_buffer),
        named_data=sum({id(blob.data): len(blob.data) for blob in file.named_data.values()}.values()),
        payloads=sum(len(payload.data) for payload in file.program.backend_delegate_data),
        by_module=by_module,
        methods={name: _method(plan, known.get(name), measured[name]) for name, plan in plans.items()},
    )


def _method(plan: ExecutionPlan, known: MemoryPlan | None, measured: Measured) -> MethodMemory:
    used = known or plan_of_file(plan, {})
    bounds = {arena.mem_id: arena.lower_bound for arena in known.arenas} if known else {}
    arenas = tuple(
        _arena(
            mem_id,
            size,
            [tensor for tensor in used.tensors if tensor.mem_id == mem_id],
            used.steps + 1,
            bounds.get(mem_id),
        )
        for mem_id, size in enumerate(plan.non_const_buffer_sizes)
        if mem_id and size
    )
    planned = sum(plan.non_const_buffer_sizes[1:])
    figures = (
        Figure("planned arenas", planned, measured.planned, measured.why_not),
        Figure("method allocator", measured.method_allocator_stated, measured.method_allocator),
        Figure("temporary memory", None, measured.temp, "maximum of one kernel or delegate"),
        Figure("tensors without bound", None, measured.dynamic, "from the dynamic allocator"),
        Figure("scratch of delegates", None, measured.scratch, "shared scratch counts once"),
        Figure("packed weights of delegates", None, measured.packed, "shared weights count for each delegate"),
    )
    return MethodMemory(plan.name, "instruction" if known is None else "step", arenas, figures)


def _arena(mem_id: int, size: int, tensors: Sequence[PlannedTensor], steps: int, bound: int | None) -> ArenaUse:
    alive = _alive(tensors, steps)
    peak = max(range(steps), key=lambda step: alive[step], default=0)
    at_peak = sorted(
        (tensor for tensor in tensors if tensor.first <= peak <= tensor.last), key=lambda tensor: -tensor.size
    )
    return ArenaUse(mem_id, size, tuple(alive), peak, tuple(at_peak), bound)


def _alive(tensors: Sequence[PlannedTensor], steps: int) -> list[int]:
    """Bytes of the arena in use at each step. Tensors may share bytes, as in-place operators do."""
    at: list[list[PlannedTensor]] = [[] for _ in range(steps)]
    for tensor in tensors:
        for step in range(tensor.first, min(tensor.last, steps - 1) + 1):
            at[step].append(tensor)
    return [_covered(alive) for alive in at]


def _covered(tensors: Iterable[PlannedTensor]) -> int:
    total = end = 0
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        total += max(0, tensor.offset + tensor.size - max(end, tensor.offset))
        end = max(end, tensor.offset + tensor.size)
    return total
