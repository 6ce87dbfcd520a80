# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graph of a method's instructions, read only from the file. Edges follow planned memory, so that views and in-place
values are connected to the calls that wrote their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from executorch.devtools.checked_program import arguments_of
from executorch.exir.scalar_type import to_dtype
from executorch.exir.schema import (
    DelegateCall,
    ExecutionPlan,
    InstructionArguments,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)

CallKind = Literal["input", "kernel", "delegate", "control flow", "output"]


@dataclass
class Call:
    """A node of the graph: an instruction, an input ("input 0") or the end ("output").

    reads: keys of the calls whose values it reads. label: operator without namespace and overload, or backend. value:
    dtype and sizes of the result.
    """

    key: str
    kind: CallKind
    label: str
    value: str
    instruction: int | None = None
    reads: list[str] = field(default_factory=list)


def calls_of(plan: ExecutionPlan) -> list[Call]:
    """Return the method's inputs, instructions and outputs in order."""
    return _Follower(plan).calls()


def describe(tensor: Tensor) -> str:
    """Format a tensor's type, such as `float32[1, 64, 56, 56]`."""
    return f"{str(to_dtype(tensor.scalar_type)).removeprefix('torch.')}{list(tensor.sizes)}"


def tensors_of(plan: ExecutionPlan, values: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
    """(index, tensor) of the tensors among values, including those in tensor lists."""
    for index in values:
        value = plan.values[index].val if 0 <= index < len(plan.values) else None
        if isinstance(value, Tensor):
            yield index, value
        elif isinstance(value, (TensorList, OptionalTensorList)):
            yield from tensors_of(plan, value.items)


class _Follower:
    def __init__(self, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._by_value: dict[int, str] = {}
        # Planned bytes → last writer; the most recent writer is the last item.
        self._by_place: dict[tuple[int, int, int], str] = {}

    def calls(self) -> list[Call]:
        plan = self._plan
        calls = []
        for number, index in enumerate(plan.inputs):
            tensors = [tensor for _, tensor in tensors_of(plan, [index])]
            call = Call(f"input {number}", "input", f"input {number}", ", ".join(map(describe, tensors)))
            self._write([index], call)
            calls.append(call)
        for number, instruction in enumerate(plan.chains[0].instructions if plan.chains else []):
            calls.append(self._call(number, instruction.instr_args))
        end = Call("output", "output", "output", "")
        end.reads = self._sources(plan.outputs)
        return [*calls, end]

    def _call(self, number: int, instruction: InstructionArguments) -> Call:
        plan = self._plan
        kind: CallKind = "control flow"
        label = type(instruction).__name__.removesuffix("Call").lower()
        if isinstance(instruction, KernelCall):
            kind, label = "kernel", plan.operators[instruction.op_index].name.split("::")[-1]
        elif isinstance(instruction, DelegateCall):
            kind, label = "delegate", plan.delegates[instruction.delegate_index].id
        call = Call(f"call {number}", kind, label, "", number)
        arguments = arguments_of(instruction)
        written = self._written(instruction, arguments)
        call.reads = self._sources([argument for argument in arguments if argument not in written])
        call.value = ", ".join(dict.fromkeys(describe(tensor) for _, tensor in tensors_of(plan, written)))
        self._write(written, call)
        return call

    def _written(self, instruction: InstructionArguments, arguments: Sequence[int]) -> list[int]:
        """Outputs of a call: the last argument of a kernel; for a delegate, the arguments that no call wrote before."""
        if isinstance(instruction, KernelCall):
            last = list(arguments[-1:])
            return [*last, *(index for index, _ in tensors_of(self._plan, last))]
        if isinstance(instruction, MoveCall):
            return [instruction.move_to]
        if isinstance(instruction, DelegateCall):
            outputs: list[int] = []
            for index in reversed(arguments):
                if index in self._by_value or self._is_constant(index):
                    break
                outputs.append(index)
            return outputs
        return []

    def _is_constant(self, index: int) -> bool:
        value = self._plan.values[index].val
        return isinstance(value, Tensor) and value.data_buffer_idx != 0

    def _write(self, values: Sequence[int], call: Call) -> None:
        for index in values:
            self._by_value[index] = call.key
        for _, tensor in tensors_of(self._plan, values):
            place = _place(tensor)
            if place is not None:
                self._by_place.pop(place, None)
                self._by_place[place] = call.key

    def _sources(self, values: Sequence[int]) -> list[str]:
        sources: dict[str, None] = {}
        for index in values:
            for place, tensor in tensors_of(self._plan, [index]):
                source = self._source(place, tensor)
                if source is not None:
                    sources[source] = None
            if index in self._by_value and not isinstance(self._plan.values[index].val, Tensor):
                sources[self._by_value[index]] = None
        return list(sources)

    def _source(self, index: int, tensor: Tensor) -> str | None:
        place = _place(tensor)
        if place is None:
            return self._by_value.get(index)
        arena, begin, end = place
        return next(
            (
                key
                for (other, first, last), key in reversed(self._by_place.items())
                if other == arena and first < end and begin < last
            ),
            self._by_value.get(index),
        )


def _place(tensor: Tensor) -> tuple[int, int, int] | None:
    """(arena, first byte, end byte) of a tensor; None if it is not planned."""
    details = tensor.allocation_info
    if details is None:
        return None
    nbytes = prod(tensor.sizes) * to_dtype(tensor.scalar_type).itemsize
    return (details.memory_id, details.memory_offset, details.memory_offset + max(1, nbytes))
