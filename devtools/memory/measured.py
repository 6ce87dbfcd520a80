# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Measure the memory of loading and running a method in the installed runtime."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executorch.devtools.etdump.trace import read_trace
from executorch.exir.report.temp_peak import largest_input
from executorch.exir.schema import (
    Bool,
    BytesLike,
    Double,
    ExecutionPlan,
    Int,
    Null,
    String,
    Tensor,
    TensorShapeDynamism,
)
from executorch.runtime import ExecuTorchError, Program, Runtime


@dataclass(frozen=True)
class Measured:
    """Measured bytes; None: not measured. method_allocator_stated: the runtime's own prediction before loading.
    why_not: error of a method that could not be loaded or run.
    """

    planned: int | None = None
    method_allocator_stated: int | None = None
    method_allocator: int | None = None
    temp: int | None = None
    dynamic: int | None = None
    scratch: int | None = None
    packed: int | None = None
    why_not: str = ""


def measure(data: BytesLike, plan: ExecutionPlan, inputs: Sequence[Any] | None) -> Measured:
    """Load and run a method of the program in `data`. Default inputs: zeros of the upper-bound sizes."""
    try:
        program = Runtime.get().load_program(bytes(data), enable_etdump=True)
        stated = program.metadata(plan.name).method_allocator_size()
    except ExecuTorchError as error:
        return Measured(why_not=str(error).splitlines()[0])
    try:
        method = program.load_method(plan.name)
        assert method is not None
        given = [_input(plan, index) for index in plan.inputs] if inputs is None else list(inputs)
        method.execute(given)
    except (ExecuTorchError, ValueError) as error:
        return Measured(method_allocator_stated=stated, why_not=str(error).splitlines()[0])
    loading = _allocations(program)
    return Measured(
        planned=sum(method.memory_planned_buffer_sizes()),
        method_allocator_stated=stated,
        method_allocator=loading["method allocator"],
        temp=method.temp_memory_peak(),
        dynamic=method.dynamic_memory_peak(),
        scratch=method.delegate_scratch_size,
        packed=loading["packed weights"],
    )


def _allocations(program: Program) -> Counter[str]:
    """Allocator → bytes; for the temp allocator, the sum of all allocations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.etdp"
        program.write_etdump_result_to_file(str(path))
        trace = read_trace(path.read_bytes())
    totals: Counter[str] = Counter()
    # A trace records an allocation with a later event, possibly one of the first execution.
    for allocator, size in (allocation for run in trace.runs for allocation in run.allocations):
        totals[allocator] += size
    return totals


def _input(plan: ExecutionPlan, index: int) -> Any:
    value = plan.values[index].val
    if isinstance(value, Tensor) and value.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
        raise ValueError(f"{plan.name}: an input has unbounded sizes: pass inputs")
    if not isinstance(value, (Tensor, Null, Int, Bool, Double, String)):
        raise ValueError(f"{plan.name}: an input is a {type(value).__name__}: pass inputs")
    return largest_input(value)
