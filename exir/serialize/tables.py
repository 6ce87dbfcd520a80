# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The flatbuffer tables of the classes of `exir/schema.py`: one row for each field, in slot order.

Writer and reader use this description, and a test compares it with `runtime/schema/program.fbs`.
A field's slot is its position in its row list; a union takes two slots, its type first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import executorch.exir.schema as s

MAX_RANK = 16
"""kTensorDimensionLimit of the runtime. The product of a million sizes would take minutes."""


@dataclass(frozen=True)
class Scalar:
    """A number stored in the table itself; `fbs` is its type's name in the schema file, `code` its struct code."""

    fbs: str
    code: str
    default: int | float | bool = 0


@dataclass(frozen=True)
class Enum:
    """A byte whose value must be a member of `type`."""

    type: type[IntEnum]


@dataclass(frozen=True)
class String:
    """A string in UTF-8."""


@dataclass(frozen=True)
class Bytes:
    """[ubyte]; `align` is the smallest alignment of its first byte."""

    align: int = 1


@dataclass(frozen=True)
class Vector:
    """A vector of scalars; `most` is the largest number of items that a reader accepts."""

    item: Scalar
    most: int | None = None


@dataclass(frozen=True)
class Table:
    """A nested table, encoded as `Format.tables` says for `type`."""

    type: type


@dataclass(frozen=True)
class TableVector:
    """A vector of tables of one type."""

    type: type


@dataclass(frozen=True)
class Union:
    """One of `types`; tag 0 means absent, so the first type has tag 1."""

    name: str
    types: tuple[type, ...]


Kind = Scalar | Enum | String | Bytes | Vector | Table | TableVector | Union


@dataclass(frozen=True)
class Field:
    """A field of a table.

    `optional`: the value may be None, which is written as absent and read back as None.
    """

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True, eq=False)
class Format:
    """A kind of file: the identifier at its byte 4, and its tables, each one's fields in slot order."""

    identifier: bytes
    tables: Mapping[type, tuple[Field, ...]]

    def slots(self, table: type) -> list[tuple[int, Field]]:
        """The fields of a table with the slot each starts at."""
        numbered, slot = [], 0
        for field in self.tables[table]:
            numbered.append((slot, field))
            slot += 2 if isinstance(field.kind, Union) else 1
        return numbered

    def slot_count(self, table: type) -> int:
        """Return the number of slots in the table's vtable; a union takes two, tag and value."""
        return sum(2 if isinstance(field.kind, Union) else 1 for field in self.tables[table])


BOOL = Scalar("bool", "?", False)
I8 = Scalar("byte", "b")
U8 = Scalar("ubyte", "B")
I16 = Scalar("short", "h")
U16 = Scalar("ushort", "H")
I32 = Scalar("int", "i")
U32 = Scalar("uint", "I")
I64 = Scalar("long", "q")
U64 = Scalar("uint64", "Q")
F32 = Scalar("float", "f", 0.0)
F64 = Scalar("double", "d", 0.0)

INLINE_DATA_ALIGNMENT = 16

_KERNEL_TYPES = (
    s.Null,
    s.Int,
    s.Bool,
    s.Double,
    s.Tensor,
    s.String,
    s.IntList,
    s.DoubleList,
    s.BoolList,
    s.TensorList,
    s.OptionalTensorList,
)
_INSTRUCTIONS = (s.KernelCall, s.DelegateCall, s.MoveCall, s.JumpFalseCall, s.FreeCall)

