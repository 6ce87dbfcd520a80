# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Call targets that represent memory in a graph of out variants. They run eagerly, so such a graph can run too."""

from collections.abc import Sequence
from typing import TypeAlias

import torch

TensorAllocSpec: TypeAlias = tuple[Sequence[int], torch.dtype]
AllocSpec: TypeAlias = TensorAllocSpec | list[TensorAllocSpec]


def alloc(spec: AllocSpec) -> torch.Tensor | list[torch.Tensor]:
    """Return memory for the output of an out variant: (sizes, dtype), or a list of pairs for a list of tensors."""
    if isinstance(spec, list):
        return [torch.empty([int(size) for size in sizes], dtype=dtype) for sizes, dtype in spec]
    sizes, dtype = spec
    return torch.empty([int(size) for size in sizes], dtype=dtype)


def view(base: torch.Tensor, size: list[int]) -> torch.Tensor:
    """Return the same memory under other sizes: a view_copy without a copy."""
    return base.view(size)


def free(spec: torch.Tensor) -> None:
    """Mark the point at which the runtime frees a tensor without an upper bound on its size."""
