# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Call one registered C++ kernel on torch tensors, without a program.

``call_kernel("aten::add.out", a, b, out=torch.empty(3))`` finds the kernel in the registry, checks the arguments as the
loader does, runs it, and returns the error and the messages. Outputs are written in place.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from oracle.kernels.argument_kinds import DOUBLE, DTYPE_CODES, INTS, STRING, TENSOR, kind_of
from oracle.kernels.call_recorder import recorder
from oracle.kernels.dense_memory import dim_order_of

_REPOSITORY = Path(__file__).resolve().parents[3]
_OTHERS = {"sanitized", "aarch64", "riscv64", "x86-32"}
"""Builds that this process cannot load."""
_TEMP_BYTES = 64 << 20
_MESSAGE_BYTES = 1 << 14


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


@dataclass(frozen=True)
class KernelCall:
    """Result of a call: the runtime's error code (0 is Ok), log messages, outputs with their final sizes."""

    error: int
    message: str
    outputs: list[torch.Tensor]


def newest_library(name: str) -> Path:
    """Return the library ``name`` of the newest build in the repository that this process can load."""
    libraries = sorted(_REPOSITORY.glob(f"build/*/test/{name}"), key=lambda p: p.stat().st_mtime)
    usable = [p for p in libraries if not _OTHERS & set(p.parts)]
    if not usable:
        raise FileNotFoundError(f"no build/*/test/{name}: build with -DEXECUTORCH_BUILD_TESTS=ON")
    return usable[-1]


def library_path() -> Path:
    """``EXECUTORCH_KERNEL_ENTRY``, or the newest ``libkernel_entry.so`` of the builds in the repository."""
    if path := os.environ.get("EXECUTORCH_KERNEL_ENTRY"):
        return Path(path)
    return newest_library("libkernel_entry.so")


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
    if (kind := os.environ.get("EXECUTORCH_KERNEL_VECTORS")) and not library.limit_vectors(VECTORS.index(kind) + 1):
        raise RuntimeError(f"EXECUTORCH_KERNEL_VECTORS={kind}: not in this build or on this processor")
    return library


VECTORS = ("every", "avx2", "avx512")
"""Instruction sets of the compiled loops. ``EXECUTORCH_KERNEL_VECTORS`` selects one instead of the best."""


@contextlib.contextmanager
def vectors(kind: str) -> Iterator[bool]:
    """Let kernels use one instruction set. Return whether this build and this processor support it."""
    before = _library().limit_vectors(VECTORS.index(kind) + 1)
    try:
        yield before != 0
    finally:
        _library().limit_vectors(before)


@functools.cache
def registered_kernels() -> frozenset[str]:
    """Return the names of all kernels of the library, such as ``aten::add.out``."""
    library = _library()
    return frozenset(library.kernel_name(i).decode() for i in range(library.kernel_count()))


@functools.cache
def _temp() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(_TEMP_BYTES)


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
        described = _Tensor(tensor.data_ptr(), *fields, DTYPE_CODES[tensor.dtype], rank, int(resizable))
        self._alive += [tensor, described, *fields]
        return described

    def value(self, value: Any, schema_type: str, resizable: bool = False) -> _Value:
        kind, content = kind_of(value, schema_type)
        if kind >= INTS:
            items = [self.value(v, content[1], resizable) for v in content[0]]
            array = (_Value * max(len(items), 1))(*items)
            self._alive.append(array)
            return _Value(kind=kind, integer=len(items), items=array)
        if kind == TENSOR:
            return _Value(kind=kind, tensor=ctypes.pointer(self.tensor(content, resizable)))
        if kind == STRING:
            return _Value(kind=kind, integer=len(content.encode()), text=content.encode())
        if kind == DOUBLE:
            return _Value(kind=kind, real=content)
        return _Value(kind=kind, integer=content or 0)


def schema_of(name: str) -> torch.FunctionSchema:
    """Return the schema of an operator of torch or of torch.library."""
    operator, _, overload = name.partition(".")
    return torch._C._get_schema(operator, overload)


def call_kernel(
    name: str,
    *args: Any,
    out: torch.Tensor | Sequence[torch.Tensor] | Sequence[Sequence[torch.Tensor]],
    schema: torch.FunctionSchema | None = None,
    **kwargs: Any,
) -> KernelCall:
    """Call the kernel ``name`` with the operator's arguments in ATen's order, defaults filled in.

    ``out`` is the output, or a list of them in the schema's order, of the right dtypes; each has room for its result
    and is resized by the kernel. Raises ``TypeError`` when arguments do not fit the schema.
    """
    schema = schema or schema_of(name)
    call = prepare_kernel(name, *args, out=out, schema=schema, **kwargs)
    record = recorder()
    if record is None:
        return call()
    inputs = record.inputs(schema, _filled_in(name, schema, args, kwargs))
    done = call()
    record.add(schema, inputs, listed(out), done.error != 0, done.outputs)
    return done


def listed(out: Any) -> list[Any]:
    """Outputs as a list."""
    return [out] if isinstance(out, torch.Tensor) else list(out)


def _filled_in(name: str, schema: torch.FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Return all arguments except the outputs."""
    values = []
    for i, argument in enumerate(a for a in schema.arguments if not a.is_out):
        if i < len(args):
            values.append(args[i])
        elif argument.name in kwargs:
            values.append(kwargs[argument.name])
        elif argument.has_default_value():
            values.append(argument.default_value)
        else:
            raise TypeError(f"{name}: argument '{argument.name}' is missing")
    return values


def prepare_kernel(
    name: str,
    *args: Any,
    out: torch.Tensor | Sequence[torch.Tensor] | Sequence[Sequence[torch.Tensor]],
    schema: torch.FunctionSchema | None = None,
    **kwargs: Any,
) -> Callable[[], KernelCall]:
    """Return a function that repeats one ``call_kernel``, with the arguments built once."""
    schema = schema or schema_of(name)
    outputs, made = listed(out), _Arguments()
    types = [str(a.real_type) for a in schema.arguments if not a.is_out]
    values = [made.value(v, t) for v, t in zip(_filled_in(name, schema, args, kwargs), types, strict=True)]
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
