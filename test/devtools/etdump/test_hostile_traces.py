# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Both trace readers refuse a hostile trace with a reason, or read its valid part, in linear time."""

import struct
from collections.abc import Callable

import pytest

from executorch.devtools.etdump.schema_flatcc import (
    AllocationEvent,
    Allocator,
    DebugEvent,
    ETDumpFlatCC,
    Event,
    Int,
    ProfileEvent,
    RunData,
    Tensor,
    TensorList,
    Value,
    ValueType,
)
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc
from executorch.devtools.etdump.trace import read_trace
from executorch.exir.schema import ScalarType
from executorch.exir.serialize.errors import MalformedProgramError

PREFIX = 4
"""Bytes of the size before the flatbuffer."""
ROOT, SLOT_RUNS = 0, 1


def _whole() -> bytearray:
    tensor = Tensor(ScalarType.FLOAT, [2, 3], [3, 1], 0)
    value = Value(ValueType.TENSOR_LIST, tensor_list=TensorList([tensor, tensor]))
    events = [
        Event(ProfileEvent("profiled", 0, 1, delegate_debug_metadata=b"metadata", start_time=1, end_time=2)),
        Event(allocation_event=AllocationEvent(1, 64)),
        Event(debug_event=DebugEvent("debugged", 0, 1, debug_entry=value)),
        Event(debug_event=DebugEvent(None, 0, 2, debug_entry=Value(ValueType.INT, int_value=Int(7)))),
    ]
    return bytearray(serialize_to_etdump_flatcc(ETDumpFlatCC(0, [RunData("Execute", 3, [Allocator("arena")], events)])))


class _Editor:
    """The trace's bytes, addressed as a flatbuffer: positions count from the byte after the prefix."""

    def __init__(self) -> None:
        self.data = _whole()

    def number(self, at: int, code: str = "I") -> int:
        return int(struct.unpack_from("<" + code, self.data, PREFIX + at)[0])

    def write(self, at: int, number: int, code: str = "I") -> None:
        struct.pack_into("<" + code, self.data, PREFIX + at, number)

    def follow(self, at: int) -> int:
        return at + self.number(at)

    def vtable(self, table: int) -> int:
        return table - self.number(table, "i")

    def field(self, table: int, slot: int) -> int:
        offset = self.number(self.vtable(table) + 4 + 2 * slot, "H")
        assert offset, "the trace has the field"
        return table + offset

    def item(self, vector: int, index: int) -> int:
        return self.follow(vector + 4 + 4 * index)

    @property
    def root(self) -> int:
        return self.follow(ROOT)

    @property
    def runs(self) -> int:
        return self.follow(self.field(self.root, SLOT_RUNS))

    @property
    def run(self) -> int:
        return self.item(self.runs, 0)

    @property
    def events(self) -> int:
        return self.follow(self.field(self.run, 3))

    def event(self, index: int, slot: int) -> int:
        """Return the position of event `index`'s table of the kind that `slot` selects."""
        return self.follow(self.field(self.item(self.events, index), slot))

    def append_shared(self, target: int, count: int) -> int:
        """Append a vector of `count` offsets to one table before it; return its position. Offsets are unsigned, so the
        table is copied to the end first: its own offsets wrap around 2^32 and leave the file.
        """
        self.data += bytes(-len(self.data) % 4)
        at = len(self.data) - PREFIX
        self.data += struct.pack("<I", count)
        end = at + 4 + 4 * count
        self.data += b"".join(struct.pack("<I", end - (at + 4 + 4 * i)) for i in range(count))
        self.data += self.data[PREFIX + target : PREFIX + target + 64]
        return at

    def point(self, field: int, target: int) -> None:
        self.write(field, target - field)


