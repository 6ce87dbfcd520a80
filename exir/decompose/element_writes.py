# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose writes of one element, or one row, without a trace.

A loop over positions writes each with an index of its own, so that no two of these calls share a traced body.
"""

from __future__ import annotations

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from executorch.exir.debug_handle_utils import FROM_NODE_KEY, node_source
from executorch.exir.rewrite.fake_call import call_on_fakes
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by

_aten = torch.ops.aten


def select_scatter(self: torch.Tensor, src: torch.Tensor, dim: int, index: int) -> torch.Tensor:
    """Write `src` as a slice of one element; PyTorch's decomposition compares all positions with the index."""
    written: torch.Tensor = torch.slice_scatter(self, src.unsqueeze(dim), dim, index, _end(index))
    return written


def write_as_slice(node: fx.Node, mode: FakeTensorMode) -> bool:
    """Replace a call of select_scatter by the calls of the decomposition above.

    Return False, with an unchanged graph, unless index, sizes and strides are constants and the base is contiguous:
    then the result has the base's layout.
    """
    base, source, dim, index = (argument(node, name) for name in ("self", "src", "dim", "index"))
    tensors = (base.meta["val"], source.meta["val"], node.meta["val"])
    if not isinstance(index, int) or not isinstance(dim, int) or not all(map(_has_fixed_layout, tensors)):
        return False
    if not tensors[0].is_contiguous() or tensors[0].stride() != tensors[2].stride():
        return False
    row_value = call_on_fakes(mode, _aten.unsqueeze.default, (tensors[1], dim), {})
    row = insert_before(node, _aten.unsqueeze.default, (source, dim), {}, row_value)
    arguments = (base, row, dim, index, _end(index))
    written = insert_before(node, _aten.slice_scatter.default, arguments, {}, tensors[2])
    for new in (row, written):
        new.meta[FROM_NODE_KEY] = [node_source(node, "decompose")]
    replace_by(node, written)
    return True


def _end(index: int) -> int | None:
    return None if isinstance(index, int) and index == -1 else index + 1


def _has_fixed_layout(value: torch.Tensor) -> bool:
    return all(isinstance(number, int) for number in (*value.shape, *value.stride()))
