# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Find normalizations that a model writes as several calls, such as the RMSNorm of most decoders.

    variance = mean(x * x)                          statistics: all that only the root reads
    root = rsqrt(variance + eps)                    or a square root, scaled or shifted by constants
    y = weight * (x * root)                         products with the root, and with constants after it

They stay in float, as `layer_norm` and `rms_norm` do. The variances of a batch's tokens differ by orders of magnitude:
with one scale for all, the small ones become zero, and their roots infinite.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch.fx import Graph, Node

from executorch.backends.xnnpack.quantizer.patterns import CONVERSIONS, PRODUCTS, SUMS

_aten = torch.ops.aten
_ROOTS = (_aten.rsqrt.default, _aten.rsqrt_.default, _aten.sqrt.default, _aten.sqrt_.default)
_POWERS = (_aten.pow.Tensor_Scalar, _aten.pow_.Scalar)
_SCALES = (*PRODUCTS, _aten.div.Tensor, _aten.div_.Tensor)
_SHIFTS = (*SUMS, _aten.add.Scalar)
_CONVERSIONS = (*CONVERSIONS, _aten.unsqueeze.default)
_OF_STATISTICS = (
    *_SCALES,
    *_SHIFTS,
    *_POWERS,
    *_CONVERSIONS,
    *(_aten.square.default, _aten.mean.default, _aten.mean.dim, _aten.sum.dim_IntList),
    *(_aten.clamp.default, _aten.clamp_min.default, _aten.maximum.default),
)


def calls_of_normalizations(graph: Graph, constants: Collection[Node]) -> set[Node]:
    """Return the calls that compute statistics, and the products that normalize with them.

    constants: nodes with the same value at every call, such as the factors of a frozen batch norm, which are not
    statistics.
    """
    statistics: set[Node] = set()
    for node in reversed(graph.nodes):
        is_read_by_statistics = bool(node.users) and statistics.issuperset(node.users)
        if _is_root(node, constants) or (is_read_by_statistics and node.target in _OF_STATISTICS):
            statistics.add(node)
    normalized: set[Node] = set()
    roots: set[Node] = set()
    for node in graph.nodes:
        is_converted = node.target in (*_CONVERSIONS, _aten.reciprocal.default) and node.args[0] in roots
        if _is_root(node, constants) or is_converted or _scales(node, roots, constants):
            roots.add(node)
            continue
        normalizes = node.target in _SCALES and not roots.isdisjoint(node.args[:2])
        is_converted = node.target in _CONVERSIONS and node.args[0] in normalized
        if normalizes or is_converted or _scales(node, normalized, constants):
            normalized.add(node)
    return statistics | normalized | roots


def _scales(node: Node, values: Collection[Node], constants: Collection[Node]) -> bool:
    """Return whether a call scales or shifts one of some values by a constant."""
    if node.target not in (*_SCALES, *_SHIFTS):
        return False
    others = [operand for operand in node.args[:2] if operand not in values]
    return len(others) == 1 and all(not isinstance(operand, Node) or operand in constants for operand in others)


def _is_root(node: Node, constants: Collection[Node]) -> bool:
    if node.op != "call_function" or node in constants:
        return False
    return node.target in _ROOTS or (node.target in _POWERS and node.args[1] in (0.5, -0.5))
