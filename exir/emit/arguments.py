# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert Python arguments of an operator to values by the types of its schema."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.format.tensor_format import LAYOUTS
from executorch.exir.scalar_type import to_scalar_type
from executorch.exir.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    Int,
    IntList,
    KernelTypes,
    Null,
    OptionalTensorList,
    String,
    TensorList,
)

MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}


def argument(state: MethodState, value: object, schema_type: torch.JitType | None = None) -> Ref:
    """Return the value of one argument. `schema_type`: its type in the schema, None without a schema.

    Raises ValueError for an argument that the format cannot represent.
    """
    kind = schema_type.kind() if schema_type is not None else ""
    if isinstance(value, Ref):
        # A single int for a list argument such as `int[1] dim`.
        return state.constant(IntList([value.id])) if _is_int_list(schema_type) else value
    if value is None:
        return state.constant(Null())
    if isinstance(schema_type, torch.OptionalType):
        return argument(state, value, schema_type.getElementType())
    if isinstance(schema_type, torch.ListType):
        return _list(state, value if isinstance(value, (list, tuple)) else [value], schema_type.getElementType())
    if isinstance(value, (list, tuple)):
        return _list(state, value, None)
    return state.constant(scalar(value, as_float=kind == "FloatType"))


def scalar(value: object, as_float: bool = False) -> KernelTypes:
    """Return the value of a Python scalar, dtype, layout or memory format. Raises ValueError for anything else."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        number = value.node.maybe_as_int() if isinstance(value, torch.SymInt) else value.node.constant
        if number is None:
            raise ValueError(f"{value} is only known at run time and no node computes it")
        value = number
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, float) or (as_float and isinstance(value, int)):
        return Double(float(value))
    if isinstance(value, int):
        return Int(value)
    if isinstance(value, str):
        return String(value)
    if isinstance(value, torch.dtype):
        return Int(int(to_scalar_type(value)))
    if isinstance(value, torch.layout) and value in LAYOUTS:
        return Int(LAYOUTS[value])
    if isinstance(value, torch.memory_format):
        return Int(MEMORY_FORMATS[value])
    if isinstance(value, torch.device) and value.type in ("cpu", "meta"):
        return Null()
    raise ValueError(f"the program format has no value for {value!r} of type {type(value).__name__}")


def _list(state: MethodState, items: Sequence[object], element_type: torch.JitType | None) -> Ref:
    kind = element_type.kind() if element_type is not None else _kind_of(items)
    if kind == "OptionalType":
        return state.constant(OptionalTensorList([-1 if item is None else _tensor(item).id for item in items]))
    if kind == "TensorType":
        return state.constant(TensorList([_tensor(item).id for item in items]))
    if kind == "FloatType":
        return state.constant(DoubleList([float(_number(item)) for item in items]))
    if kind == "BoolType":
        return state.constant(BoolList([bool(_number(item)) for item in items]))
    if kind in ("IntType", "SymIntType"):
        return state.constant(IntList([argument(state, item).id for item in items]))
    if kind == "NumberType":
        return _list(state, items, None)
    raise ValueError(f"the program format has no list of {element_type} for {items!r}")


def _is_int_list(kind: torch.JitType | None) -> bool:
    return isinstance(kind, torch.ListType) and kind.getElementType().kind() in ("IntType", "SymIntType")


def _kind_of(items: Sequence[object]) -> str:
    """Return the kind of a list without a schema, by its items."""
    if items and all(isinstance(item, bool) for item in items):
        return "BoolType"
    if items and any(isinstance(item, float) for item in items):
        return "FloatType"
    if any(isinstance(item, Ref) for item in items) and not any(isinstance(item, int) for item in items):
        return "TensorType"
    return "IntType"


def _tensor(item: object) -> Ref:
    if not isinstance(item, Ref):
        raise ValueError(f"expected a tensor; found {item!r}")
    return item


def _number(item: object) -> int | float | bool:
    if not isinstance(item, (int, float, bool)):
        raise ValueError(f"expected a number known when the program is made; found {item!r}")
    return item
