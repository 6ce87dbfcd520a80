# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes on the ATen graph of a decoder that torch.export made."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.pass_base import ExportPass, fake_mode_of
from executorch.exir.rewrite.node_rewrite import argument, insert_before, replace_by, with_values
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  # defines the operators

_aten: Any = torch.ops.aten


def _permutation(node: Any) -> list[int] | None:
    """Dimensions of the operand in the order in which `node` has them; None unless it is a transpose or permute."""
    if not isinstance(node, fx.Node) or node.target not in (_aten.transpose.int, _aten.permute.default):
        return None
    order = list(range(node.args[0].meta["val"].dim()))  # type: ignore[union-attr]
    if node.target is _aten.permute.default:
        return [order[dim] for dim in argument(node, "dims")]
    first, second = argument(node, "dim0"), argument(node, "dim1")
    order[first], order[second] = order[second], order[first]
    return order


class RemoveRedundantTransposes(ExportPass):
    """Removes two consecutive transposes or permutes that together keep the order of all dimensions."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        """Replace the second of both by the operand of the first. All are views, so writes in between stay visible."""
        changed = False
        for node in graph_module.graph.nodes:
            outer = _permutation(node)
            inner = _permutation(node.args[0]) if outer is not None else None
            if outer is not None and inner is not None and [inner[dim] for dim in outer] == list(range(len(outer))):
                node.replace_all_uses_with(node.args[0].args[0])
                changed = True
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)


class ReplaceSDPAWithCustomSDPAPass(ExportPass):
    """Replaces `scaled_dot_product_attention` by `llama::custom_sdpa`.

    It leaves calls that the operator does not compute: operands that do not have four dimensions, dropout, a mask that
    differs between batches or heads, and attention without a mask to more or fewer keys than queries.
    """

    def __init__(self, assume_causal_mask: bool = False) -> None:
        """Configure the pass.

        assume_causal_mask: ignore masks, and let each query attend to the positions up to its own.
        """
        super().__init__()
        self.assume_causal_mask = assume_causal_mask

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        """Keys and queries are transposed for the operator, which has positions before heads."""
        changed = False
        for node in list(graph_module.graph.nodes):
            if node.target is _aten.scaled_dot_product_attention.default and self._replace(node):
                changed = True
        if changed:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, changed)

    def _replace(self, node: fx.Node) -> bool:
        query, key, value = (argument(node, name) for name in ("query", "key", "value"))
        mask, is_causal = argument(node, "attn_mask"), argument(node, "is_causal")
        if self.assume_causal_mask:
            mask, is_causal = None, True
        queries, keys = query.meta["val"], key.meta["val"]
        if any(operand.meta["val"].dim() != 4 for operand in (query, key, value)) or argument(node, "dropout_p"):
            return False
        if mask is None and str(queries.shape[2]) != str(keys.shape[2]):
            return False
        if mask is not None:
            mask = self._mask_of_two_dimensions(node, mask, (str(queries.shape[2]), str(keys.shape[2])))
            if mask is None:
                return False
        swapped = [_call(node, _aten.transpose.int, operand, 1, 2) for operand in (query, key, value)]
        scale = argument(node, "scale")
        attended = _call(node, torch.ops.llama.custom_sdpa.default, *swapped, 0, mask, 0.0, is_causal, scale)
        replace_by(node, _call(node, _aten.transpose.int, attended, 1, 2))
        return True

    def _mask_of_two_dimensions(self, node: fx.Node, mask: fx.Node, sizes: tuple[str, str]) -> fx.Node | None:
        """Return the mask as float [queries, keys], or None if it has other sizes."""
        value = mask.meta["val"]
        batches = value.dim() - 2
        if tuple(str(size) for size in value.shape[batches:]) != sizes or any(n != 1 for n in value.shape[:batches]):
            return None
        if batches:
            mask = _call(node, _aten.squeeze.dims, mask, list(range(batches)))
        if value.dtype is torch.bool:
            mask = _call(node, _aten.where.Scalar, mask, 0.0, float("-inf"))
        return mask


def _call(node: fx.Node, target: Any, *args: Any) -> fx.Node:
    """Insert a call of an operator before `node`."""
    graph_module = node.graph.owning_module
    assert graph_module is not None
    with fake_mode_of(graph_module):
        value = target(*with_values(args))
    return insert_before(node, target, args, {}, value)
