# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""TensorSpec: dtype, sizes, layout and planned memory of a tensor value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

from executorch.exir.error import internal_assert
from executorch.exir.format.tensor_format import (
    AddressSpaceOverflowException,
    layout_enum,
    make_allocation_info,
    make_tensor_value,
)
from executorch.exir.scalar_type import ScalarType, to_dtype, to_scalar_type
from executorch.exir.schema import DeviceType, ExtraTensorInfo, TensorShapeDynamism

__all__ = [
    "ALIGNMENT",
    "AddressSpaceOverflowException",
    "TensorSpec",
    "ViewSpec",
    "ZeroStrideError",
    "calculate_aligned_num_bytes",
    "check_spec",
    "contiguous_stride_from_shape",
    "determine_tensor_dynanism",
    "dim_order_from_stride",
    "enum_to_scalar_map",
    "get_scalar_type",
    "layout_enum",
    "make_allocation_info",
    "make_tensor_value",
    "memory_format_enum",
    "num_bytes_from_shape_and_dtype",
    "scalar_type_enum",
    "scalar_type_table",
    "stride_from_dim_order",
]

ALIGNMENT = 16
"""Default alignment in bytes of a tensor in planned memory."""


def contiguous_stride_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a row-major tensor in elements. A size of 0 counts as 1, as in torch."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step = step if isinstance(size, int) and size == 0 else step * size
    return tuple(reversed(strides))


class ZeroStrideError(ValueError, RuntimeError):
    """A stride is 0, which no dim order can express. ExecuTorch 1.4 raises RuntimeError."""


def dim_order_from_stride(stride: Sequence[int]) -> tuple[int, ...]:
    """Return the dimensions from the outermost (largest stride) to the innermost; equal strides keep their order.

    Sizes (3, 5, 2) with strides (5, 1, 15) give (2, 0, 1). Raises ZeroStrideError for a stride of 0 (an expanded
    tensor).
    """
    for step in stride:
        if isinstance(step, int) and step == 0:
            raise ZeroStrideError(f"strides {tuple(stride)}: a dim order cannot express a stride of 0; copy the tensor")

    def compare(left: int, right: int) -> int:
        a, b = stride[left], stride[right]
        if guard_or_false(a > b):
            return -1
        if guard_or_false(a < b):
            return 1
        # With symbolic sizes, a stride is outer if it is a multiple of the other one.
        if not (isinstance(a, int) and isinstance(b, int)) and guard_or_true(a != b):
            if guard_or_false(a % b == 0):
                return -1
            return 1 if guard_or_false(b % a == 0) else 0
        return 0

    return tuple(sorted(range(len(stride)), key=cmp_to_key(compare)))


def stride_from_dim_order(sizes: Sequence[int], dim_order: Sequence[int]) -> list[int]:
    """Return the strides in elements: sizes (2, 3, 4) with dim order (0, 2, 1) give [12, 1, 3]."""
    strides, step = [1] * len(sizes), 1
    for dim in reversed(dim_order):
        strides[dim] = step
        step = step if sizes[dim] == 0 else step * sizes[dim]
    return strides


def determine_tensor_dynanism(shape: Sequence[int]) -> TensorShapeDynamism:
    """Return STATIC for constant sizes, DYNAMIC_BOUND if all sizes have a hint, else DYNAMIC_UNBOUND."""
    if all(isinstance(size, int) for size in shape):
        return TensorShapeDynamism.STATIC
    # Reading a symbol's value would make it a constant; reading its node's hint does not.
    has_hints = all(not isinstance(size, torch.SymInt) or size.node.has_hint() for size in shape)
    return TensorShapeDynamism.DYNAMIC_BOUND if has_hints else TensorShapeDynamism.DYNAMIC_UNBOUND


def num_bytes_from_shape_and_dtype(shape: Sequence[int], dtype: torch.dtype) -> int:
    """Return the size in bytes of a dense tensor."""
    return math.prod(shape) * dtype.itemsize


