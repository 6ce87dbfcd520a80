# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lower a model again as a given program was lowered, to map the program's instructions to operators."""

from __future__ import annotations

from collections.abc import Sequence

from torch.export import ExportedProgram

from executorch.devtools.backend_tools import debug_tools
from executorch.devtools.checked_program import checked_program
from executorch.exir import ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.schema import BytesLike, ExecutionPlan


def lower_as(
    program: BytesLike, exported: ExportedProgram, method: str, partitioners: Sequence[Partitioner] | None = None
) -> ExecutorchProgramManager:
    """Lower with `partitioners`, by default those of the backends that the program's method calls; keep an ETRecord.

    Raises ValueError if the method does not exist or calls a backend whose partitioner is unknown.
    """
    plan = plan_of(checked_program(program).program.execution_plan, method)
    if partitioners is None:
        partitioners = [_partitioner_of(name) for name in dict.fromkeys(delegate.id for delegate in plan.delegates)]
    programs = {method: exported}
    if not partitioners:
        return to_edge(programs, generate_etrecord=True).to_executorch()
    edge = to_edge_transform_and_lower(programs, partitioner=list(partitioners), generate_etrecord=True)
    return edge.to_executorch()


def check_alike(lowered: ExecutorchProgramManager, program: BytesLike, method: str) -> None:
    """Raise ValueError if the instructions of the program's method differ from those of `lowered`."""
    names = [plan.name for plan in lowered.executorch_program.execution_plan]
    wanted = _kinds(plan_of(lowered.executorch_program.execution_plan, method if method in names else "forward"))
    kinds = _kinds(plan_of(checked_program(program).program.execution_plan, method))
    if wanted != kinds:
        raise ValueError(
            f"the program's method '{method}' was lowered differently: it has {len(kinds)} instructions, lowering the "
            f"model gives {len(wanted)} or other kinds; pass how it was lowered (lower=…, or --partitioner)"
        )


def plan_of(plans: Sequence[ExecutionPlan], method: str) -> ExecutionPlan:
    """Return the plan of a method. Raises ValueError that names the existing methods."""
    plan = next((plan for plan in plans if plan.name == method), None)
    if plan is None:
        raise ValueError(f"the program has no method '{method}': expected one of {[plan.name for plan in plans]}")
    return plan


def _kinds(plan: ExecutionPlan) -> list[str]:
    return [type(instruction.instr_args).__name__ for instruction in plan.chains[0].instructions]


def _partitioner_of(backend: str) -> Partitioner:
    default_partitioner = debug_tools(backend).default_partitioner
    if default_partitioner is None:
        raise ValueError(f"the program calls '{backend}', whose partitioner is unknown: pass lower=… or --partitioner")
    return default_partitioner()
