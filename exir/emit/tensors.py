# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tensor specs → tensor values: constant, planned, or bound at run time."""

from dataclasses import replace

import torch

from executorch.exir.emit.arguments import LAYOUTS
from executorch.exir.emit.constants import dense
from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.scalar_type import to_scalar_type
from executorch.exir.schema import AllocationDetails, ExtraTensorInfo, Tensor, TensorDataLocation
from executorch.exir.tensor import TensorSpec, ViewSpec, dim_order_from_stride

_OFFSET_BITS = 64
_LOW_BITS = 32
_MOST_DIMENSIONS = 16  # kTensorDimensionLimit of the runtime


def allocation(mem_id: int, mem_offset: int) -> AllocationDetails:
    """Raises ValueError for a place outside of the format's 64-bit offsets."""
    if mem_id < 1 or not 0 <= mem_offset < 1 << _OFFSET_BITS:
        raise ValueError(f"memory id {mem_id} with offset {mem_offset} is no place in memory")
    return AllocationDetails(mem_id, mem_offset & ((1 << _LOW_BITS) - 1), mem_offset >> _LOW_BITS)


def tensor_value(state: MethodState, spec: TensorSpec) -> Ref:
    """The value of a spec: made at the first use, the same one after that."""
    if spec not in state.spec_values:
        state.spec_values[spec] = state.fresh(_tensor(state, spec))
    return state.spec_values[spec]


def constant_tensor(state: MethodState, tensor: torch.Tensor, spec: TensorSpec | None = None) -> Ref:
    """The value of a constant; `spec` is what the graph knows of it and learns its layout."""
    tensor = dense(tensor)
    spec = TensorSpec(tensor.dtype, tensor.shape, requires_grad=False) if spec is None else spec
    _take_layout(spec, tensor)
    value = _describe(spec, state.program.constants.add(tensor), None)
    state.spec_values[spec] = state.fresh(value)
    return state.spec_values[spec]


def external_tensor(state: MethodState, tensor: torch.Tensor, spec: TensorSpec, name: str, file: str) -> Ref:
    """The value of a constant that the runtime finds by its name in the .ptd file `file`.

    Raises ValueError if methods of the program have different tensors of that name.
    """
    tensor = dense(tensor)
    _take_layout(spec, tensor)
    state.program.external.add_named_data(name, tensor, external_tag=file)
    value = _describe(spec, 0, None)
    value.extra_tensor_info = ExtraTensorInfo(fully_qualified_name=name, location=TensorDataLocation.EXTERNAL)
    state.spec_values[spec] = state.fresh(value)
    return state.spec_values[spec]


def mutable_tensor(
    state: MethodState, tensor: torch.Tensor, spec: TensorSpec, name: str, keep_zeros: bool = False
) -> Ref:
    """The value of a buffer that the method updates, with its initial content.

    A buffer of zeros is not stored (memory for mutable buffers starts zeroed), unless `keep_zeros`.
    """
    tensor = dense(tensor)
    spec.const = False
    spec.stride = tensor.stride()
    spec.dim_order = dim_order_from_stride(spec.stride)
    named = state.options.emit_mutable_buffer_names
    if (spec.mem_id is None or spec.mem_offset is None) and not named:
        raise ValueError(
            f"the mutable buffer {name!r} is not planned: plan mutable buffers, or emit their names "
            "(ExecutorchBackendConfig(emit_mutable_buffer_names=True))"
        )
    value = _tensor(state, spec)
    if value.allocation_info is not None and (keep_zeros or bool((tensor != 0).any())):
        value.data_buffer_idx = state.program.mutable_data.add(tensor)
    if named:
        info = value.extra_tensor_info or ExtraTensorInfo()
        value.extra_tensor_info = replace(info, fully_qualified_name=name)
    state.spec_values[spec] = state.fresh(value)
    return state.spec_values[spec]


def _take_layout(spec: TensorSpec, tensor: torch.Tensor) -> None:
    """A constant is as its data lie, whatever the graph thought."""
    spec.const = True
    spec.stride = tensor.stride()
    spec.dim_order = dim_order_from_stride(spec.stride)


def is_planned(spec: TensorSpec) -> bool:
    return spec.mem_id is not None and spec.mem_offset is not None


def _tensor(state: MethodState, spec: TensorSpec) -> Tensor:
    if spec.const:
        return _describe(spec, _constant_index(state, spec), None)
    mem_id, mem_offset = spec.mem_id, spec.mem_offset
    place = None if mem_id is None or mem_offset is None else allocation(mem_id, mem_offset)
    return _describe(spec, 0, place)


def _constant_index(state: MethodState, spec: TensorSpec) -> int:
    """The buffer of a constant that is known by its spec alone: a view of one in the graph, or one with a storage."""
    if isinstance(spec, ViewSpec):
        if spec.byte_offset:
            raise ValueError("a view of a constant that does not begin with its first byte is not supported")
        base = state.values[tensor_value(state, spec.base).id].val
        assert isinstance(base, Tensor)
        return base.data_buffer_idx
    if spec.storage is None:
        raise ValueError(f"a constant without data: {spec.debug()}")
    tensor = torch.empty(0, dtype=spec.dtype).set_(spec.storage, 0, tuple(spec.shape), spec.stride)
    return state.program.constants.add(tensor)


def _describe(spec: TensorSpec, data_buffer_idx: int, place: AllocationDetails | None) -> Tensor:
    if len(spec.shape) > _MOST_DIMENSIONS:
        raise ValueError(f"a tensor of rank {len(spec.shape)}; the runtime's tensors have at most {_MOST_DIMENSIONS}")
    sizes = [size if isinstance(size, int) else _upper_bound(size) for size in spec.shape]
    return Tensor(
        scalar_type=to_scalar_type(spec.dtype),
        storage_offset=0,
        sizes=sizes,
        dim_order=list(spec.dim_order),
        requires_grad=spec.requires_grad,
        layout=LAYOUTS[spec.layout],
        data_buffer_idx=data_buffer_idx,
        allocation_info=place,
        shape_dynamism=spec.shape_dynamism,
        extra_tensor_info=None if spec.extra_tensor_info is None else replace(spec.extra_tensor_info),
    )


def _upper_bound(size: object) -> int:
    raise ValueError(f"size {size} has no value: the pass that evaluates dynamic shapes to their bounds has not run")
