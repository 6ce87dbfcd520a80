# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Replace gathers that read the same constant places for each element of a dimension of varying size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.passes.state.external_constants_pass import delegate_file
from executorch.exir.rewrite.node_rewrite import retarget
from executorch.exir.rewrite.program_constants import (
    NewConstant,
    add_constants,
    constant_tensors,
    drop_unused_constants,
)

_aten = exir_ops.edge.aten


def index_repeated_places(program: ExportedProgram) -> None:
    """Replace gathers whose constant index is expanded over leading dimensions by index operators, in place.

    gather(x, -1, places.expand(batch, n, k)) becomes x[:, arange(n)[:, None], places].

    Helps: relative positions of attention with a dynamic batch, whose expanded index cannot be a constant.
    """
    constants = constant_tensors(program)
    modified = False
    for node in program.graph.find_nodes(op="call_function", target=_aten.gather.default):
        indices = _indices(node, constants)
        if not indices:
            continue
        value: torch.Tensor = node.meta["val"]
        added = add_constants(
            program,
            "_places",
            [NewConstant(index, value.new_empty(index.shape, dtype=index.dtype), node) for index in indices],
        )
        kept = [None] * (value.dim() - len(added))
        retarget(node, _aten.index.Tensor, (node.args[0], [*kept, *added]), {})
        modified = True
    if modified:
        program.graph.eliminate_dead_code()
        drop_unused_constants(program)


def _indices(node: fx.Node, constants: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Return the indices of the last dimensions that read the places of a gather; none if it has other places."""
    source, dim, expanded = cast("tuple[fx.Node, int, object]", node.args)
    if not isinstance(expanded, fx.Node) or expanded.target is not _aten.expand_copy.default:
        return []
    written = cast(fx.Node, expanded.args[0])
    # The user may replace constants of external files.
    places = constants.get(written.name) if delegate_file(written) is None else None
    sizes, result = source.meta["val"].shape, expanded.meta["val"].shape
    if places is None or isinstance(places, FakeTensor) or places.numel() == 0 or places.dim() == 0:
        return []
    places = places[(None,) * (len(result) - places.dim())]
    dim %= len(result)
    first = 0
    # Equal expressions: comparing the symbols would add a guard.
    while first < dim and places.shape[first] == 1 and str(result[first]) == str(sizes[first]):
        first += 1
    rest = result[first:]
    if not first or not all(isinstance(size, int) for size in (*rest, *sizes[first:])):
        return []
    if places.min() < 0 or places.max() >= sizes[dim]:  # index operators count negative places from the end
        return []
    places = places.reshape(places.shape[first:]).expand(rest).contiguous()
    along = [torch.arange(size).reshape(-1, *[1] * (len(rest) - axis - 1)) for axis, size in enumerate(rest)]
    return [places if axis == dim - first else index for axis, index in enumerate(along)]
