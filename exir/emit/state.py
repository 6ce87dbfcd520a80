# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""State of emission: the values, operators, delegates and instructions collected so far."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch.fx import Node

from executorch.exir.emit.constants import ConstantPool
from executorch.exir.emit.stack_trace import frames
from executorch.exir.format.named_data import NamedDataStore
from executorch.exir.schema import (
    BackendDelegate,
    BackendDelegateInlineData,
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    FrameList,
    Instruction,
    InstructionArguments,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    KernelTypes,
    Null,
    Operator,
    OptionalTensorList,
    String,
    TensorList,
)
from executorch.exir.tensor import TensorSpec


@dataclass(frozen=True)
class Ref:
    """Index of a value of the method."""

    id: int


@dataclass
class ProgramState:
    """State that the methods of a program share."""

    constants: ConstantPool = field(default_factory=ConstantPool)
    mutable_data: ConstantPool = field(default_factory=ConstantPool)
    external: NamedDataStore = field(default_factory=NamedDataStore)
    delegate_data: list[BackendDelegateInlineData] = field(default_factory=list)
    delegate_index: dict[bytes, int] = field(default_factory=dict)


@dataclass
class EmitOptions:
    """Optional parts of the program: stack traces of instructions, names of mutable buffers."""

    emit_stacktrace: bool = False
    emit_mutable_buffer_names: bool = False


def _key(value: KernelTypes) -> object:
    """Return the key of a constant. Floats are compared by their bits: 0.0 differs from -0.0, NaN equals itself."""
    if isinstance(value, Double):
        return struct.pack("<d", value.double_val)
    if isinstance(value, DoubleList):
        return struct.pack(f"<{len(value.items)}d", *value.items)
    if isinstance(value, (IntList, BoolList, TensorList, OptionalTensorList)):
        return tuple(value.items)
    if isinstance(value, Int):
        return value.int_val
    if isinstance(value, Bool):
        return value.bool_val
    if isinstance(value, String):
        return value.string_val
    if isinstance(value, Null):
        return None
    raise TypeError(f"a constant of type {type(value).__name__} has no key")


class MethodState:
    """The parts of one method while it is emitted: values, operators, delegates and instructions.

    concurrent: instructions may run at the same time, so that they share no value that reading changes.
    """

    def __init__(self, program: ProgramState, options: EmitOptions, concurrent: bool = False) -> None:
        self.program = program
        self.options = options
        self.concurrent = concurrent
        self.values: list[EValue] = []
        self.operators: list[Operator] = []
        self.delegates: list[BackendDelegate] = []
        self.instructions: list[Instruction] = []
        self.stack_traces: list[FrameList] = []
        self.debug_handles: dict[int, int | Sequence[int]] = {}
        self.delegate_maps: dict[int, dict[str, object]] = {}
        self.output_counts: dict[int, int] = {}
        self.spec_values: dict[TensorSpec, Ref] = {}
        self.task_ends: list[int] = []
        """For each task (see `emit.order`), the index after its last instruction."""
        self._constants: dict[tuple[type, object], Ref] = {}
        self._operator_index: dict[tuple[str, str], int] = {}

    def fresh(self, value: KernelTypes) -> Ref:
        """Append a new value, which instructions may write. Return its index."""
        self.values.append(EValue(value))
        return Ref(len(self.values) - 1)

    def constant(self, value: KernelTypes) -> Ref:
        """Return the value of a constant; equal constants share one.

        With concurrent execution, lists of values are not shared, because reading a list writes its memory.
        """
        if self.concurrent and isinstance(value, (IntList, TensorList, OptionalTensorList)):
            return self.fresh(value)
        key = (type(value), _key(value))
        if key not in self._constants:
            self._constants[key] = self.fresh(value)
        return self._constants[key]

    def end_task(self) -> None:
        """End a task: the instructions emitted since the last call."""
        if self.next_instruction > (self.task_ends[-1] if self.task_ends else 0):
            self.task_ends.append(self.next_instruction)

    @property
    def next_instruction(self) -> int:
        """Index that the next instruction gets."""
        return len(self.instructions)

    def add(self, call: InstructionArguments, node: Node) -> int:
        """Append an instruction of `node`. Return its index."""
        self.instructions.append(Instruction(call))
        if self.options.emit_stacktrace:
            self.stack_traces.append(frames(node))
        return len(self.instructions) - 1

    def call(self, name: str, overload: str, args: Sequence[Ref], node: Node) -> int:
        """Append a kernel call. args: the operator's arguments, then its returned values."""
        key = (name, overload)
        if key not in self._operator_index:
            self._operator_index[key] = len(self.operators)
            self.operators.append(Operator(name, overload))
        return self.add(KernelCall(self._operator_index[key], [ref.id for ref in args]), node)

    def jump_if_false(self, condition: Ref, node: Node, to: int = 0) -> JumpFalseCall:
        """Append a conditional jump. Its destination may be set later."""
        jump = JumpFalseCall(condition.id, to)
        self.add(jump, node)
        return jump

    def jump(self, node: Node, to: int = 0) -> JumpFalseCall:
        """Append an unconditional jump."""
        return self.jump_if_false(self.constant(Bool(False)), node, to)
