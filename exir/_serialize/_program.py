# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented functions that read and write `.pte` files, over `executorch.exir.serialize`."""

from dataclasses import dataclass

from executorch.exir.format.named_data import DataEntry, NamedDataStoreOutput
from executorch.exir.schema import Buffer, Program
from executorch.exir.serialize import Cord, PteFile, PteLayout, deserialize_pte, named_blobs, serialize_pte


@dataclass
class PTEFile:
    """A program file.

    program: includes its constants. mutable_data: initial values of mutable buffers, entry 0 empty.
    named_data: data of delegates, which they find by name.
    """

    program: Program
    mutable_data: list[Buffer] | None = None
    named_data: NamedDataStoreOutput | None = None


def serialize_pte_binary(
    pte_file: PTEFile,
    *,
    extract_delegate_segments: bool = False,
    segment_alignment: int = 128,
    constant_tensor_alignment: int | None = None,
    delegate_alignment: int | None = None,
) -> Cord:
    """Return the bytes of a `.pte` file. Alignments are powers of two, in bytes. Raises SerializationError."""
    layout = PteLayout(extract_delegate_segments, segment_alignment, constant_tensor_alignment, delegate_alignment)
    file = PteFile(pte_file.program, pte_file.mutable_data, named_blobs(pte_file.named_data))
    return serialize_pte(file, layout)


def deserialize_pte_binary(program_data: bytes) -> PTEFile:
    """Read a `.pte` file; the program's own list of named data is empty. Raises MalformedProgramError."""
    file = deserialize_pte(program_data)
    file.program.named_data = []
    buffers = [bytes(blob.data) for blob in file.named_data.values()]
    entries = {key: DataEntry(index, blob.alignment, None) for index, (key, blob) in enumerate(file.named_data.items())}
    named = NamedDataStoreOutput(buffers, entries, {}) if entries else None
    return PTEFile(file.program, file.mutable_data, named)


__all__ = ["PTEFile", "deserialize_pte_binary", "serialize_pte_binary"]
