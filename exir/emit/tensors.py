# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emit tensor values of specs: constant, planned, or bound at run time."""

from dataclasses import replace

import torch

from executorch.exir.emit.constants import dense
from executorch.exir.emit.state import MethodState, Ref
from executorch.exir.format.tensor_format import make_allocation_info, make_tensor_value
from executorch.exir.schema import ExtraTensorInfo, Tensor, TensorDataLocation
from executorch.exir.tensor import TensorSpec, ViewSpec, dim_order_from_stride


def tensor_value(state: MethodState, spec: TensorSpec) -> Ref:
    """Return the value of a spec, which the first use creates."""
    if spec not in state.spec_values:
        state.spec_values[spec] = state.fresh(_tensor(state, spec))
    return state.spec_values[spec]


def constant_tensor(state: MethodState, tensor: torch.Tensor, spec: TensorSpec | None = None) -> Ref:
    """Return the value of a constant. `spec`, its spec in the graph, gets the tensor's layout."""
    tensor = dense(tensor)
    spec = TensorSpec(tensor.dtype, tensor.shape, requires_grad=False) if spec is None else spec
    _take_layout(spec, tensor)
    value = make_tensor_value(state.program.constants.add(tensor), None, spec)
    state.spec_values[spec] = state.fresh(value)
    return state.spec_values[spec]


def external_tensor(state: MethodState, tensor: torch.Tensor, spec: TensorSpec, name: str, file: str) -> Ref:
    """Return the value of a constant in the .ptd file `file`, where the runtime finds it by name.

    Raises ValueError if methods of the program have different tensors with this name.
    """
    tensor = dense(tensor)
    _take_layout(spec, tensor)
    state.program.external.add_named_data(name, tensor, external_tag=file)
    value = make_tensor_value(0, None, spec)
    value.extra_tensor_info = ExtraTensorInfo(fully_qualified_name=name, location=TensorDataLocation.EXTERNAL)
    state.spec_values[spec] = state.fresh(value)
    return state.spec_values[spec]


def mutable_tensor(
    state: MethodState, tensor: torch.Tensor, spec: TensorSpec, name: str, keep_zeros: bool = False
) -> Ref:
    """Return the value of a buffer that the method updates, with its initial content.

    The file omits the zeros of a zero buffer (memory of mutable buffers starts zeroed), unless `keep_zeros`. Raises
    ValueError if the buffer is neither planned nor emitted with its name.
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
    """Mark a spec as constant, with the layout of its data."""
    spec.const = True
    spec.stride = tensor.stride()
    spec.dim_order = dim_order_from_stride(spec.stride)


def is_planned(spec: TensorSpec) -> bool:
    """Return whether the memory plan has assigned an arena and an offset."""
    return spec.mem_id is not None and spec.mem_offset is not None


def _tensor(state: MethodState, spec: TensorSpec) -> Tensor:
    if spec.const:
        return make_tensor_value(_constant_index(state, spec), None, spec)
    mem_id, mem_offset = spec.mem_id, spec.mem_offset
    place = None if mem_id is None or mem_offset is None else make_allocation_info(mem_id, mem_offset)
    return make_tensor_value(0, place, spec)


def _constant_index(state: MethodState, spec: TensorSpec) -> int:
    """Return the buffer of a constant without placeholder: a view of a constant, or a spec with a storage."""
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
