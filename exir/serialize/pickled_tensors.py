# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Check a file of torch.save before torch.load reads it.

`torch.load(weights_only=True)` runs no foreign code, but a pickle of a few hundred bytes can make it take all memory:
by calls of bytearray, by encoding a text again and again, by entries that unpack to a thousand times their bytes.
Storages without contents would show uninitialized memory.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import torch

_ARCHIVE = b"PK\x03\x04"
# The records at the end of an archive, of the first version and for large files, and where the latter one begins.
_END, _END_64, _LOCATOR = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_UTF8_NAME = 1 << 11
# The first two pickles of the older format.
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_ELEMENT_BYTES = {
    **dict.fromkeys(("ComplexDoubleStorage",), 16),
    **dict.fromkeys(("DoubleStorage", "LongStorage", "ComplexFloatStorage"), 8),
    **dict.fromkeys(("FloatStorage", "IntStorage", "QInt32Storage"), 4),
    **dict.fromkeys(("HalfStorage", "BFloat16Storage", "ShortStorage"), 2),
    **dict.fromkeys(
        ("ByteStorage", "CharStorage", "BoolStorage", "QInt8Storage", "QUInt8Storage", "UntypedStorage"), 1
    ),
}
_FUNCTIONS = {
    "_rebuild_nested_tensor",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_qtensor",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
}
_NAMES = {
    ("__builtin__", "complex"),
    ("builtins", "complex"),
    ("collections", "OrderedDict"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch.serialization", "_get_layout"),
}
_MAX_RANK = 64
# Instructions that take time and memory in proportion to their own bytes.
_INSTRUCTIONS = [
    *("PROTO", "STOP", "MARK", "NONE", "NEWFALSE", "NEWTRUE", "GLOBAL", "BINPERSID"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS"),
    *("EMPTY_DICT", "SETITEM", "SETITEMS", "BINGET", "LONG_BINGET", "BINPUT", "LONG_BINPUT"),
]


@dataclass(frozen=True)
class _Name:
    """A name that a pickle refers to: a function, or the type of a storage."""

    name: str


class _Checker(pickle._Unpickler):
    """Reads a pickle as torch.load does, without calling anything.

    storages: bytes of each storage that it refers to.
    """

    stack: list[object]
    append: Callable[[object], None]

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, encoding="utf-8")
        self.storages: dict[str, int] = {}

    def find_class(self, module: str, name: str) -> object:
        is_constant = module == "torch" and isinstance(getattr(torch, name, None), (torch.dtype, torch.qscheme))
        if (
            is_constant
            or (module in ("torch", "torch.storage") and name in _ELEMENT_BYTES)
            or (module == "torch._utils" and name in _FUNCTIONS)
            or (module, name) in _NAMES
        ):
            return _Name(name)
        raise ValueError(f"expected only tensors and their containers, found {module}.{name}")

    def persistent_load(self, pid: object) -> object:
        _, kind, key, _, count = pid[:5] if isinstance(pid, tuple) else ()
        if not (isinstance(kind, _Name) and isinstance(key, str) and isinstance(count, int) and count >= 0):
            raise ValueError("expected the type, name and size of a storage")
        nbytes = count * _ELEMENT_BYTES[kind.name]
        self.storages[key] = max(nbytes, self.storages.get(key, 0))
        return None

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, _Name) or function.name in _ELEMENT_BYTES:
            raise ValueError("expected a call of a function that makes a tensor")
        # Each call would copy its argument.
        if function.name == "OrderedDict" and arguments != ():
            raise ValueError("expected OrderedDict without arguments")
        if function.name == "Size" and not _are_few(arguments):
            raise ValueError(f"expected torch.Size of at most {_MAX_RANK} numbers")
        self.append(OrderedDict() if function.name == "OrderedDict" else None)

    def _build(self) -> None:
        self.stack.pop()
        if not isinstance(self.stack[-1], OrderedDict):
            raise ValueError("expected attributes of an OrderedDict alone")

    # typeshed: methods of the base class alone.
    dispatch = {
        **{code: pickle._Unpickler.dispatch[code] for code in (getattr(pickle, name)[0] for name in _INSTRUCTIONS)},
        pickle.REDUCE[0]: _reduce,  # type: ignore[dict-item]
        pickle.BUILD[0]: _build,  # type: ignore[dict-item]
    }


def _are_few(arguments: object) -> bool:
    """Return whether these are one tuple or list of at most _MAX_RANK items."""
    match arguments:
        case ((tuple() | list()) as sizes,):
            return len(sizes) <= _MAX_RANK
    return False


