# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Move real and imaginary parts of complex tensors apart, so that no complex tensor is computed between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by

_aten = torch.ops.aten
_COMPLEX, _FROM_PAIRS, _TO_PAIRS = (
    _aten.complex.default,
    _aten.view_as_complex_copy.default,
    _aten.view_as_real_copy.default,
)
_CAT, _PAD, _SELECT = _aten.cat.default, _aten.constant_pad_nd.default, _aten.select_copy.int
_FULL = _aten.full.default
_ARRANGING = frozenset(
    {
        *(_CAT, _PAD, _SELECT, _aten.slice_copy.Tensor, _aten.view_copy.default, _aten.permute_copy.default),
        *(_aten.unsqueeze_copy.default, _aten.squeeze_copy.dim, _aten.squeeze_copy.dims, _aten.expand_copy.default),
        *(_aten.clone.default, _aten.flip.default, _aten.index_select.default, _aten.repeat.default),
    }
)
"""Operators that move or repeat elements, and so treat each part alike."""

Parts = tuple[fx.Node, fx.Node]


def _real(value: torch.Tensor, sizes: Sequence[int | torch.SymInt]) -> torch.Tensor:
    """Return a fake tensor of these sizes with the dtype of a complex tensor's parts."""
    return value.new_empty(sizes, dtype=value.dtype.to_real())


def _arranged(node: fx.Node, parts: dict[fx.Node, Parts]) -> Parts | None:
    """Apply a call that moves elements to the parts of its operands; return None if the parts of one are unknown."""
    operands = cast("list[fx.Node]", node.args[0] if node.target is _CAT else [node.args[0]])
    if not all(operand in parts for operand in operands):
        return None
    value = argument(node, "value") if node.target is _PAD else 0
    if isinstance(value, complex):
        return None
    made = []
    for place in (0, 1):
        own = [parts[operand][place] for operand in operands]
        args = (own if node.target is _CAT else own[0], *node.args[1:])
        if node.target is _PAD:
            args = (own[0], node.args[1], value if place == 0 else 0)
        made.append(
            insert_before(node, node.target, args, node.kwargs, _real(node.meta["val"], node.meta["val"].shape))
        )
    return made[0], made[1]


def _of_pairs(node: fx.Node) -> Parts:
    pairs = cast(fx.Node, node.args[0])
    real, imaginary = (
        insert_before(node, _SELECT, (pairs, -1, at), {}, _real(node.meta["val"], node.meta["val"].shape))
        for at in (0, 1)
    )
    return real, imaginary


def _of_number(node: fx.Node) -> Parts:
    size, number = node.args[0], cast("complex | fx.Node", argument(node, "fill_value"))
    value = _real(node.meta["val"], node.meta["val"].shape)
    kwargs = {**node.kwargs, "dtype": value.dtype}
    # A number that the program computes is real.
    numbers = (number, 0) if isinstance(number, fx.Node) else (number.real, number.imag)
    real, imaginary = (insert_before(node, _FULL, (size, one), kwargs, value) for one in numbers)
    return real, imaginary


def _parts_of(node: fx.Node, parts: dict[fx.Node, Parts]) -> Parts | None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.is_complex():
        return None
    if node.target is _COMPLEX:
        both = cast(Parts, node.args[:2])
        is_whole = all(list(map(str, part.meta["val"].shape)) == list(map(str, value.shape)) for part in both)
        return both if is_whole else None
    if node.target is _FROM_PAIRS:
        return _of_pairs(node)
    if node.target is _FULL:
        return _of_number(node)
    return _arranged(node, parts) if node.target in _ARRANGING else None


def _use_parts(pairs: fx.Node, parts: Parts) -> None:
    """Let the readers of a view of pairs read the parts."""
    last = pairs.meta["val"].dim() - 1
    for user in list(pairs.users):
        if user.target is _SELECT and argument(user, "dim") in (-1, last) and argument(user, "index") in (0, 1):
            replace_by(user, parts[argument(user, "index")])
    source = cast(fx.Node, pairs.args[0])
    if source.target is _FROM_PAIRS:
        replace_by(pairs, cast(fx.Node, source.args[0]))
    elif pairs.users:
        value = source.meta["val"]
        columns = [
            insert_before(pairs, _aten.unsqueeze_copy.default, (part, -1), {}, _real(value, [*value.shape, 1]))
            for part in parts
        ]
        replace_by(pairs, insert_before(pairs, _CAT, (columns, -1), {}, pairs.meta["val"]))


class SplitComplexPass(GraphPass):
    """Replaces complex tensors between arithmetic on real and imaginary parts by the two parts.

    Decomposed arithmetic on complex numbers joins its results with `complex` and takes operands apart with
    `view_as_real`. Calls between them that only move elements are applied to each part.

    Helps: rotary embeddings by complex numbers, state-space models and gated linear attention. Backends for real
    numbers compute both parts.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            parts: dict[fx.Node, Parts] = {}
            for node in list(module.graph.nodes):
                if node.target is _TO_PAIRS and node.args[0] in parts:
                    _use_parts(node, parts[node.args[0]])
                    modified = True
                elif (found := _parts_of(node, parts)) is not None:
                    parts[node] = found
        return PassResult(graph_module, modified)
