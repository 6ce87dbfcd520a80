# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fusion of quantized max pooling, average pooling and means."""

from __future__ import annotations

import operator as python
from typing import Any

from torch import fx

from executorch.exir.error import Rejection
from executorch.exir.passes.quantized.fuse_quantized_tables import apply_table, requantization_table
from executorch.exir.rewrite.fusion_site import Fusion, Site
from executorch.exir.rewrite.node_rewrite import argument
from executorch.exir.rewrite.quantized_values import operand, operator

_POOLING = ("kernel_size", "stride", "padding")


def maximum(site: Site) -> Fusion | Rejection:
    """Match the first result of max_pool2d_with_indices. Quantization keeps the order, so integers give the maximum."""
    pool: Any = site.core.args[0]
    if site.core.target is not python.getitem or site.core.args[1] != 0:
        return Rejection("its indices are used")
    if operator(pool) != "aten::max_pool2d_with_indices" or len(pool.users) != 1:
        return Rejection("it has no fused operator")
    source = argument(pool, "self")
    of = operand(source)
    if isinstance(of, Rejection):
        return of
    table = requantization_table(of, site.to)

    def build() -> fx.Node:
        arguments = [list(argument(pool, name)) for name in (*_POOLING, "dilation")]
        input = site.integers_of(source)
        pooled = site.call("max_pool2d", input, *arguments, argument(pool, "ceil_mode"))
        return apply_table(site, pooled, table)

    return build


def mean(site: Site) -> Fusion | Rejection:
    """Match a mean over dimensions."""
    node = site.core
    source = argument(node, "self")
    of = operand(source)
    if isinstance(of, Rejection):
        return of
    if argument(node, "dtype") is not None:
        return Rejection("it is a mean in another dtype")

    def build() -> fx.Node:
        input = site.integers_of(source)
        dims, keepdim = list(argument(node, "dim") or ()), argument(node, "keepdim")
        return site.call("mean", input, of.zero_point, of.scale / site.to.scale, dims, keepdim, *site.result)

    return build


def average(site: Site) -> Fusion | Rejection:
    """Match average pooling."""
    node = site.core
    source = argument(node, "self")
    of = operand(source)
    if isinstance(of, Rejection):
        return of

    def build() -> fx.Node:
        input = site.integers_of(source)
        windows = [list(argument(node, name)) for name in _POOLING]
        rest = [argument(node, name) for name in ("ceil_mode", "count_include_pad", "divisor_override")]
        return site.call("avg_pool2d", input, of.zero_point, of.scale / site.to.scale, *windows, *rest, *site.result)

    return build


def fitted_average(site: Site) -> Fusion | Rejection:
    """Match adaptive average pooling whose windows have equal sizes."""
    node = site.core
    source: Any = argument(node, "self")
    of = operand(source)
    if isinstance(of, Rejection):
        return of
    sizes, wanted = list(source.meta["val"].shape[-2:]), list(argument(node, "output_size"))
    if not all(isinstance(size, int) for size in sizes) or any(
        size % want for size, want in zip(sizes, wanted, strict=True)
    ):
        return Rejection(f"its windows have different sizes: {sizes} to {wanted}")
    window = [size // want for size, want in zip(sizes, wanted, strict=True)]

    def build() -> fx.Node:
        input = site.integers_of(source)
        rest = (window, window, [0, 0], False, True, None)
        return site.call("avg_pool2d", input, of.zero_point, of.scale / site.to.scale, *rest, *site.result)

    return build