def check_saved_tensors(file: IO[bytes]) -> None:
    """Raise ValueError unless torch.load takes memory in proportion to the file and finds the contents of each storage.

    file: a file of torch.save, in either format, open for reading.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    is_archive = file.read(len(_ARCHIVE)) == _ARCHIVE
    file.seek(0)
    try:
        if is_archive:
            _check_archive(file, size)
        else:
            _check_older_format(file, size)
    except ValueError:
        raise
    except Exception as error:  # a broken pickle raises any exception
        raise ValueError(f"a broken file of torch.save: {error!r}") from error


def _check_archive(file: IO[bytes], size: int) -> None:
    _check_directory(file, size)
    with ZipFile(file) as archive:
        entries = archive.infolist()
        for entry in entries:
            if entry.compress_type != ZIP_STORED or entry.file_size != entry.compress_size:
                raise ValueError(f"expected stored entries, found the compressed {entry.filename}")
            # Several extra fields, and names that contain a null byte, differ by reader.
            is_one_field = len(entry.extra) == (4 + int.from_bytes(entry.extra[2:4], "little") if entry.extra else 0)
            if not is_one_field or "\0" in entry.orig_filename:
                raise ValueError(f"expected entries with plain names and properties, found {entry.orig_filename!r}")
        if sum(entry.file_size for entry in entries) > size:
            raise ValueError(f"expected entries of at most {size} bytes")
    # torch.load looks up bytes, ignores case, and reads one entry for each name.
    stored = {_name_of(entry).lower(): entry for entry in entries}
    if len(stored) != len(entries):
        raise ValueError("expected entries with different names")
    folder = _name_of(entries[0]).lower().split(b"/")[0] if entries else b""
    pickled = stored.get(folder + b"/data.pkl")
    if pickled is None:
        raise ValueError("expected an entry data.pkl in the folder of the first entry")
    checker = _Checker(io.BytesIO(_contents(file, pickled)))
    checker.load()
    for key, nbytes in checker.storages.items():
        entry_of_key = stored.get(folder + b"/data/" + key.encode().lower())
        if entry_of_key is None or nbytes > entry_of_key.file_size:
            raise ValueError(f"expected an entry with the {nbytes} bytes of storage {key!r}")


def _check_directory(file: IO[bytes], size: int) -> None:
    """Raise ValueError unless the archive's directory is where all readers find it: directly before its end.

    Readers differ in which of several directories they read.
    """

    def record(layout: struct.Struct, end: int) -> tuple[bytes, list[int]]:
        """Return the signature and the numbers of the record that ends at a byte."""
        file.seek(max(0, end - layout.size))
        signature, *numbers = layout.unpack(file.read(layout.size).ljust(layout.size))
        return signature, numbers

    end = size - _END.size
    signature, (*_, length, first, comment) = record(_END, size)
    found, (_, position, _) = record(_LOCATOR, end)
    is_right = signature == b"PK\x05\x06" and comment == 0
    if found == b"PK\x06\x07":
        end -= _LOCATOR.size + _END_64.size
        signature, (*_, length, first) = record(_END_64, end + _END_64.size)
        is_right = is_right and signature == b"PK\x06\x06" and position == end
    if not is_right or first + length != end:
        raise ValueError("expected the archive's directory directly before its end")


def _name_of(entry: ZipInfo) -> bytes:
    """Return the bytes of an entry's name in the archive."""
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8_NAME else "cp437")


def _contents(file: IO[bytes], entry: ZipInfo) -> bytes:
    """Return the bytes of a stored entry. ZipFile would refuse the checksums of some files of torch."""
    file.seek(entry.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, os.SEEK_CUR)
    return file.read(entry.file_size)


def _check_older_format(file: IO[bytes], size: int) -> None:
    if (_Checker(file).load(), _Checker(file).load()) != (_MAGIC, _PROTOCOL):
        raise ValueError("expected the format of torch.save")
    _Checker(file).load()  # facts about the system
    checker = _Checker(file)
    checker.load()
    keys = _Checker(file).load()
    if not isinstance(keys, list) or set(keys) != set(checker.storages):
        raise ValueError("expected contents of each storage")
    nbytes = sum(checker.storages.values())
    rest = size - file.tell()
    if nbytes > rest:
        raise ValueError(f"expected {nbytes} bytes of storages at the end, found {rest}")
