# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Call targets that stand for memory in a graph of out variants. They run eagerly, so such a graph can be tried."""

from collections.abc import Sequence
from typing import TypeAlias

import torch

TensorAllocSpec: TypeAlias = tuple[Sequence[int], torch.dtype]
AllocSpec: TypeAlias = TensorAllocSpec | list[TensorAllocSpec]


def alloc(spec: AllocSpec) -> torch.Tensor | list[torch.Tensor]:
    """Memory for the output of an out variant: (sizes, dtype), or a list of them for a list of tensors."""
    if isinstance(spec, list):
        return [torch.empty([int(size) for size in sizes], dtype=dtype) for sizes, dtype in spec]
    sizes, dtype = spec
    return torch.empty([int(size) for size in sizes], dtype=dtype)


def view(base: torch.Tensor, size: list[int]) -> torch.Tensor:
    """The same memory under other sizes: a view_copy that costs nothing."""
    return base.view(size)


def free(spec: torch.Tensor) -> None:
    """Marks where a tensor whose size has no bound gives its memory back."""
