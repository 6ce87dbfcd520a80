# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Python classes of a program, between emission and serialization.

Each class is a table of `runtime/schema/program.fbs` with its fields in the same order; `exir/serialize/tables.py`
defines their encoding. Unless a docstring says otherwise, an index (`..._index`, or in `args` and `items`) refers to
the `values` of the execution plan.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from executorch.exir.scalar_type import ScalarType as ScalarType

BytesLike: TypeAlias = bytes | bytearray | memoryview


class TensorShapeDynamism(IntEnum):
    """Changes of a tensor's sizes at run time; the file has the upper bounds of bounded ones."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Location of a constant's bytes: a segment of the file, or an external file, where the name identifies them."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    """The device of a tensor's memory."""

    CPU = 0
    CUDA = 1


class DataLocation(IntEnum):
    """Location of a delegate's payload: Program.backend_delegate_data, or Program.segments."""

    INLINE = 0
    SEGMENT = 1


@dataclass(slots=True)
class AllocationDetails:
    """A place in planned memory: arena `memory_id` (1 and up) and a byte offset split in two 32-bit halves."""

    memory_id: int
    memory_offset_low: int
    memory_offset_high: int

    @property
    def memory_offset(self) -> int:
        """Offset in the arena, in bytes."""
        return self.memory_offset_low | (self.memory_offset_high << 32)


@dataclass(slots=True)
class ExtraTensorInfo:
    """Parts of a tensor that few have: its initial data, its name, its device.

    mutable_data_segments_idx: index in Program.mutable_data_segments, 0 without initial data. fully_qualified_name: of
    the module's parameter or buffer; it identifies data outside of the file.
    """

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(slots=True)
class Null:
    """The value None."""


@dataclass(slots=True)
class Int:
    """An integer of 64 bits."""

    int_val: int


@dataclass(slots=True)
class Bool:
    """A boolean."""

    bool_val: bool


@dataclass(slots=True)
class Double:
    """A float of 64 bits."""

    double_val: float


@dataclass(slots=True)
class Tensor:
    """A tensor. data_buffer_idx: 0 without bytes in the file. allocation_info: None if its memory is not planned."""

    scalar_type: ScalarType
    storage_offset: int
    sizes: list[int]
    dim_order: list[int]
    requires_grad: bool
    layout: int
    data_buffer_idx: int
    allocation_info: AllocationDetails | None
    shape_dynamism: TensorShapeDynamism
    extra_tensor_info: ExtraTensorInfo | None = None


@dataclass(slots=True)
class String:
    """A string argument."""

    string_val: str


@dataclass(slots=True)
class IntList:
    """`items` are indices of Int values, so that a list can contain dynamic sizes."""

    items: list[int]


@dataclass(slots=True)
class DoubleList:
    """Floats of 64 bits; `items` are the numbers themselves."""

    items: list[float]


@dataclass(slots=True)
class BoolList:
    """Booleans; `items` are the values themselves."""

    items: list[bool]


@dataclass(slots=True)
class TensorList:
    """`items` are indices of Tensor values."""

    items: list[int]


@dataclass(slots=True)
class OptionalTensorList:
    """`items` are value indices; -1 means None."""

    items: list[int]


KernelTypes: TypeAlias = (
    Null | Int | Bool | Double | Tensor | String | IntList | DoubleList | BoolList | TensorList | OptionalTensorList
)


@dataclass(slots=True)
class EValue:
    """An entry of a plan's `values`."""

    val: KernelTypes


@dataclass(slots=True)
class Operator:
    """An operator by its name with namespace ("aten::add") and its overload ("out", or "")."""

    name: str
    overload: str


@dataclass(slots=True)
class KernelCall:
    """Call a kernel. op_index: in the plan's `operators`. args: in the order of the schema, outputs last."""

    op_index: int
    args: list[int]


@dataclass(slots=True)
class DelegateCall:
    """Execute a delegate. delegate_index: in the plan's `delegates`. args: its inputs, then its outputs."""

    delegate_index: int
    args: list[int]


