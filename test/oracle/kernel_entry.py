# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls one registered C++ kernel on torch tensors, without a program around it.

``call_kernel("aten::add.out", a, b, out=torch.empty(3))`` finds the kernel in the registry, checks the arguments as the
loader does, runs it, and returns the error and the messages. Outputs are written in place.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_REPOSITORY = Path(__file__).resolve().parents[2]
_TEMP_BYTES = 64 << 20
_MESSAGE_BYTES = 1 << 14

# The runtime's dtype codes (formats of .pte files); torch has no public table of them.
DTYPE_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
}
_LAYOUT_CODES = {torch.strided: 0}
_MEMORY_FORMAT_CODES = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_int32)),
        ("strides", ctypes.POINTER(ctypes.c_int32)),
        ("dim_order", ctypes.POINTER(ctypes.c_uint8)),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("resizable", ctypes.c_int32),
    ]


class _Value(ctypes.Structure):
    pass


_Value._fields_ = [
    ("kind", ctypes.c_int32),
    ("integer", ctypes.c_int64),
    ("real", ctypes.c_double),
    ("text", ctypes.c_char_p),
    ("tensor", ctypes.POINTER(_Tensor)),
    ("items", ctypes.POINTER(_Value)),
]

_NONE, _INT, _BOOL, _DOUBLE, _STRING, _TENSOR, _INTS, _DOUBLES, _BOOLS, _TENSORS, _OPTIONAL_TENSORS = range(11)
# By the item's type, as torch prints a list's type without Optional[...] around it.
_LIST_KINDS = {
    "int": _INTS,
    "SymInt": _INTS,
    "float": _DOUBLES,
    "bool": _BOOLS,
    "Tensor": _TENSORS,
    "Optional[Tensor]": _OPTIONAL_TENSORS,
}


@dataclass(frozen=True)
class KernelCall:
    """What a call gave: the runtime's error code (0 is Ok), its log messages, the outputs with their final sizes."""

    error: int
    message: str
    outputs: list[torch.Tensor]


def library_path() -> Path:
    """``EXECUTORCH_KERNEL_ENTRY``, or the newest ``libkernel_entry.so`` of the builds in the repository."""
    if path := os.environ.get("EXECUTORCH_KERNEL_ENTRY"):
        return Path(path)
    found = sorted(_REPOSITORY.glob("build/*/test/libkernel_entry.so"), key=lambda p: p.stat().st_mtime)
    usable = [p for p in found if "sanitized" not in p.parts]
    if not usable:
        raise FileNotFoundError("no build/*/test/libkernel_entry.so: build with -DEXECUTORCH_BUILD_TESTS=ON")
    return usable[-1]


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    library.call_kernel.argtypes = [
        ctypes.c_char_p,
        ctypes.POINTER(_Value),
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_char_p,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int32),
    ]
    library.kernel_count.restype = ctypes.c_int64
    library.kernel_name.argtypes = [ctypes.c_int64]
    library.kernel_name.restype = ctypes.c_char_p
    return library


@functools.cache
def registered_kernels() -> frozenset[str]:
    """Names as ``aten::add.out`` of every kernel of the library."""
    library = _library()
    return frozenset(library.kernel_name(i).decode() for i in range(library.kernel_count()))


@functools.cache
def _temp() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(_TEMP_BYTES)


def dim_order_of(tensor: torch.Tensor) -> list[int]:
    """Dimensions from outermost to innermost in memory. Raises ``ValueError`` for memory with gaps or overlaps."""
    order = sorted(range(tensor.dim()), key=lambda d: (-tensor.stride(d), d))
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    step = 1
    for d in reversed(order):
        if tensor.size(d) != 1 and tensor.stride(d) != step:
            raise ValueError(f"sizes {tuple(tensor.shape)} and strides {tensor.stride()} are no dim order")
        step *= tensor.size(d)
    return order


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself where its memory is a dim order, else a contiguous copy; never conjugated or negated lazily."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    try:
        dim_order_of(tensor)
    except ValueError:
        return tensor.contiguous()
    return tensor