def _root(position: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(ROOT, position)


def _runs_count(count: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(e.runs, count)


def _events_count(count: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(e.events, count)


def _vtable(table: Callable[[_Editor], int], back: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(table(e), back, "i")


def _vtable_size(table: Callable[[_Editor], int], size: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(e.vtable(table(e)), size, "H")


def _slot(table: Callable[[_Editor], int], slot: int, offset: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(e.vtable(table(e)) + 4 + 2 * slot, offset, "H")


def _offset(field: Callable[[_Editor], int], offset: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(field(e), offset)


def _text_length(field: Callable[[_Editor], int], length: int) -> Callable[[_Editor], None]:
    return lambda e: e.write(e.follow(field(e)), length)


def _shared_runs(count: int) -> Callable[[_Editor], None]:
    return lambda e: e.point(e.field(e.root, SLOT_RUNS), e.append_shared(e.run, count))


def _run_name(e: _Editor) -> int:
    return e.field(e.run, 0)


def _profile(e: _Editor) -> int:
    return e.event(0, 0)


def _debug(e: _Editor) -> int:
    return e.event(2, 2)


def _value(e: _Editor) -> int:
    return e.follow(e.field(_debug(e), 2))


def _tensors(e: _Editor) -> int:
    return e.follow(e.field(e.follow(e.field(_value(e), 2)), 0))


def _tensor(e: _Editor) -> int:
    return e.item(_tensors(e), 0)


HUGE, NEGATIVE = 0xFFFFFFFF, -(1 << 31)
HOSTILE: dict[str, Callable[[_Editor], None]] = {
    "the root is beyond the end": _root(1 << 20),
    "the root is the header": _root(0),
    "the root is in the last byte": lambda e: e.write(ROOT, len(e.data) - PREFIX - 1),
    "the root's offset is the largest": _root(HUGE),
    "2^32 - 1 runs": _runs_count(HUGE),
    "more runs than fit": _runs_count(1000),
    "2^32 - 1 events": _events_count(HUGE),
    "more events than fit": _events_count(1000),
    "the list of runs points at itself": _offset(lambda e: e.field(e.root, SLOT_RUNS), 0),
    "the list of runs is beyond the end": _offset(lambda e: e.field(e.root, SLOT_RUNS), HUGE),
    "a run is beyond the end": _offset(lambda e: e.runs + 4, HUGE),
    "a run begins in the middle of another table": lambda e: e.point(e.runs + 4, e.run + 2),
    "the root's vtable is before the file": _vtable(lambda e: e.root, 1 << 30),
    "the root's vtable is beyond the end": _vtable(lambda e: e.root, NEGATIVE),
    "a run's vtable is before the file": _vtable(lambda e: e.run, 1 << 30),
    "a run's vtable is beyond the end": _vtable(lambda e: e.run, NEGATIVE),
    "a run's vtable is the run": _vtable(lambda e: e.run, 0),
    "an event's vtable is before the file": _vtable(lambda e: e.item(e.events, 0), 1 << 30),
    "a profile event's vtable is beyond the end": _vtable(_profile, NEGATIVE),
    "a debug event's vtable is beyond the end": _vtable(_debug, NEGATIVE),
    "a vtable of no bytes": _vtable_size(lambda e: e.run, 0),
    "a vtable of the largest size": _vtable_size(lambda e: e.run, 0xFFFF),
    "a vtable of odd size": _vtable_size(_profile, 7),
    "a field is beyond the end": _slot(lambda e: e.run, 3, 0xFFFE),
    "a time is beyond the end": _slot(_profile, 7, 0xFFFE),
    "the name of a run has 2^32 - 1 characters": _text_length(_run_name, HUGE),
    "the name of a run is beyond the end": _offset(_run_name, HUGE),
    "the name of an event has 2^31 characters": _text_length(lambda e: e.field(_profile(e), 0), 1 << 31),
    "the metadata has 2^32 - 1 bytes": _text_length(lambda e: e.field(_profile(e), 5), HUGE),
    "the name of a run is not UTF-8": lambda e: e.write(e.follow(_run_name(e)) + 4, HUGE),
    "the name of an allocator is beyond the end": lambda e: e.write(
        e.field(e.item(e.follow(e.field(e.run, 2)), 0), 0), HUGE
    ),
    "2^32 - 1 allocators": lambda e: e.write(e.follow(e.field(e.run, 2)), HUGE),
    "a value of an unknown kind": lambda e: e.write(e.field(_value(e), 0), 99, "B"),
    "a tensor of an unknown dtype": lambda e: e.write(e.field(_tensor(e), 0), 99, "B"),
    "a tensor of 2^32 - 1 sizes": _text_length(lambda e: e.field(_tensor(e), 1), HUGE),
    "a list of 2^32 - 1 tensors": lambda e: e.write(_tensors(e), HUGE),
    "a tensor begins in the middle of another": lambda e: e.point(_tensors(e) + 4, _tensor(e) + 2),
    "one run a thousand times": _shared_runs(1_000),
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("read", [read_trace, deserialize_from_etdump_flatcc])
def test_a_hostile_trace_is_refused_or_read_in_part(read: Callable[[bytes], object], hostile: str) -> None:
    editor = _Editor()
    HOSTILE[hostile](editor)
    try:
        read(bytes(editor.data))
    except MalformedProgramError as error:
        assert "byte" in str(error) or "trace" in str(error)


def test_the_reader_reports_the_parts_that_it_leaves_out() -> None:
    assert read_trace(bytes(_whole())).missing == []
    reported = 0
    for name, change in HOSTILE.items():
        if "thousand" in name:
            continue  # reading it takes long: the reader stops only at its limit of work
        editor = _Editor()
        change(editor)
        try:
            reported += bool(read_trace(bytes(editor.data)).missing)
        except MalformedProgramError:
            reported += 1
    # In the others, the changed field or text counts as absent.
    assert reported >= 20


@pytest.mark.parametrize("read", [read_trace, deserialize_from_etdump_flatcc])
def test_a_trace_that_repeats_a_run_is_refused_by_its_size(read: Callable[[bytes], object]) -> None:
    editor = _Editor()
    _shared_runs(1_000)(editor)
    with pytest.raises(MalformedProgramError, match=r"refers to more|outside of the file"):
        read(bytes(editor.data))


def test_an_untouched_trace_is_read_whole() -> None:
    trace = read_trace(bytes(_whole()))
    assert trace.runs[0].allocations == [("arena", 64)]
    assert [event.name for event in trace.runs[0].debug] == ["debugged", None]
    assert deserialize_from_etdump_flatcc(bytes(_whole())).run_data[0].events[0].profile_event is not None
