# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program whose `cond`s run both of their branches, one after the other, whatever the data: to measure what either
takes. Its results mean nothing."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir.schema import Instruction, JumpFalseCall
from executorch.exir.serialize.deserialize import deserialize_pte
from executorch.exir.serialize.serialize import serialize_pte

__all__ = ["with_every_branch"]


def with_every_branch(file: bytes, method: str) -> bytes:
    """The same program in which that method's jumps over branches lead to the next instruction; loops stay."""
    pte = deserialize_pte(file)
    for plan in pte.program.execution_plan:
        if plan.name == method:
            for chain in plan.chains:
                _fall_through(chain.instructions)
    return bytes(serialize_pte(pte))


def _fall_through(instructions: Sequence[Instruction]) -> None:
    # Of all before any is changed: they are told apart by where they lead.
    for position in [at for start in range(len(instructions)) for at in _jumps_of_cond(instructions, start)]:
        jump = instructions[position].instr_args
        assert isinstance(jump, JumpFalseCall)
        jump.destination_instruction = position + 1


def _jumps_of_cond(instructions: Sequence[Instruction], start: int) -> tuple[int, ...]:
    """If the instruction is the jump that chooses a branch: it, and the one from the first branch's end over the other.
    In a loop's place the second leads back."""
    jump = instructions[start].instr_args
    if not isinstance(jump, JumpFalseCall) or jump.destination_instruction <= start + 1:
        return ()
    last = jump.destination_instruction - 1
    over = instructions[last].instr_args
    return (start, last) if isinstance(over, JumpFalseCall) and over.destination_instruction > last else ()