class _Arguments:
    """Structures for one call; keeps alive whatever they point to."""

    def __init__(self) -> None:
        self._alive: list[Any] = []

    def tensor(self, tensor: torch.Tensor, resizable: bool) -> Any:
        rank, sizes = tensor.dim(), list(tensor.shape)
        order = dim_order_of(tensor)
        strides, step = [0] * rank, 1
        for d in reversed(order):
            strides[d] = step
            step *= max(sizes[d], 1)
        fields = (
            (ctypes.c_int32 * rank)(*sizes),
            (ctypes.c_int32 * rank)(*strides),
            (ctypes.c_uint8 * rank)(*order),
        )
        made = _Tensor(tensor.data_ptr(), *fields, DTYPE_CODES[tensor.dtype], rank, int(resizable))
        self._alive += [tensor, made, *fields]
        return made

    def value(self, value: Any, schema_type: str, resizable: bool = False) -> _Value:
        if value is None:
            return _Value(kind=_NONE)
        if match := re.fullmatch(r"(?:Optional\[)?List\[(\w+(?:\[Tensor\])?)\]+", schema_type):
            listed = value if isinstance(value, (list, tuple)) else [value]  # A number stands for a list of one.
            items = [self.value(v, match[1], resizable) for v in listed]
            array = (_Value * max(len(items), 1))(*items)
            self._alive.append(array)
            return _Value(kind=_LIST_KINDS[match[1]], integer=len(items), items=array)
        if isinstance(value, torch.Tensor):
            return _Value(kind=_TENSOR, tensor=ctypes.pointer(self.tensor(value, resizable)))
        if isinstance(value, str):
            return _Value(kind=_STRING, integer=len(value.encode()), text=value.encode())
        for codes in (DTYPE_CODES, _LAYOUT_CODES, _MEMORY_FORMAT_CODES):
            if value in codes and not isinstance(value, (bool, int, float)):
                return _Value(kind=_INT, integer=codes[value])
        if isinstance(value, bool):
            return _Value(kind=_BOOL, integer=int(value))
        if isinstance(value, float) or schema_type in ("float", "Optional[float]"):
            return _Value(kind=_DOUBLE, real=float(value))
        return _Value(kind=_INT, integer=int(value))


def schema_of(name: str) -> torch.FunctionSchema:
    """The schema of an operator of torch, or of an operator registered with torch.library."""
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)


def call_kernel(
    name: str,
    *args: Any,
    out: torch.Tensor | Sequence[torch.Tensor] | Sequence[Sequence[torch.Tensor]],
    schema: torch.FunctionSchema | None = None,
    **kwargs: Any,
) -> KernelCall:
    """Calls the kernel ``name`` with the operator's arguments in ATen's order, defaults filled in.

    ``out`` is the output, or a list of them in the schema's order, of the right dtypes; each has room for its result
    and is resized by the kernel. Raises ``TypeError`` when arguments do not fit the schema.
    """
    return prepare_kernel(name, *args, out=out, schema=schema, **kwargs)()


def prepare_kernel(
    name: str,
    *args: Any,
    out: torch.Tensor | Sequence[torch.Tensor] | Sequence[Sequence[torch.Tensor]],
    schema: torch.FunctionSchema | None = None,
    **kwargs: Any,
) -> Callable[[], KernelCall]:
    """As ``call_kernel``, to be called as often as wished: the arguments are made once."""
    schema = schema or schema_of(name)
    outputs = [out] if isinstance(out, torch.Tensor) else list(out)
    made, values = _Arguments(), []
    for i, argument in enumerate(a for a in schema.arguments if not a.is_out):
        if i < len(args):
            value = args[i]
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        elif argument.has_default_value():
            value = argument.default_value
        else:
            raise TypeError(f"{name}: argument '{argument.name}' is missing")
        values.append(made.value(value, str(argument.real_type)))
    out_types = [str(a.type) for a in schema.arguments if a.is_out]
    values += [made.value(o, t, resizable=True) for o, t in zip(outputs, out_types, strict=False)]
    array, ran = (_Value * len(values))(*values), ctypes.c_int32()
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    call = functools.partial(
        _library().call_kernel, name.encode(), array, len(values), _temp(), _TEMP_BYTES, message, _MESSAGE_BYTES,
        ctypes.byref(ran)
    )  # fmt: skip

    def run() -> KernelCall:
        error = call()
        found = [_resized(o, v) for o, v in zip(outputs, values[len(values) - len(out_types) :], strict=False)]
        return KernelCall(error, message.value.decode(errors="replace"), found)

    run.alive = made  # type: ignore[attr-defined]
    return run


def _resized(out: Any, value: _Value) -> Any:
    if not isinstance(out, torch.Tensor):
        return [_resized(o, value.items[i]) for i, o in enumerate(out)]
    made = value.tensor.contents
    return out.as_strided(made.sizes[: made.rank], made.strides[: made.rank])
