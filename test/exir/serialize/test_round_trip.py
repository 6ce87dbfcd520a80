# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Reading returns the written program, for any content and layout."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle.models.programs import files

from executorch.exir import schema as s
from executorch.exir.serialize import (
    Cord,
    NamedBlob,
    PteFile,
    PteLayout,
    SerializationError,
    deserialize_pte,
    serialize_pte,
)
from executorch.exir.serialize.header import find_extended_header
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.tables import PROGRAM

layouts = st.builds(
    PteLayout,
    st.booleans(),
    st.sampled_from([1, 16, 128, 4096]),
    st.sampled_from([None, 1, 64]),
    st.sampled_from([None, 8, 32, 256]),
)


def empty_program(**parts: object) -> s.Program:
    return s.Program(0, [], [s.Buffer(b"")], [], **parts)  # type: ignore[arg-type]


def constants(*sizes: int) -> s.Program:
    buffers = [s.Buffer(b""), *(s.Buffer(bytes([i + 1]) * size) for i, size in enumerate(sizes))]
    values = [
        s.EValue(s.Tensor(s.ScalarType.BYTE, 0, [size], [0], False, 0, i + 1, None, s.TensorShapeDynamism.STATIC))
        for i, size in enumerate(sizes)
    ]
    plan = s.ExecutionPlan("forward", s.ContainerMetadata("", ""), values, [], [], [s.Chain([], [], [])], [], [], [0])
    return s.Program(0, [plan], buffers, [])


@settings(deadline=None, max_examples=150)
@given(files(), layouts)
def test_a_file_is_read_back_as_it_was_written(file: PteFile, layout: PteLayout) -> None:
    program_file = deserialize_pte(bytes(serialize_pte(file, layout)))
    assert program_file.program == file.program
    assert program_file.mutable_data == file.mutable_data
    assert {key: blob.data for key, blob in program_file.named_data.items()} == {
        key: blob.data for key, blob in file.named_data.items()
    }


@settings(deadline=None, max_examples=60)
@given(files(), layouts)
def test_every_part_is_aligned(file: PteFile, layout: PteLayout) -> None:
    data = bytes(serialize_pte(file, layout))
    header = find_extended_header(data)
    assert header is not None
    program = FlatbufferReader(data[: header.program_size], PROGRAM).root(s.Program)
    assert header.segment_base_offset % layout.segment_alignment == 0
    assert header.segment_base_offset + header.segment_data_size == (len(data) if program.segments else 0)
    assert all(segment.offset % layout.segment_alignment == 0 for segment in program.segments)
    offsets = program.constant_segment.offsets
    assert offsets[0] == 0 and all(offset % (layout.constant_tensor_alignment or 16) == 0 for offset in offsets)


@pytest.mark.parametrize("alignment", [16, 32, 64, 1024])
def test_inline_payloads_are_aligned_in_the_file(alignment: int) -> None:
    payload = b"\xab" * 77
    reference = s.BackendDelegateDataReference(s.DataLocation.INLINE, 0)
    plan = s.ExecutionPlan(
        "f", s.ContainerMetadata("", ""), [], [], [], [], [], [s.BackendDelegate("b", reference, [])], [0]
    )
    program = s.Program(0, [plan], [s.Buffer(b"")], [s.BackendDelegateInlineData(payload)])
    layout = PteLayout(extract_delegate_segments=False, delegate_alignment=alignment)
    assert bytes(serialize_pte(PteFile(program), layout)).find(payload) % alignment == 0


def test_named_blobs_of_one_object_share_a_segment_with_the_largest_alignment() -> None:
    shared = b"\x11" * 50
    named = {"a": NamedBlob(shared, 8), "b": NamedBlob(shared, 512), "c": NamedBlob(b"\x22" * 3)}
    data = bytes(serialize_pte(PteFile(empty_program(), named_data=named)))
    assert data.count(shared) == 1 and data.find(shared) % 512 == 0
    assert {key: bytes(blob.data) for key, blob in deserialize_pte(data).named_data.items()} == {
        key: blob.data for key, blob in named.items()
    }


def test_a_constant_that_is_also_a_named_blob_is_written_once() -> None:
    named = {"a": NamedBlob(b"\2" * 5000, 512), "b": NamedBlob(b"\3" * 5000), "c": NamedBlob(b"\4" * 5001)}
    file = PteFile(constants(10, 5000, 5000, 5000), named_data=named)
    data = bytes(serialize_pte(file))
    assert [data.count(bytes([value]) * 5000) for value in (2, 3, 4)] == [1, 1, 2]
    assert data.find(b"\2" * 5000) % 512 == 0 and data.find(b"\3" * 5000) % 128 == 0
    program_file = deserialize_pte(data)
    assert program_file.program == file.program
    assert {key: blob.data for key, blob in program_file.named_data.items()} == {
        key: blob.data for key, blob in named.items()
    }


def test_large_data_is_neither_copied_nor_joined_before_it_is_written() -> None:
    program = constants(1000, 10, 0, 777)
    cord = serialize_pte(PteFile(program))
    large = memoryview(program.constant_buffer[1].storage)
    assert any(part.obj is large.obj for part in cord)
    file = io.BytesIO()
    cord.write_to_file(file)
    assert file.getvalue() == bytes(cord) and len(cord) == len(file.getvalue())


def test_a_cord_pads_and_joins() -> None:
    cord = Cord(b"abc", b"", bytearray(b"d"))
    cord.pad_to(4)
    cord.append(Cord(b"e"))
    cord.pad_to(4)
    assert bytes(cord) == b"abcde\0\0\0" and len(cord) == 8


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (empty_program(constant_segment=None), None),
        (s.Program(-1, [], [s.Buffer(b"")], []), "Program.version"),
        (s.Program(0, [], [s.Buffer(b"x")], []), "buffer 0 is reserved"),
        (
            s.Program(0, [s.ExecutionPlan("f", None, [], [], [], [], [], [], [0])], [s.Buffer(b"")], []),  # type: ignore[arg-type]
            "ExecutionPlan.container_meta_type",
        ),
        (
            s.Program(
                0,
                [s.ExecutionPlan("f", s.ContainerMetadata("", ""), [], [2**40], [], [], [], [], [0])],
                [s.Buffer(b"")],
                [],
            ),
            "ExecutionPlan.inputs",
        ),
        (
            s.Program(
                0,
                [s.ExecutionPlan("f", s.ContainerMetadata("", ""), [s.EValue(7)], [], [], [], [], [], [0])],  # type: ignore[arg-type]
                [s.Buffer(b"")],
                [],
            ),
            "EValue.val: expected one of Null",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_the_name_of_its_field(program: s.Program, names: str | None) -> None:
    if names is None:
        serialize_pte(PteFile(program))  # The serializer makes this part itself.
        return
    with pytest.raises(SerializationError, match=names):
        serialize_pte(PteFile(program))


@pytest.mark.parametrize("alignment", [0, 3, -16])
def test_an_alignment_is_a_power_of_two(alignment: int) -> None:
    with pytest.raises(SerializationError, match="power of two"):
        PteLayout(segment_alignment=alignment)
