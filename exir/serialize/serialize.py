# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Serialize a PteFile: data move to segments after the flatbuffer, without copies of large parts."""

from collections.abc import Sequence
from dataclasses import replace
from math import lcm

from executorch.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    Buffer,
    DataLocation,
    NamedData,
    Program,
    SubsegmentOffsets,
)
from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.errors import SerializationError
from executorch.exir.serialize.header import ExtendedHeader
from executorch.exir.serialize.pte_file import NamedBlob, PteFile, PteLayout
from executorch.exir.serialize.segments import SegmentArea, behind_header
from executorch.exir.serialize.tables import INLINE_DATA_ALIGNMENT, PROGRAM
from executorch.exir.serialize.writer import FlatbufferWriter

_DEFAULT_LAYOUT = PteLayout()


def serialize_pte(file: PteFile, layout: PteLayout = _DEFAULT_LAYOUT) -> Cord:
    """Return the bytes of a `.pte` file. Raises SerializationError if a value does not fit the format.

    The result references the buffers of `file`, which must not change before it is written.
    """
    area = SegmentArea()
    program = file.program
    tensor_alignment = layout.constant_tensor_alignment or INLINE_DATA_ALIGNMENT
    constants = _subsegments(program.constant_buffer, tensor_alignment, area, layout)
    mutable = _subsegments(file.mutable_data, tensor_alignment, area, layout) if file.mutable_data else None
    program = replace(
        program,
        constant_buffer=[],
        constant_segment=constants,
        mutable_data_segments=[mutable] if mutable else None,
        named_data=_add_named_data(file.named_data, area, layout) or None,
    )
    if layout.extract_delegate_segments:
        program = _extract_delegates(program, area, layout)
    program = replace(program, segments=area.segments)
    return _assemble(program, area, layout)


def _subsegments(
    buffers: Sequence[Buffer], tensor_alignment: int, area: SegmentArea, layout: PteLayout
) -> SubsegmentOffsets:
    """Put all buffers in one segment. Entry 0 means "no data", and exists even without other entries."""
    if buffers and len(buffers[0].storage):
        raise SerializationError(f"buffer 0 is reserved and must be empty; found {len(buffers[0].storage)} bytes")
    data, offsets = Cord(), []
    for buffer in buffers:
        if len(buffer.storage):
            data.pad_to(tensor_alignment)
        offsets.append(len(data) if len(buffer.storage) else 0)
        data.append(buffer.storage)
    if len(buffers) <= 1:
        return SubsegmentOffsets(0, [0])
    return SubsegmentOffsets(area.add(data, lcm(layout.segment_alignment, tensor_alignment)), offsets)


def _add_named_data(named: dict[str, NamedBlob], area: SegmentArea, layout: PteLayout) -> list[NamedData]:
    alignments: dict[int, int] = {}
    for blob in named.values():
        alignments[id(blob.data)] = lcm(alignments.get(id(blob.data), layout.segment_alignment), blob.alignment)
    placed: dict[int, int] = {}
    rows = []
    for key, blob in named.items():
        if id(blob.data) not in placed:
            placed[id(blob.data)] = area.add(Cord(blob.data), alignments[id(blob.data)])
        rows.append(NamedData(key, placed[id(blob.data)]))
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

    plans = [replace(plan, delegates=[moved(each) for each in plan.delegates]) for plan in program.execution_plan]
    return replace(program, execution_plan=plans, backend_delegate_data=[])


def _assemble(program: Program, area: SegmentArea, layout: PteLayout) -> Cord:
    writer = FlatbufferWriter(PROGRAM, max(layout.delegate_alignment or 1, INLINE_DATA_ALIGNMENT))
    flatbuffer = writer.finish(program)
    block = max(ExtendedHeader.LENGTH, writer.alignment)
    program_size = len(flatbuffer) + block
    header = ExtendedHeader(program_size, area.base_behind(program_size), len(area.data))
    return behind_header(bytes(header), block, flatbuffer, area)