def calculate_aligned_num_bytes(num: int, alignment: int) -> int:
    """Return `num` rounded up to a multiple of `alignment`."""
    return -(-num // alignment) * alignment


class TensorSpec:
    """The description of a tensor value, shared by all nodes that denote it.

    lifetime: [first, last] step at which it must hold its value. mem_id: the arena it is planned in, from 1;
    mem_offset: bytes from the arena's start; None: not planned. storage: the bytes of a constant. symbolic_shape: the
    sizes before they were replaced by their bounds; None: they were not.
    """

    symbolic_shape: Sequence[object] | None = None

    def __init__(
        self,
        dtype: torch.dtype,
        shape: torch.Size | Sequence[int],
        layout: torch.layout = torch.strided,
        is_sparse: bool = False,
        const: bool = False,
        requires_grad: bool = False,
        extra_tensor_info: ExtraTensorInfo | None = None,
    ) -> None:
        self.scalar_type = dtype
        self.const = const
        self.alignment: int = ALIGNMENT
        self.storage: torch.UntypedStorage | None = None
        self.shape: list[int] = list(shape)
        self.stride: tuple[int, ...] = contiguous_stride_from_shape(shape)
        self.dim_order: tuple[int, ...] = dim_order_from_stride(self.stride)
        self.requires_grad = requires_grad
        self.layout = layout
        self.is_sparse = is_sparse
        self.shape_dynamism: TensorShapeDynamism = determine_tensor_dynanism(self.shape)
        self.extra_tensor_info = extra_tensor_info
        self.device: DeviceType = DeviceType.CPU
        self.device_index: int = 0
        self.init_mem_planning_fields()

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, const: bool = False) -> TensorSpec:
        """Return the spec of a real or fake tensor. A constant's spec has its bytes (a dense copy if it is a view)."""
        if const:
            tensor = tensor.contiguous()
            if tensor.nbytes != tensor.untyped_storage().nbytes():
                tensor = tensor.clone()
        spec = cls(tensor.dtype, tensor.shape, tensor.layout, tensor.is_sparse, const, tensor.requires_grad)
        has_elements = not any(isinstance(size, int) and size == 0 for size in tensor.shape)
        if has_elements:  # without any, torch's strides may be 0
            spec.stride = tensor.stride()
            spec.dim_order = dim_order_from_stride(spec.stride)
        spec.storage = tensor.untyped_storage() if const else None
        return spec

    def init_mem_planning_fields(self) -> None:
        """Reset the memory plan."""
        self.lifetime: list[int | None] = [None, None]
        self.mem_id: int | None = None
        self.mem_obj_id: int | None = None
        self.mem_offset: int | None = None

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the elements."""
        return self.scalar_type

    def nbytes(self) -> int:
        """Return the size of its elements in bytes, at the upper bound of a dynamic shape."""
        return num_bytes_from_shape_and_dtype(self.shape, self.dtype)

    @property
    def allocated_memory(self) -> int:
        """Size in planned memory: nbytes() rounded up to its alignment."""
        return calculate_aligned_num_bytes(self.nbytes(), self.alignment)

    def realign(self, new_alignment: int) -> int:
        """Set the alignment. Return the new allocated_memory."""
        self.alignment = new_alignment
        return self.allocated_memory

    @property
    def is_dynamic_shape_tensor(self) -> bool:
        """True if a size changes at run time."""
        return self.shape_dynamism != TensorShapeDynamism.STATIC

    @property
    def is_static_shape_tensor(self) -> bool:
        """True if all sizes are constant."""
        return self.shape_dynamism == TensorShapeDynamism.STATIC

    @property
    def is_upper_bound_tensor(self) -> bool:
        """True if sizes change below upper bounds."""
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND

    @property
    def is_dynamic_unbound_tensor(self) -> bool:
        """True if a size has no upper bound."""
        return self.shape_dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND

    def debug(self) -> str:
        """One line with identity and plan."""
        return (
            f"TensorSpec(id={id(self)}, const={self.const}, scalar_type={self.scalar_type}, shape={self.shape}, "
            f"allocated_memory={self.allocated_memory}, mem_id={self.mem_id}, mem_offset={self.mem_offset}, "
            f"lifetime={self.lifetime}, shape_dynamism={self.shape_dynamism!s})"
        )

    def __repr__(self) -> str:
        return (
            f"TensorSpec(dtype={self.scalar_type}, shape={self.shape}, layout={self.layout}, "
            f"is_sparse={self.is_sparse}, shape_dynamism={self.shape_dynamism!s}, const={self.const}, "
            f"requires_grad={self.requires_grad}, device={self.device.name}:{self.device_index})"
        )


def _of_base(name: str) -> Any:
    """Return a property that reads and writes the attribute of the view's base."""

    def read(view: ViewSpec) -> object:
        return getattr(view.base, name)

    def write(view: ViewSpec, value: object) -> None:
        setattr(view.base, name, value)

    return property(read, write, doc=f"The base's {name}.")


