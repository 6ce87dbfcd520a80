# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Record the kernel calls of tests and their results in a file, for builds that pytest cannot load.

The tests compare with eager; test/oracle/replay repeats the calls under sanitizers and on 32 bits, and compares with
the recorded results. ``EXECUTORCH_RECORD_CALLS`` names the folder; each process writes a file of its own.
"""

from __future__ import annotations

import functools
import os
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import torch
from oracle.kernels.argument_kinds import BOOL, DOUBLE, DTYPE_CODES, INT, INTS, STRING, TENSOR, kind_of
from oracle.kernels.comparison import is_determined, tolerance_of
from oracle.kernels.dense_memory import dense, dim_order_of

# The calls are replayed under sanitizers, hundreds of times with changes, so only small calls are recorded, and only a
# few of each kernel and its dtypes.
MAX_BYTES = 32 << 10
MAX_OF_A_KIND = 3


@functools.cache
def recorder() -> CallRecorder | None:
    """Return this process's recorder; None unless ``EXECUTORCH_RECORD_CALLS`` names a folder."""
    folder = os.environ.get("EXECUTORCH_RECORD_CALLS")
    return CallRecorder(Path(folder) / f"{os.getpid()}.calls") if folder else None


def _number(form: str, *values: Any) -> bytes:
    return struct.pack("<" + form, *values)


def _text(text: str) -> bytes:
    return _number("I", len(text.encode())) + text.encode()


def _tensor(tensor: torch.Tensor, is_output: bool) -> bytes:
    tensor = dense(tensor)
    head = _number("BB", DTYPE_CODES[tensor.dtype], tensor.dim()) + _number(f"{tensor.dim()}i", *tensor.shape)
    head += bytes(dim_order_of(tensor)) + _number("B", is_output)
    if is_output or tensor.numel() == 0:
        return head
    memory = tensor.as_strided((tensor.numel(),), (1,)).contiguous()
    return head + memory.view(torch.uint8).numpy().tobytes()


def _value(value: Any, schema_type: str, is_output: bool = False) -> bytes:
    kind, content = kind_of(value, schema_type)
    head = _number("B", kind)
    if kind >= INTS:
        return head + _number("I", len(content[0])) + b"".join(_value(v, content[1], is_output) for v in content[0])
    if kind == TENSOR:
        return head + _tensor(content, is_output)
    if kind == STRING:
        return head + _text(content)
    if kind == DOUBLE:
        return head + _number("d", content)
    return head + (_number("q", content) if kind in (INT, BOOL) else b"")


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _share_memory(values: Any, others: Any) -> bool:
    """Return whether a tensor of one stands in the memory of a tensor of the other."""
    addresses = {tensor.untyped_storage().data_ptr() for tensor in _tensors(values) if tensor.numel()}
    return any(tensor.numel() and tensor.untyped_storage().data_ptr() in addresses for tensor in _tensors(others))


def _expected(name: str, position: int, value: Any, schema_type: str) -> bytes:
    first = next(_tensors(value), None)
    tolerance = tolerance_of(name, first.dtype) if first is not None else (0.0, 0.0)
    return _number("BddB", position, *tolerance, not is_determined(name)) + _value(value, schema_type)


@dataclass(frozen=True)
class _Inputs:
    """Arguments before a call: encoded for the record, as values, and those that the call writes to, by position."""

    encoded: list[bytes]
    values: list[Any]
    dtypes: tuple[torch.dtype, ...]
    written: dict[int, torch.Tensor]


class CallRecorder:
    """Appends to a file as test/oracle/replay/recorded_call.cpp reads it, without repeating a call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._seen: set[int] = set()
        self._of_a_kind: Counter[tuple[Any, ...]] = Counter()

    def inputs(self, schema: torch.FunctionSchema, values: list[Any]) -> _Inputs:
        """Return what the record needs of the arguments; call this before the kernel writes to them."""
        arguments = [a for a in schema.arguments if not a.is_out]
        encoded = [_value(v, str(a.real_type)) for v, a in zip(values, arguments, strict=True)]
        written = {i: values[i] for i, a in enumerate(arguments) if a.alias_info and a.alias_info.is_write}
        return _Inputs(encoded, values, tuple(t.dtype for t in _tensors(values)), written)

    def add(
        self, schema: torch.FunctionSchema, inputs: _Inputs, room: list[Any], refused: bool, outputs: list[Any]
    ) -> None:
        """Append a call after the kernel ran. Omits a call whose outputs share memory with its arguments, because the
        record cannot express that. ``room``: the outputs before the call; ``outputs``: after it."""
        if _share_memory(inputs.values, room):
            return
        name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        kind = (name, refused, inputs.dtypes, tuple(t.dtype for t in _tensors(room)))
        if self._of_a_kind[kind] >= MAX_OF_A_KIND:
            return
        types = [str(a.type) for a in schema.arguments if a.is_out][: len(room)]
        values = inputs.encoded + [_value(r, t, is_output=True) for r, t in zip(room, types, strict=False)]
        expected = []
        if not refused:
            first = len(inputs.encoded)
            expected = [_expected(name, first + i, o, types[i]) for i, o in enumerate(outputs)]
            expected += [_expected(name, i, after, "Tensor") for i, after in inputs.written.items()]
        head = _text(name) + _number("BBB", refused, len(types), len(values))
        record = head + b"".join(values) + _number("B", len(expected)) + b"".join(expected)
        if len(record) <= MAX_BYTES and hash(record) not in self._seen:
            self._of_a_kind[kind] += 1
            self._seen.add(hash(record))
            self._open().write(record)

    def _open(self) -> FileIO:
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb", buffering=0)  # Whole calls, however the process ends.
            self._file.write(b"ETCALLS1")
        return self._file
