# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Contents of a `.pte` file, and the layout of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from executorch.exir.schema import Buffer, BytesLike, Program
from executorch.exir.serialize.errors import SerializationError


@dataclass
class NamedBlob:
    """Named data of delegates; `alignment` in bytes."""

    data: BytesLike
    alignment: int = 1


@dataclass
class PteFile:
    """A program with the data of tensors and delegates.

    mutable_data: initial values of mutable buffers; entry 0 is empty, as in Program.constant_buffer.
    named_data: key → blob; keys whose `data` is one object share one segment.
    """

    program: Program
    mutable_data: list[Buffer] | None = None
    named_data: dict[str, NamedBlob] = field(default_factory=dict)


@dataclass(frozen=True)
class PteLayout:
    """All alignments are powers of two, in bytes.

    constant_tensor_alignment: of each constant tensor. segment_alignment: of each segment in the file (a page's size
    for mapped segments). delegate_alignment: of delegate payloads, inline or in a segment.
    """

    extract_delegate_segments: bool = True
    segment_alignment: int = 128
    constant_tensor_alignment: int | None = None
    delegate_alignment: int | None = None

    def __post_init__(self) -> None:
        for name in ("segment_alignment", "constant_tensor_alignment", "delegate_alignment"):
            value = getattr(self, name)
            if value is not None and (value <= 0 or value & (value - 1)):
                raise SerializationError(f"{name}: expected a power of two; found {value}")


class _NamedDataEntry(Protocol):
    buffer_index: int
    alignment: int


class _NamedDataOutput(Protocol):
    @property
    def buffers(self) -> Sequence[BytesLike]: ...
    @property
    def pte_data(self) -> Mapping[str, _NamedDataEntry]: ...


def named_blobs(output: _NamedDataOutput | None) -> dict[str, NamedBlob]:
    """Return a NamedDataStore's blobs for the program file."""
    if output is None:
        return {}
    return {
        key: NamedBlob(output.buffers[entry.buffer_index], entry.alignment) for key, entry in output.pte_data.items()
    }
