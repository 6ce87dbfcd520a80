# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Deserialize a PteFile: data in segments returns to the tables in which the emitter put it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

from executorch.exir.scalar_type import element_size
from executorch.exir.schema import (
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    BytesLike,
    DataLocation,
    DataSegment,
    Program,
    SubsegmentOffsets,
    Tensor,
    TensorDataLocation,
)
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.exir.serialize.header import find_extended_header
from executorch.exir.serialize.pte_file import NamedBlob, PteFile
from executorch.exir.serialize.reader import FlatbufferReader
from executorch.exir.serialize.tables import PROGRAM


def deserialize_pte(data: BytesLike) -> PteFile:
    """Read a `.pte` file. Raises MalformedProgramError for invalid bytes.

    Constants, payloads and named blobs are views of `data`, not copies.
    """
    view = memoryview(data).cast("B")
    header = find_extended_header(view)
    program = FlatbufferReader(view[: header.program_size] if header else view, PROGRAM).root(Program)
    base, size = (header.segment_base_offset, header.segment_data_size) if header else (0, 0)
    segments = [_segment(view, base, size, i, row) for i, row in enumerate(program.segments)]

    constants = program.constant_buffer
    if program.constant_segment.offsets:
        if any(len(buffer.storage) for buffer in constants):
            raise MalformedProgramError("constants: expected them inline or in a segment; found both")
        constants = _split(program.constant_segment, segments, _constant_sizes(program, mutable=False))
    if program.mutable_data_segments and len(program.mutable_data_segments) > 1:
        raise MalformedProgramError(f"expected one segment of mutable data; found {len(program.mutable_data_segments)}")
    mutable = None
    if program.mutable_data_segments:
        mutable = _split(program.mutable_data_segments[0], segments, _constant_sizes(program, mutable=True))
    named = {row.key: NamedBlob(_pick(segments, row.segment_index, row.key)) for row in program.named_data or []}
    restored = replace(
        _inline_delegates(program, segments),
        constant_buffer=constants,
        constant_segment=SubsegmentOffsets(0, []),
        mutable_data_segments=None,
        named_data=None,
        segments=[],
    )
    return PteFile(restored, mutable, named)


def _segment(view: memoryview, base: int, area: int, index: int, row: DataSegment) -> memoryview:
    if row.offset + row.size > area:
        raise MalformedProgramError(
            f"segment {index}: {row.size} bytes at {row.offset} end outside of the segments' {area} bytes"
        )
    return view[base + row.offset : base + row.offset + row.size]


def _pick(segments: Sequence[memoryview], index: int, user: str) -> memoryview:
    if index >= len(segments):
        raise MalformedProgramError(f"{user}: expected a segment below {len(segments)}; found {index}")
    return segments[index]


def _constant_sizes(program: Program, mutable: bool) -> dict[int, int]:
    """Return {buffer index: size} from the tensors that use it: the file records only where a buffer begins."""
    sizes: dict[int, int] = {}
    for plan in program.execution_plan:
        for value in plan.values:
            tensor = value.val
            if not isinstance(tensor, Tensor) or (tensor.allocation_info is not None) is not mutable:
                continue
            info = tensor.extra_tensor_info
            if info is not None and info.location is TensorDataLocation.EXTERNAL:
                continue
            nbytes = prod(tensor.sizes) * element_size(tensor.scalar_type)
            sizes[tensor.data_buffer_idx] = max(nbytes, sizes.get(tensor.data_buffer_idx, 0))
    return sizes


def _split(parts: SubsegmentOffsets, segments: Sequence[memoryview], sizes: dict[int, int]) -> list[Buffer]:
    """Return the buffers of one segment; entry 0 is reserved. A buffer without tensors extends to the next one."""
    if len(parts.offsets) <= 1:
        return [Buffer(b"") for _ in parts.offsets]
    segment = _pick(segments, parts.segment_index, "constant tensors")
    starts = sorted(set(parts.offsets) | {len(segment)})
    following = dict(pairwise(starts))
    buffers = [Buffer(b"")]
    for index, offset in enumerate(parts.offsets[1:], start=1):
        size = sizes.get(index, following.get(offset, offset) - offset)
        if size < 0 or offset + size > len(segment):
            raise MalformedProgramError(
                f"constant {index}: {size} bytes at {offset} end outside of the segment's {len(segment)} bytes"
            )
        buffers.append(Buffer(segment[offset : offset + size]))
    return buffers


def _inline_delegates(program: Program, segments: Sequence[memoryview]) -> Program:
    used = sorted(
        {
            delegate.processed.index
            for plan in program.execution_plan
            for delegate in plan.delegates
            if delegate.processed.location is DataLocation.SEGMENT
        }
    )
    data = list(program.backend_delegate_data)
    new_index = {segment: len(data) + i for i, segment in enumerate(used)}
    data += [BackendDelegateInlineData(_pick(segments, segment, "a delegate")) for segment in used]

    def inlined(delegate: BackendDelegate) -> BackendDelegate:
        processed = delegate.processed
        if processed.location is DataLocation.INLINE:
            if processed.index >= len(data):
                raise MalformedProgramError(
                    f"delegate {delegate.id}: expected inline data below {len(data)}; found {processed.index}"
                )
            return delegate
        moved = BackendDelegateDataReference(DataLocation.INLINE, new_index[processed.index])
        return replace(delegate, processed=moved)

    plans = [
        replace(plan, delegates=[inlined(delegate) for delegate in plan.delegates]) for plan in program.execution_plan
    ]
    return replace(program, execution_plan=plans, backend_delegate_data=data)
