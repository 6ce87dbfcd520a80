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
    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Location of a constant's bytes: a segment of the file, or an external file, where the name identifies them."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
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
        return self.memory_offset_low | (self.memory_offset_high << 32)


@dataclass(slots=True)
class ExtraTensorInfo:
    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(slots=True)
class Null:
    pass


@dataclass(slots=True)
class Int:
    int_val: int


@dataclass(slots=True)
class Bool:
    bool_val: bool


@dataclass(slots=True)
class Double:
    double_val: float


@dataclass(slots=True)
class Tensor:
    """data_buffer_idx 0 = no bytes in the file; allocation_info None = memory comes from elsewhere (see formats)."""

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
    string_val: str


@dataclass(slots=True)
class IntList:
    """`items` are indices of Int values, so that a list can contain dynamic sizes."""

    items: list[int]


@dataclass(slots=True)
class DoubleList:
    items: list[float]


@dataclass(slots=True)
class BoolList:
    items: list[bool]


@dataclass(slots=True)
class TensorList:
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
    val: KernelTypes


@dataclass(slots=True)
class Operator:
    name: str
    overload: str


@dataclass(slots=True)
class KernelCall:
    op_index: int
    args: list[int]


@dataclass(slots=True)
class DelegateCall:
    delegate_index: int
    args: list[int]


@dataclass(slots=True)
class MoveCall:
    move_from: int
    move_to: int


@dataclass(slots=True)
class JumpFalseCall:
    cond_value_index: int
    destination_instruction: int


@dataclass(slots=True)
class FreeCall:
    value_index: int


InstructionArguments: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass(slots=True)
class Instruction:
    instr_args: InstructionArguments


@dataclass(slots=True)
class Frame:
    filename: str
    lineno: int
    name: str
    context: str


@dataclass(slots=True)
class FrameList:
    items: list[Frame]


@dataclass(slots=True)
class CompileSpec:
    """A key and bytes that a backend receives when it compiles and when it loads."""

    key: str
    value: bytes


@dataclass(slots=True)
class BackendDelegateDataReference:
    location: DataLocation
    index: int


@dataclass(slots=True)
class BackendDelegate:
    id: str
    processed: BackendDelegateDataReference
    compile_specs: list[CompileSpec]


@dataclass(slots=True)
class Chain:
    inputs: list[int]
    outputs: list[int]
    instructions: list[Instruction]
    stacktrace: list[FrameList] | None = None


@dataclass(slots=True)
class ContainerMetadata:
    encoded_inp_str: str
    encoded_out_str: str


@dataclass(slots=True)
class NonConstBufferDevice:
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
    storage: BytesLike


@dataclass(slots=True)
class BackendDelegateInlineData:
    data: BytesLike


@dataclass(slots=True)
class DataSegment:
    """`offset` counts from the first segment."""

    offset: int
    size: int


@dataclass(slots=True)
class SubsegmentOffsets:
    segment_index: int
    offsets: list[int]


@dataclass(slots=True)
class NamedData:
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