_PROGRAM_TABLES: dict[type, tuple[Field, ...]] = {
    s.Program: (
        Field("version", U32),
        Field("execution_plan", TableVector(s.ExecutionPlan)),
        Field("constant_buffer", TableVector(s.Buffer)),
        Field("backend_delegate_data", TableVector(s.BackendDelegateInlineData)),
        Field("segments", TableVector(s.DataSegment)),
        Field("constant_segment", Table(s.SubsegmentOffsets)),
        Field("mutable_data_segments", TableVector(s.SubsegmentOffsets), optional=True),
        Field("named_data", TableVector(s.NamedData), optional=True),
    ),
    s.ExecutionPlan: (
        Field("name", String()),
        Field("container_meta_type", Table(s.ContainerMetadata)),
        Field("values", TableVector(s.EValue)),
        Field("inputs", Vector(I32)),
        Field("outputs", Vector(I32)),
        Field("chains", TableVector(s.Chain)),
        Field("operators", TableVector(s.Operator)),
        Field("delegates", TableVector(s.BackendDelegate)),
        Field("non_const_buffer_sizes", Vector(I64)),
        Field("non_const_buffer_device", TableVector(s.NonConstBufferDevice), optional=True),
    ),
    s.NonConstBufferDevice: (
        Field("buffer_idx", I32),
        Field("device_type", Enum(s.DeviceType)),
        Field("device_index", I8),
    ),
    s.ContainerMetadata: (Field("encoded_inp_str", String()), Field("encoded_out_str", String())),
    s.Chain: (
        Field("inputs", Vector(I32)),
        Field("outputs", Vector(I32)),
        Field("instructions", TableVector(s.Instruction)),
        Field("stacktrace", TableVector(s.FrameList), optional=True),
    ),
    s.FrameList: (Field("items", TableVector(s.Frame)),),
    s.Frame: (
        Field("filename", String()),
        Field("lineno", I32),
        Field("name", String()),
        Field("context", String()),
    ),
    s.Instruction: (Field("instr_args", Union("InstructionArguments", _INSTRUCTIONS)),),
    s.KernelCall: (Field("op_index", I32), Field("args", Vector(I32))),
    s.DelegateCall: (Field("delegate_index", I32), Field("args", Vector(I32))),
    s.MoveCall: (Field("move_from", I32), Field("move_to", I32)),
    s.JumpFalseCall: (Field("cond_value_index", I32), Field("destination_instruction", I32)),
    s.FreeCall: (Field("value_index", I32),),
    s.Operator: (Field("name", String()), Field("overload", String())),
    s.EValue: (Field("val", Union("KernelTypes", _KERNEL_TYPES)),),
    s.Null: (),
    s.Int: (Field("int_val", I64),),
    s.Bool: (Field("bool_val", BOOL),),
    s.Double: (Field("double_val", F64),),
    s.String: (Field("string_val", String()),),
    s.IntList: (Field("items", Vector(I64)),),
    s.DoubleList: (Field("items", Vector(F64)),),
    s.BoolList: (Field("items", Vector(BOOL)),),
    s.TensorList: (Field("items", Vector(I32)),),
    s.OptionalTensorList: (Field("items", Vector(I32)),),
    s.Tensor: (
        Field("scalar_type", Enum(s.ScalarType)),
        Field("storage_offset", I32),
        Field("sizes", Vector(I32, MAX_RANK)),
        Field("dim_order", Vector(U8, MAX_RANK)),
        Field("requires_grad", BOOL),
        Field("data_buffer_idx", U32),
        Field("allocation_info", Table(s.AllocationDetails), optional=True),
        Field("layout", I8),
        Field("shape_dynamism", Enum(s.TensorShapeDynamism)),
        Field("extra_tensor_info", Table(s.ExtraTensorInfo), optional=True),
    ),
    s.AllocationDetails: (
        Field("memory_id", U32),
        Field("memory_offset_low", U32),
        Field("memory_offset_high", U32),
    ),
    s.ExtraTensorInfo: (
        Field("mutable_data_segments_idx", U64),
        Field("fully_qualified_name", String(), optional=True),
        Field("location", Enum(s.TensorDataLocation)),
        Field("device_type", Enum(s.DeviceType)),
        Field("device_index", I8),
    ),
    s.Buffer: (Field("storage", Bytes(INLINE_DATA_ALIGNMENT)),),
    s.BackendDelegateInlineData: (Field("data", Bytes(INLINE_DATA_ALIGNMENT)),),
    s.BackendDelegate: (
        Field("id", String()),
        Field("processed", Table(s.BackendDelegateDataReference)),
        Field("compile_specs", TableVector(s.CompileSpec)),
    ),
    s.BackendDelegateDataReference: (Field("location", Enum(s.DataLocation)), Field("index", U32)),
    s.CompileSpec: (Field("key", String()), Field("value", Bytes())),
    s.DataSegment: (Field("offset", U64), Field("size", U64)),
    s.SubsegmentOffsets: (Field("segment_index", U32), Field("offsets", Vector(U64))),
    s.NamedData: (Field("key", String()), Field("segment_index", U32)),
}

PROGRAM = Format(b"ET12", _PROGRAM_TABLES)
