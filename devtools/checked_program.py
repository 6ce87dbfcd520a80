# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Deserialize a `.pte` file and check that every index in it refers to an existing item."""

from __future__ import annotations

from collections.abc import Iterable

from executorch.exir.schema import (
    BytesLike,
    DelegateCall,
    ExecutionPlan,
    InstructionArguments,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Program,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from executorch.exir.serialize import MalformedProgramError, deserialize_pte
from executorch.exir.serialize.pte_file import PteFile

# (kind of item, indices of such items).
_References = tuple[str, Iterable[int]]


def checked_program(data: BytesLike) -> PteFile:
    """Return the program of a `.pte` file's bytes. Raises MalformedProgramError naming the bad index and its
    location.
    """
    file = deserialize_pte(data)
    for plan in file.program.execution_plan:
        _check_plan(file.program, plan)
    return file


def arguments_of(call: InstructionArguments) -> list[int]:
    """Indices of the values that an instruction reads or writes."""
    if isinstance(call, (KernelCall, DelegateCall)):
        return list(call.args)
    if isinstance(call, MoveCall):
        return [call.move_from, call.move_to]
    return [call.cond_value_index] if isinstance(call, JumpFalseCall) else [call.value_index]


def _check_plan(program: Program, plan: ExecutionPlan) -> None:
    where = f"method '{plan.name}'"
    if not plan.chains:
        raise MalformedProgramError(f"{where}: expected a chain of instructions; found none")
    counts = {
        "value": len(plan.values),
        "operator": len(plan.operators),
        "delegate": len(plan.delegates),
        "buffer of constants": len(program.constant_buffer),
        "payload": len(program.backend_delegate_data),
    }
    _check(f"{where}: inputs and outputs", counts, [("value", [*plan.inputs, *plan.outputs])])
    for number, value in enumerate(plan.values):
        content = value.val
        if isinstance(content, Tensor):
            if _is_of_file(content):
                _check(f"{where}, value {number}", counts, [("buffer of constants", [content.data_buffer_idx])])
        elif isinstance(content, (IntList, TensorList)):
            _check(f"{where}, value {number}", counts, [("value", content.items)])
        elif isinstance(content, OptionalTensorList):
            _check(f"{where}, value {number}", counts, [("value", (item for item in content.items if item != -1))])
    for number, delegate in enumerate(plan.delegates):
        _check(f"{where}, delegate {number}", counts, [("payload", [delegate.processed.index])])
    for chain in plan.chains:
        for number, instruction in enumerate(chain.instructions):
            _check(f"{where}, instruction {number}", counts, _references_of(instruction.instr_args))


def _is_of_file(tensor: Tensor) -> bool:
    """Return whether a tensor's data is a constant of the program. Buffer index 0 means no constant."""
    extra = tensor.extra_tensor_info
    is_elsewhere = extra is not None and (
        extra.location != TensorDataLocation.SEGMENT or extra.mutable_data_segments_idx
    )
    return bool(tensor.data_buffer_idx) and not is_elsewhere


def _references_of(call: InstructionArguments) -> list[_References]:
    references: list[_References] = [("value", arguments_of(call))]
    if isinstance(call, KernelCall):
        references.append(("operator", [call.op_index]))
    elif isinstance(call, DelegateCall):
        references.append(("delegate", [call.delegate_index]))
    return references


def _check(where: str, counts: dict[str, int], references: Iterable[_References]) -> None:
    for kind, numbers in references:
        for number in numbers:
            if not 0 <= number < counts[kind]:
                raise MalformedProgramError(f"{where}: expected a {kind} below {counts[kind]}; found {number}")
