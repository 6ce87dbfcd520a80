# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bytes as a list of parts, which are not copied or joined before they are written."""

from collections.abc import Iterator
from typing import BinaryIO

from executorch.exir.schema import BytesLike


class Cord:
    """References its parts without copies: they must not change while the cord is in use."""

    def __init__(self, data: "BytesLike | Cord" = b"", *more: "BytesLike | Cord") -> None:
        self._parts: list[memoryview] = []
        self._size = 0
        for part in (data, *more):
            self.append(part)

    def append(self, data: "BytesLike | Cord") -> None:
        """Append bytes or another cord without a copy."""
        if isinstance(data, Cord):
            self._parts.extend(data._parts)
            self._size += data._size
            return
        view = memoryview(data).cast("B")
        if len(view):
            self._parts.append(view)
            self._size += len(view)

    def pad_to(self, alignment: int) -> None:
        """Append zero bytes until the size is a multiple of `alignment`."""
        self.append(bytes(-self._size % alignment))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[memoryview]:
        return iter(self._parts)

    def __bytes__(self) -> bytes:
        return b"".join(self._parts)

    def write_to_file(self, outfile: BinaryIO) -> None:
        """Write all parts in order."""
        for part in self._parts:
            outfile.write(part)
