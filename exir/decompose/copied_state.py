# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert the source of each `copy_` to the dtype and sizes of its destination.

torch's trace removes the last `copy_` to a buffer and takes its source for the buffer's new value: a source of another
dtype, or one that `copy_` broadcasts, would become the state.
"""

from __future__ import annotations

import torch
from torch import fx

from executorch.exir.rewrite.node_rewrite import argument, insert_before

_aten = torch.ops.aten


def convert_copied(graph: fx.Graph) -> None:
    """Insert conversions and expansions before the copies to tensors of fixed sizes."""
    for node in graph.find_nodes(op="call_function", target=_aten.copy_.default):
        written, source = argument(node, "self"), argument(node, "src")
        wanted = written.meta["val"]
        if not all(isinstance(size, int) for size in wanted.shape):
            continue
        value = source.meta["val"]
        if value.dtype != wanted.dtype:
            value = value.to(wanted.dtype)
            source = insert_before(node, _aten._to_copy.default, (source,), {"dtype": wanted.dtype}, value)
        if list(map(str, value.shape)) != list(map(str, wanted.shape)):
            value = value.expand(wanted.shape)
            source = insert_before(node, _aten.expand.default, (source, list(wanted.shape)), {}, value)
        node.update_arg(1, source)