class ViewSpec(TensorSpec):
    """A view: a tensor with its own sizes on its base's bytes from `byte_offset` on.

    Lifetime, arena and constness are the base's: setting one of them sets the base's. mem_offset is the base's plus
    `byte_offset`, and cannot be set through a view. A view of a view refers to the outermost base.
    Raises ValueError for a base that is not dense, or if the view would reach outside of its base.
    """

    lifetime = _of_base("lifetime")
    mem_id = _of_base("mem_id")
    mem_obj_id = _of_base("mem_obj_id")
    const = _of_base("const")
    storage = _of_base("storage")
    alignment = _of_base("alignment")
    device = _of_base("device")
    device_index = _of_base("device_index")
    extra_tensor_info = _of_base("extra_tensor_info")

    def __init__(
        self, base: TensorSpec, shape: Sequence[int], dim_order: Sequence[int] | None = None, byte_offset: int = 0
    ) -> None:
        if base.is_sparse or base.layout != torch.strided:
            raise ValueError(f"a view needs a dense strided base; found {base}")
        outer = base if isinstance(base, ViewSpec) else None
        self.base: TensorSpec = outer.base if outer else base
        self.byte_offset: int = byte_offset + (outer.byte_offset if outer else 0)
        self.scalar_type = base.scalar_type
        self.layout = base.layout
        self.is_sparse = False
        self.requires_grad = base.requires_grad
        self.shape = list(shape)
        self.shape_dynamism = determine_tensor_dynanism(self.shape)
        self.dim_order = tuple(range(len(self.shape)) if dim_order is None else dim_order)
        self.stride = tuple(stride_from_dim_order(self.shape, self.dim_order))
        static = self.is_static_shape_tensor and self.base.is_static_shape_tensor
        if static and not 0 <= self.byte_offset <= self.base.nbytes() - self.nbytes():
            whole = self.base.nbytes()
            raise ValueError(f"{self.nbytes()} bytes at {self.byte_offset} are not inside of the base's {whole} bytes")

    def rebase(self, base: TensorSpec) -> None:
        """Replace the base by another tensor with equal layout."""
        self.base = base

    def init_mem_planning_fields(self) -> None:
        """Do nothing, because the plan belongs to the base."""

    @property
    def mem_offset(self) -> int | None:  # type: ignore[override]
        """Offset of the view's first byte in the base's arena; None before planning."""
        return None if self.base.mem_offset is None else self.base.mem_offset + self.byte_offset


# Documented names, for users' passes; the project itself uses executorch.exir.scalar_type.
scalar_type_enum = to_scalar_type


def get_scalar_type(enum: ScalarType) -> torch.dtype:
    """Return the torch dtype of an element type."""
    return to_dtype(enum)


enum_to_scalar_map: dict[ScalarType, torch.dtype] = {kind: to_dtype(kind) for kind in ScalarType}
scalar_type_table: dict[torch.dtype, ScalarType] = {dtype: kind for kind, dtype in enum_to_scalar_map.items()}


def memory_format_enum(memory_format: torch.memory_format) -> int:
    """Return the documented number of a memory format; raises KeyError for a format that a dim order replaces."""
    return {torch.contiguous_format: 0, torch.preserve_format: 1}[memory_format]


def check_spec(tensor: torch.Tensor, spec: TensorSpec) -> None:
    """Raise InternalError naming the first of sparseness, sizes and dtype in which a tensor differs from its spec."""
    for name, found, expected in (
        ("is_sparse", tensor.is_sparse, spec.is_sparse),
        ("shape", list(tensor.shape), list(spec.shape)),
        ("dtype", tensor.dtype, spec.dtype),
    ):
        internal_assert(found == expected, f"tensor's {name}: expected {expected}, found {found}")
