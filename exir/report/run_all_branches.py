# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program whose `cond`s run both of their branches, one after the other, and whose `while_loop`s run their body once,
whatever the data: to measure what any of it takes. Its results mean nothing."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir.schema import ExecutionPlan, Instruction, JumpFalseCall, KernelCall
from executorch.exir.serialize.deserialize import deserialize_pte
from executorch.exir.serialize.serialize import serialize_pte

__all__ = ["run_all_branches"]


def run_all_branches(file: bytes, method: str) -> bytes:
    """The same program in which that method's jumps over branches, and those by which data end or repeat a loop, lead
    to the next instruction. Loops over slices stay: what follows needs all that they collect."""
    pte = deserialize_pte(file)
    for plan in pte.program.execution_plan:
        if plan.name == method:
            for chain in plan.chains:
                _fall_through(plan, chain.instructions)
    return bytes(serialize_pte(pte))


def _fall_through(plan: ExecutionPlan, instructions: Sequence[Instruction]) -> None:
    # Of all before any is changed: they are told apart by where they lead.
    for position in [at for start in range(len(instructions)) for at in _jumps_on_data(plan, instructions, start)]:
        jump = instructions[position].instr_args
        assert isinstance(jump, JumpFalseCall)
        jump.destination_instruction = position + 1


def _jumps_on_data(plan: ExecutionPlan, instructions: Sequence[Instruction], start: int) -> tuple[int, ...]:
    """If the instruction is the jump that chooses a branch: it, and the one from the first branch's end over the other.
    If it is the one that ends a `while_loop`: it, and the one back."""
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
    """Whether it is the last of a loop over slices: index = index + 1, in place."""
    call = instruction.instr_args
    if not isinstance(call, KernelCall):
        return False
    return plan.operators[call.op_index].name == "executorch_prim::add" and call.args[0] == call.args[-1]
