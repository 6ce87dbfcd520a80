# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `exir.passes.views.replace_view_copy_with_view_pass`, with names that `transformers.exporters` imports."""

from collections.abc import Sequence

import torch
from torch import fx

from executorch.exir import memory
from executorch.exir.dialects._ops import ops
from executorch.exir.passes.views import replace_view_copy_with_view_pass as implementation
from executorch.exir.tensor import TensorSpec, ViewSpec, dim_order_from_stride

__all__ = ["ReplaceViewCopyWithViewPass", "dim_order_from_stride"]

_VIEW_OP = memory.view


class ReplaceViewCopyWithViewPass(implementation.ReplaceViewCopyWithViewPass):
    """The pass of the pipeline. Packages that replace methods of this class do not change the pipeline."""


def _is_view_copy(node: fx.Node) -> bool:
    return node.target in (torch.ops.aten.view_copy.default, ops.edge.aten.view_copy.default)


def _ViewSpec(base: TensorSpec, shape: Sequence[int]) -> ViewSpec:
    return ViewSpec(base, list(shape), tuple(range(len(shape))), 0)