@dataclass(slots=True)
class MoveCall:
    """Assign the value at index `move_from` to the value at index `move_to`."""

    move_from: int
    move_to: int


@dataclass(slots=True)
class JumpFalseCall:
    """Continue at the index `destination_instruction` of the chain if the condition is false."""

    cond_value_index: int
    destination_instruction: int


@dataclass(slots=True)
class FreeCall:
    """Free the memory of a tensor value."""

    value_index: int


InstructionArguments: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass(slots=True)
class Instruction:
    """An entry of a chain's `instructions`."""

    instr_args: InstructionArguments


@dataclass(slots=True)
class Frame:
    """A line of the model's source. lineno: from 1. name: of the function. context: text of the line."""

    filename: str
    lineno: int
    name: str
    context: str


@dataclass(slots=True)
class FrameList:
    """The stack trace of an instruction, outermost frame first."""

    items: list[Frame]


@dataclass(slots=True)
class CompileSpec:
    """A key and bytes that a backend receives when it compiles and when it loads."""

    key: str
    value: bytes


@dataclass(slots=True)
class BackendDelegateDataReference:
    """Reference to a delegate's payload: an index in the list that `location` names."""

    location: DataLocation
    index: int


@dataclass(slots=True)
class BackendDelegate:
    """A delegate. id: name under which its backend registers. processed: its payload."""

    id: str
    processed: BackendDelegateDataReference
    compile_specs: list[CompileSpec]


@dataclass(slots=True)
class Chain:
    """A list of instructions. stacktrace: None, or an entry for each instruction."""

    inputs: list[int]
    outputs: list[int]
    instructions: list[Instruction]
    stacktrace: list[FrameList] | None = None


@dataclass(slots=True)
class ContainerMetadata:
    """The pytree specs of a method's inputs and outputs, as torch writes them."""

    encoded_inp_str: str
    encoded_out_str: str


@dataclass(slots=True)
class NonConstBufferDevice:
    """The device of the arena `buffer_idx`."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(slots=True)
class ExecutionPlan:
    """One method. `non_const_buffer_sizes[i]` is the size in bytes of arena i; entry 0 is reserved."""

    name: str
    container_meta_type: ContainerMetadata
    values: list[EValue]
    inputs: list[int]
    outputs: list[int]
    chains: list[Chain]
    operators: list[Operator]
    delegates: list[BackendDelegate]
    non_const_buffer_sizes: list[int]
    non_const_buffer_device: list[NonConstBufferDevice] | None = None


@dataclass(slots=True)
class Buffer:
    """Bytes of a constant."""

    storage: BytesLike


@dataclass(slots=True)
class BackendDelegateInlineData:
    """Bytes of a delegate's payload."""

    data: BytesLike


@dataclass(slots=True)
class DataSegment:
    """`offset` counts from the first segment."""

    offset: int
    size: int


@dataclass(slots=True)
class SubsegmentOffsets:
    """Byte offsets of parts in the segment at `segment_index`."""

    segment_index: int
    offsets: list[int]


@dataclass(slots=True)
class NamedData:
    """A name for the segment at `segment_index`; several names may share a segment."""

    key: str
    segment_index: int


@dataclass(slots=True)
class Program:
    """The whole file. Entry 0 of `constant_buffer` is empty and means "not a constant".

    After emission, constants are in `constant_buffer` and delegate payloads in `backend_delegate_data`. The serializer
    moves both into segments, and `deserialize_pte` moves them back.
    """

    version: int
    execution_plan: list[ExecutionPlan]
    constant_buffer: list[Buffer]
    backend_delegate_data: list[BackendDelegateInlineData]
    segments: list[DataSegment] = field(default_factory=list)
    constant_segment: SubsegmentOffsets = field(default_factory=lambda: SubsegmentOffsets(0, []))
    mutable_data_segments: list[SubsegmentOffsets] | None = None
    named_data: list[NamedData] | None = None
