# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data model and file layout of an execution trace (identifier ED00)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from executorch.exir.schema import Bool, Double, Int, ScalarType
from executorch.exir.serialize import tables as t

ETDUMP_VERSION = 0


class ValueType(IntEnum):
    """Kind of a recorded value. The numbers are wire facts."""

    NULL = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    DOUBLE = 4
    TENSOR = 5
    TENSOR_LIST = 6
    STRING = 7


@dataclass
class Tensor:
    """A recorded tensor. offset: of its first byte in the debug buffer. strides: in elements."""

    scalar_type: ScalarType
    sizes: list[int]
    strides: list[int]
    offset: int | None = None


@dataclass
class TensorList:
    """A recorded list of tensors."""

    tensors: list[Tensor]


@dataclass
class Float:
    """A float of 32 bits."""

    float_val: float


@dataclass
class Value:
    """A recorded value. Only the field that `val` names is set. output: present and true for outputs of a method."""

    val: ValueType
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    output: Bool | None = None


@dataclass
class DebugEvent:
    """A value computed by an instruction or by an operator inside a delegate."""

    name: str | None = None
    chain_index: int = 0
    instruction_id: int = -1
    delegate_debug_id_int: int = -1
    delegate_debug_id_str: str | None = None
    debug_entry: Value | None = None


@dataclass
class AllocationEvent:
    """A request of `allocation_size` bytes. allocator_id: index in RunData.allocators, from 1."""

    allocator_id: int
    allocation_size: int


@dataclass
class ProfileEvent:
    """A timed event, in ticks of the clock of its producer (runtime or delegate)."""

    name: str | None = None
    chain_index: int = 0
    instruction_id: int = -1
    delegate_debug_id_int: int = -1
    delegate_debug_id_str: str | None = None
    delegate_debug_metadata: bytes | None = None
    start_time: int = 0
    end_time: int = 0


@dataclass
class Event:
    """An event; exactly one field is set."""

    profile_event: ProfileEvent | None = None
    allocation_event: AllocationEvent | None = None
    debug_event: DebugEvent | None = None


@dataclass
class Allocator:
    """An allocator whose requests are recorded."""

    name: str


@dataclass
class RunData:
    """A block of events between two calls of `create_event_block`. bundled_input_index: of the test case, or -1."""

    name: str
    bundled_input_index: int = -1
    allocators: list[Allocator] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@dataclass
class ETDumpFlatCC:
    """The file."""

    version: int = ETDUMP_VERSION
    run_data: list[RunData] = field(default_factory=list)


_ID = t.Scalar("int", "i", -1)
_TEXT = t.String()

ETDUMP = t.Format(
    b"ED00",
    {
        ETDumpFlatCC: (t.Field("version", t.U32), t.Field("run_data", t.TableVector(RunData))),
        RunData: (
            t.Field("name", _TEXT),
            t.Field("bundled_input_index", _ID),
            t.Field("allocators", t.TableVector(Allocator)),
            t.Field("events", t.TableVector(Event)),
        ),
        Allocator: (t.Field("name", _TEXT),),
        Event: (
            t.Field("profile_event", t.Table(ProfileEvent), optional=True),
            t.Field("allocation_event", t.Table(AllocationEvent), optional=True),
            t.Field("debug_event", t.Table(DebugEvent), optional=True),
        ),
        ProfileEvent: (
            t.Field("name", _TEXT, optional=True),
            t.Field("chain_index", t.I32),
            t.Field("instruction_id", _ID),
            t.Field("delegate_debug_id_int", _ID),
            t.Field("delegate_debug_id_str", _TEXT, optional=True),
            t.Field("delegate_debug_metadata", t.Bytes(), optional=True),
            t.Field("start_time", t.U64),
            t.Field("end_time", t.U64),
        ),
        AllocationEvent: (t.Field("allocator_id", t.I32), t.Field("allocation_size", t.U64)),
        DebugEvent: (
            t.Field("chain_index", t.U64),
            t.Field("instruction_id", _ID),
            t.Field("debug_entry", t.Table(Value), optional=True),
            t.Field("delegate_debug_id_int", _ID),
            t.Field("delegate_debug_id_str", _TEXT, optional=True),
            t.Field("name", _TEXT, optional=True),
        ),
        Value: (
            t.Field("val", t.Enum(ValueType)),
            t.Field("tensor", t.Table(Tensor), optional=True),
            t.Field("tensor_list", t.Table(TensorList), optional=True),
            t.Field("int_value", t.Table(Int), optional=True),
            t.Field("float_value", t.Table(Float), optional=True),
            t.Field("double_value", t.Table(Double), optional=True),
            t.Field("bool_value", t.Table(Bool), optional=True),
            t.Field("output", t.Table(Bool), optional=True),
        ),
        Tensor: (
            t.Field("scalar_type", t.Enum(ScalarType)),
            t.Field("sizes", t.Vector(t.I64, t.MAX_RANK)),
            t.Field("strides", t.Vector(t.I64, t.MAX_RANK)),
            t.Field("offset", t.I64),
        ),
        TensorList: (t.Field("tensors", t.TableVector(Tensor)),),
        Int: (t.Field("int_val", t.I64),),
        Bool: (t.Field("bool_val", t.BOOL),),
        Float: (t.Field("float_val", t.F32),),
        Double: (t.Field("double_val", t.F64),),
    },
)
