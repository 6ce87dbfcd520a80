# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""TensorLayout: dtype, sizes and dim order with which to read the bytes of a named tensor."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from executorch.exir.scalar_type import ScalarType, to_scalar_type
from executorch.exir.tensor import dim_order_from_stride

__all__ = ["TensorLayout", "dim_order_from_stride"]


@dataclass
class TensorLayout:
    """dtype (as the format's enum), sizes in elements, and dim order (dimensions from outermost to innermost)."""

    scalar_type: ScalarType
    sizes: list[int]
    dim_order: list[int]

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor) -> TensorLayout:
        """The layout of a dense tensor in contiguous or channels_last order. ValueError for any other strides."""
        if not tensor.is_contiguous() and not (
            tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
        ):
            raise ValueError(
                f"expected a contiguous or channels_last tensor, found sizes {tuple(tensor.shape)} with strides "
                f"{tensor.stride()}; call .contiguous() on it first"
            )
        return cls(to_scalar_type(tensor.dtype), list(tensor.shape), list(tensor.dim_order()))
