# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reading any bytes gives a program or raises MalformedProgramError."""

import dataclasses
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executorch.exir.schema import Tensor
from executorch.exir.serialize import MalformedProgramError, PteFile, deserialize_pte, serialize_pte
from executorch.exir.serialize import tables as t
from executorch.exir.serialize.reader import FlatbufferReader

PEER = sorted((Path(__file__).parents[2] / "data" / "peer").glob("*.pte"))


def read(data: bytes) -> PteFile | None:
    try:
        return deserialize_pte(data)
    except MalformedProgramError:
        return None


@pytest.mark.parametrize("path", PEER, ids=lambda path: path.stem)
def test_the_peers_files_are_read_and_written_again(path: Path) -> None:
    file = deserialize_pte(path.read_bytes())
    assert file.program.execution_plan
    assert deserialize_pte(bytes(serialize_pte(file))) == file


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert read(data) is None


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_random_tables_are_read_or_refused(data: bytes) -> None:
    read(struct.pack("<I", 8) + b"ET12" + data)


@pytest.mark.parametrize("path", PEER[:3], ids=lambda path: path.stem)
def test_a_file_cut_off_anywhere_is_refused_or_whole(path: Path) -> None:
    data = path.read_bytes()
    step = max(1, len(data) // 300)
    assert all(read(data[:end]) is None for end in range(0, len(data) // 2, step))
    for end in range(len(data) // 2, len(data), step):
        read(data[:end])


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(PEER), st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes_are_read_or_refused(path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(path.read_bytes())
    for position, value in changes:
        data[position % len(data)] = value
    read(bytes(data))


def test_a_tensor_of_a_million_dimensions_is_refused() -> None:
    # Their product, a number of a million digits, would take minutes.
    file = deserialize_pte(PEER[0].read_bytes())
    tensors = [value.val for value in file.program.execution_plan[0].values if isinstance(value.val, Tensor)]
    tensors[0].sizes = [2**31 - 1] * 1_000_000
    data = bytes(serialize_pte(file))
    with pytest.raises(MalformedProgramError, match="expected at most 16 items; found 1000000"):
        deserialize_pte(data)


Row = dataclasses.make_dataclass("Row", list("abcdefghij"))


@dataclasses.dataclass
class Rows:
    rows: list[object]


def rows_that_share_a_table(count: int) -> bytes:
    vtables = struct.pack("<2H4x4H", 4, 4, 6, 8, 4, 0)
    offsets = (4 * (count - index) for index in range(count))
    vector = struct.pack(f"<{count + 1}I", count, *offsets)
    row = 36 + 4 * count
    return struct.pack("<I4s", 24, b"ROWS") + vtables + struct.pack("<iI", 8, 4) + vector + struct.pack("<i", row - 8)


def test_a_shared_table_counts_with_all_its_fields() -> None:
    # Each row would become a Python object of 50 times the four bytes that refer to it.
    fields = {Rows: (t.Field("rows", t.TableVector(Row)),), Row: tuple(t.Field(name, t.I32) for name in "abcdefghij")}
    rows = t.Format(b"ROWS", fields)
    assert FlatbufferReader(rows_that_share_a_table(1), rows).root(Rows).rows == [Row(*[0] * 10)]
    with pytest.raises(MalformedProgramError, match="the file refers to more than it can hold"):
        FlatbufferReader(rows_that_share_a_table(10_000), rows).root(Rows)


def test_a_small_file_that_refers_to_one_table_many_times_is_refused() -> None:
    # A root table whose execution_plan is a vector of many offsets to one table with a long list of its own.
    count = 4000
    data = bytearray(b"\0" * 8)
    vtable = struct.pack("<4H", 8, 8, 0, 4)
    plan_vtable = struct.pack("<10H", 20, 8, 0, 0, 0, 4, 0, 0, 0, 0)
    data += vtable
    root = len(data)
    data += struct.pack("<iI", 8, 4) + struct.pack("<I", count)
    plans = len(data)
    plan = plans + 4 * count + len(plan_vtable)
    data += b"".join(struct.pack("<I", plan - (plans + 4 * i)) for i in range(count))
    data += plan_vtable + struct.pack("<iI", len(plan_vtable), 4) + struct.pack("<I", count) + bytes(4 * count)
    data[0:8] = struct.pack("<I4s", root, b"ET12")
    with pytest.raises(MalformedProgramError):
        deserialize_pte(bytes(data))
