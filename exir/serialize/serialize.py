# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Serialize a PteFile: data move to segments after the flatbuffer, without copies of large parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from executorch.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    Buffer,
    BytesLike,
    DataLocation,
    NamedData,
    Program,
    SubsegmentOffsets,
)
from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.errors import SerializationError
from executorch.exir.serialize.header import ExtendedHeader
from executorch.exir.serialize.pte_file import NamedBlob, PteFile, PteLayout
from executorch.exir.serialize.segments import SegmentArea, assemble_file
from executorch.exir.serialize.tables import INLINE_DATA_ALIGNMENT, PROGRAM
from executorch.exir.serialize.writer import FlatbufferWriter

_DEFAULT_LAYOUT = PteLayout()
_BLOCK = 1 << 16


def serialize_pte(file: PteFile, layout: PteLayout = _DEFAULT_LAYOUT) -> Cord:
    """Return the bytes of a `.pte` file. Raises SerializationError if a value does not fit the format.

    The result references the buffers of `file`, which must not change before it is written.
    """
    area = SegmentArea()
    program = file.program
    tensor_alignment = layout.constant_tensor_alignment or INLINE_DATA_ALIGNMENT
    alignments = _alignments(file.named_data, layout)
    shared = _shared_blobs(program.constant_buffer, file.named_data, alignments)
    constants = _subsegments(program.constant_buffer, tensor_alignment, area, layout, shared)
    mutable = _subsegments(file.mutable_data, tensor_alignment, area, layout, {}) if file.mutable_data else None
    program = replace(
        program,
        constant_buffer=[],
        constant_segment=constants,
        mutable_data_segments=[mutable] if mutable else None,
        named_data=_add_named_data(file.named_data, area, alignments, _placed(shared, constants, area)) or None,
    )
    if layout.extract_delegate_segments:
        program = _extract_delegates(program, area, layout)
    program = replace(program, segments=area.segments)
    return _assemble(program, area, layout)


@dataclass(frozen=True)
class _SharedBlob:
    """Named data that are the bytes of a constant. identity: id() of the data; alignment in bytes."""

    identity: int
    alignment: int


def _alignments(named: dict[str, NamedBlob], layout: PteLayout) -> dict[int, int]:
    """The alignment of each distinct blob, by id() of its data."""
    alignments: dict[int, int] = {}
    for blob in named.values():
        alignments[id(blob.data)] = lcm(alignments.get(id(blob.data), layout.segment_alignment), blob.alignment)
    return alignments


def _shared_blobs(
    constants: Sequence[Buffer], named: dict[str, NamedBlob], alignments: dict[int, int]
) -> dict[int, _SharedBlob]:
    """Find constants whose bytes a delegate has as well, such as an embedding that is also the output layer.

    The result maps the index of a constant to its blob. Padding a constant costs up to the blob's alignment, so smaller
    constants are stored twice.
    """
    blobs: dict[tuple[int, bytes], dict[int, BytesLike]] = {}
    for blob in named.values():
        if len(blob.data) > alignments[id(blob.data)]:
            blobs.setdefault(_size_and_head(blob.data), {})[id(blob.data)] = blob.data
    shared = {}
    for index, constant in enumerate(constants):
        alike = blobs.get(_size_and_head(constant.storage), {})
        for identity, data in alike.items():
            if _are_equal(constant.storage, data):
                shared[index] = _SharedBlob(identity, alignments[identity])
                del alike[identity]
                break
    return shared


def _size_and_head(data: BytesLike) -> tuple[int, bytes]:
    """Return a key that different data rarely share. Sizes are not enough: many weights of a model have one size."""
    return len(data), bytes(data[:64])


def _are_equal(left: BytesLike, right: BytesLike) -> bool:
    """Compare bytes a block at a time: bytes compare faster than views, whose copies must stay small."""
    views = memoryview(left).cast("B"), memoryview(right).cast("B")
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(views[0]), _BLOCK))
    return all(bytes(views[0][block]) == bytes(views[1][block]) for block in blocks)


def _subsegments(
    buffers: Sequence[Buffer],
    tensor_alignment: int,
    area: SegmentArea,
    layout: PteLayout,
    shared: dict[int, _SharedBlob],
) -> SubsegmentOffsets:
    """Put all buffers in one segment. Entry 0 means "no data", and exists even without other entries.

    shared: alignment of buffers that are also named data.
    """
    if buffers and len(buffers[0].storage):
        raise SerializationError(f"buffer 0 is reserved and must be empty; found {len(buffers[0].storage)} bytes")
    data, offsets = Cord(), []
    for index, buffer in enumerate(buffers):
        if len(buffer.storage):
            data.pad_to(lcm(tensor_alignment, shared[index].alignment) if index in shared else tensor_alignment)
        offsets.append(len(data) if len(buffer.storage) else 0)
        data.append(buffer.storage)
    if len(buffers) <= 1:
        return SubsegmentOffsets(0, [0])
    alignment = lcm(layout.segment_alignment, tensor_alignment, *(blob.alignment for blob in shared.values()))
    return SubsegmentOffsets(area.add(data, alignment), offsets)


def _placed(shared: dict[int, _SharedBlob], constants: SubsegmentOffsets, area: SegmentArea) -> dict[int, int]:
    """Return the offsets in the area of blobs whose bytes are in the constants' segment, by id() of their data."""
    if not shared:
        return {}
    start = area.segments[constants.segment_index].offset
    return {blob.identity: start + constants.offsets[index] for index, blob in shared.items()}


def _add_named_data(
    named: dict[str, NamedBlob], area: SegmentArea, alignments: dict[int, int], shared: dict[int, int]
) -> list[NamedData]:
    placed: dict[int, int] = {}
    rows = []
    for key, blob in named.items():
        identity = id(blob.data)
        if identity not in placed:
            if identity in shared:
                placed[identity] = area.add_part(shared[identity], len(blob.data))
            else:
                placed[identity] = area.add(Cord(blob.data), alignments[identity])
        rows.append(NamedData(key, placed[identity]))
    return rows


def _extract_delegates(program: Program, area: SegmentArea, layout: PteLayout) -> Program:
    alignment = lcm(layout.segment_alignment, layout.delegate_alignment or 1)
    segments = [area.add(Cord(inline.data), alignment) for inline in program.backend_delegate_data]

    def moved(delegate: BackendDelegate) -> BackendDelegate:
        processed = delegate.processed
        if processed.location is not DataLocation.INLINE:
            raise SerializationError(f"delegate {delegate.id}: its data is already in segment {processed.index}")
        if not 0 <= processed.index < len(segments):
            raise SerializationError(
                f"delegate {delegate.id}: data index {processed.index} is not below {len(segments)}"
            )
        segment = BackendDelegateDataReference(DataLocation.SEGMENT, segments[processed.index])
        return replace(delegate, processed=segment)

    plans = [
        replace(plan, delegates=[moved(delegate) for delegate in plan.delegates]) for plan in program.execution_plan
    ]
    return replace(program, execution_plan=plans, backend_delegate_data=[])


def _assemble(program: Program, area: SegmentArea, layout: PteLayout) -> Cord:
    writer = FlatbufferWriter(PROGRAM, max(layout.delegate_alignment or 1, INLINE_DATA_ALIGNMENT))
    flatbuffer = writer.finish(program)
    block = max(ExtendedHeader.LENGTH, writer.alignment)
    program_size = len(flatbuffer) + block
    header = ExtendedHeader(program_size, area.first_segment_offset(program_size), len(area.data))
    return assemble_file(bytes(header), block, flatbuffer, area)
