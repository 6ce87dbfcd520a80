# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensor specs as values of the program format: layouts, element types, places in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from executorch.exir.scalar_type import to_scalar_type
from executorch.exir.schema import AllocationDetails, Tensor

if TYPE_CHECKING:
    from executorch.exir.tensor import TensorSpec

LAYOUTS = {torch.strided: 0, torch.sparse_coo: 1}
_OFFSET_BITS = 64
_LOW_BITS = 32
_MAX_DIMENSIONS = 16  # kTensorDimensionLimit of the runtime


class AddressSpaceOverflowException(Exception):
    """An offset does not fit in the format's 64 bits."""


def layout_enum(layout: torch.layout) -> int:
    """Return the format's number of a layout. Raises ValueError for a layout that the format does not have."""
    if layout not in LAYOUTS:
        raise ValueError(f"expected one of the layouts {[str(known) for known in LAYOUTS]}, found {layout}")
    return LAYOUTS[layout]


def make_allocation_info(mem_id: int, mem_offset: int) -> AllocationDetails:
    """Return a place in planned memory.

    Args:
        mem_id: The arena, from 1.
        mem_offset: Bytes from the arena's start.

    Raises:
        ValueError: The arena is below 1, or the offset is negative.
        AddressSpaceOverflowException: The offset needs more than 64 bits.
    """
    if mem_id < 1 or mem_offset < 0:
        raise ValueError(f"expected an arena from 1 and an offset from 0, found arena {mem_id}, offset {mem_offset}")
    if mem_offset >= 1 << _OFFSET_BITS:
        raise AddressSpaceOverflowException(f"offset {mem_offset} does not fit in {_OFFSET_BITS} bits")
    return AllocationDetails(mem_id, mem_offset & ((1 << _LOW_BITS) - 1), mem_offset >> _LOW_BITS)


def make_tensor_value(data_buffer_idx: int, allocation_info: AllocationDetails | None, spec: TensorSpec) -> Tensor:
    """Return the program's value for a spec.

    Args:
        data_buffer_idx: Index of its bytes among the constants; 0 if it has none.
        allocation_info: Its place in planned memory; None if it has none.
        spec: The tensor. Its sizes are numbers.

    Raises:
        ValueError: A size is symbolic, or the tensor has more dimensions than the runtime's tensors.
    """
    if len(spec.shape) > _MAX_DIMENSIONS:
        raise ValueError(f"a tensor of rank {len(spec.shape)}; the runtime's tensors have at most {_MAX_DIMENSIONS}")
    symbolic = [size for size in spec.shape if not isinstance(size, int)]
    if symbolic:
        raise ValueError(
            f"size {symbolic[0]} has no value: the pass that evaluates dynamic shapes to their bounds has not run"
        )
    return Tensor(
        scalar_type=to_scalar_type(spec.dtype),
        storage_offset=0,
        sizes=list(spec.shape),
        dim_order=list(spec.dim_order),
        requires_grad=spec.requires_grad,
        layout=layout_enum(spec.layout),
        data_buffer_idx=data_buffer_idx,
        allocation_info=allocation_info,
        shape_dynamism=spec.shape_dynamism,
        extra_tensor_info=None if spec.extra_tensor_info is None else replace(spec.extra_tensor_info),
    )
