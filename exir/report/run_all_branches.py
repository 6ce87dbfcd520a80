# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rewrite a program so that each `cond` runs both branches, and each `while_loop` its body once, for any data.

A run of it measures resources of all branches. Its results are meaningless.
"""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir.schema import ExecutionPlan, Instruction, JumpFalseCall, KernelCall
from executorch.exir.serialize.deserialize import deserialize_pte
from executorch.exir.serialize.serialize import serialize_pte

__all__ = ["run_all_branches"]


def run_all_branches(file: bytes, method: str) -> bytes:
    """Return the program with the data-dependent jumps of a method redirected to the next instruction.

    Loops over slices keep their jumps: later instructions need all slices of their results.
    """
    pte = deserialize_pte(file)
    for plan in pte.program.execution_plan:
        if plan.name == method:
            for chain in plan.chains:
                _fall_through(plan, chain.instructions)
    return bytes(serialize_pte(pte))


def _fall_through(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> None:
    # Find all jumps before changing one: their destinations identify them.
    for position in [at for start in range(len(instructions)) for at in _jumps_on_data(plan, instructions, start)]:
        jump = instructions[position].instr_args
        assert isinstance(jump, JumpFalseCall)
        jump.destination_instruction = position + 1


def _jumps_on_data(plan: ExecutionPlan, instructions: Sequence[Instruction], start: int) -> tuple[int, ...]:
    """Return the positions of the two jumps of a `cond` or `while_loop` whose first jump is at `start`, else ().

    A `cond` jumps to its second branch, and at the end of the first branch over the second one. A `while_loop` jumps
    out of the loop, and at the end of the body back.
    """
    jump = instructions[start].instr_args
    if not isinstance(jump, JumpFalseCall) or jump.destination_instruction <= start + 1:
        return ()
    last = jump.destination_instruction - 1
    second = instructions[last].instr_args
    if not isinstance(second, JumpFalseCall):
        return ()
    is_loop = second.destination_instruction <= start
    return () if is_loop and _counts(plan, instructions[last - 1]) else (start, last)


def _counts(plan: ExecutionPlan, instruction: Instruction) -> bool:
    """Return whether an instruction ends a loop over slices: index = index + 1, in place."""
    call = instruction.instr_args
    if not isinstance(call, KernelCall):
        return False
    return plan.operators[call.op_index].name == "executorch_prim::add" and call.args[0] == call.args[-1]
