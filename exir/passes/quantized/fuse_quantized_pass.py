# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fuse dequantize ─▶ compute ─▶ (clamp, move ─▶) quantize of int8 into one operator on integers.

convolution, linear (addmm, mm)          quantized_fused::convolution, transposed_convolution, linear: the stored
                                         weights do not change
max_pool2d, avg_pool2d, mean             quantized_fused::max_pool2d, avg_pool2d, mean
elementwise on one tensor                quantized_fused::lookup, or clamp limits of the operator before
add, sub, mul                            quantized_decomposed::add, quantized_fused::sub, mul
cat, pad, and moves of elements          the same operator on integers
mm of int8 converted to int32            quantized_fused::product

The pass runs on the nodes outside delegates. Results equal those of the float pattern, except where a value is so near
to the middle of two integers that the rounding of the float sums decides (exir/operator/quantized_fused.py).
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from dataclasses import dataclass

from torch import fx
from torch.export import ExportedProgram

from executorch.exir.error import Rejection
from executorch.exir.graph_module import debug_handles_of
from executorch.exir.passes.quantized.fuse_integer_products import fuse_integer_products
from executorch.exir.passes.quantized.fuse_quantized_layers import convolution, linear, transposed_convolution
from executorch.exir.passes.quantized.fuse_quantized_pools import average, fitted_average, maximum, mean
from executorch.exir.passes.quantized.fuse_quantized_tables import combination, concatenation, function, padded
from executorch.exir.passes.simplify.dead_code_elimination_pass import DeadCodeEliminationPass
from executorch.exir.rewrite.fusion_site import Constants, Fusion, Site, aten, site_of
from executorch.exir.rewrite.node_rewrite import argument, replace_by
from executorch.exir.rewrite.program_constants import drop_unused_constants
from executorch.exir.rewrite.quantized_values import is_dequantize, is_quantize, moved_by

HasKernel = Callable[[str], bool]
"""Returns whether the target has the named kernel ("quantized_fused::linear.out")."""

_FUSED = "quantized_fused::"


@dataclass(frozen=True)
class _Pattern:
    match: Callable[[Site], Fusion | Rejection]
    kernels: tuple[str, ...]


_FUNCTION = _Pattern(function, (f"{_FUSED}lookup.out",))
_TRANSPOSED = _Pattern(transposed_convolution, (f"{_FUSED}transposed_convolution.out",))
_PATTERNS: dict[object, _Pattern] = {
    aten.convolution.default: _Pattern(convolution, (f"{_FUSED}convolution.out",)),
    aten.addmm.default: _Pattern(linear, (f"{_FUSED}linear.out",)),
    aten.mm.default: _Pattern(linear, (f"{_FUSED}linear.out",)),
    aten.linear.default: _Pattern(linear, (f"{_FUSED}linear.out",)),
    python.getitem: _Pattern(maximum, (f"{_FUSED}max_pool2d.out", f"{_FUSED}lookup.out")),
    aten.mean.dim: _Pattern(mean, (f"{_FUSED}mean.out",)),
    aten.avg_pool2d.default: _Pattern(average, (f"{_FUSED}avg_pool2d.out",)),
    aten._adaptive_avg_pool2d.default: _Pattern(fitted_average, (f"{_FUSED}avg_pool2d.out",)),
    aten.add.Tensor: _Pattern(combination, ("quantized_decomposed::add.out",)),
    aten.mul.Tensor: _Pattern(combination, (f"{_FUSED}mul.out",)),
    aten.sub.Tensor: _Pattern(combination, (f"{_FUSED}sub.out",)),
    aten.cat.default: _Pattern(concatenation, ("aten::cat.out", f"{_FUSED}lookup.out")),
    aten.constant_pad_nd.default: _Pattern(padded, ("aten::constant_pad_nd.out", f"{_FUSED}lookup.out")),
}


def fuse_quantized(program: ExportedProgram, has_kernel: HasKernel) -> None:
    """Replace dequantize, compute, quantize outside delegates by one operator on int8, in place.

    It fuses the patterns for which the target has kernels.

    Helps: targets without XNNPACK.

    Results: equal, except where the rounding of float sums decides between two integers.
    """
    constants = Constants(program)
    modified = has_kernel(f"{_FUSED}product.out") and fuse_integer_products(constants)
    for node in list(program.graph.nodes):
        if not is_quantize(node):
            continue
        site = site_of(constants, node)
        if isinstance(site, Rejection):
            continue
        fusion = _match(site, has_kernel)
        if isinstance(fusion, Rejection):
            continue
        before = node.prev
        fused = fusion()
        last = site.finish(fused)
        _note_handles(site, fused, last, before)
        replace_by(node, last)
        modified = True
    if modified:
        DeadCodeEliminationPass().call(program.graph_module)
        drop_unused_constants(program)
        program.graph_module.recompile()


def _note_handles(site: Site, fused: fx.Node, last: fx.Node, before: fx.Node) -> None:
    """Set the debug handles of the new nodes after `before`.

    `fused` gets the handles of the core and of the activations that clamp its result, `last` also those of quantize.
    """
    new, at = set(), site.quantize.prev
    while at is not before:
        new.add(at)
        at = at.prev
    if fused in new:
        computed = (site.core, *site.limits)
        fused.meta["debug_handle"] = tuple(handle for origin in computed for handle in debug_handles_of(origin))
    if last in new:
        last.meta["debug_handle"] = (*debug_handles_of(last), *debug_handles_of(site.quantize))


def fusion_refusals(program: ExportedProgram, has_kernel: HasKernel) -> dict[fx.Node, str]:
    """Return, for each call before a quantize, why it cannot be fused, or "" if it can. The program does not change."""
    constants = Constants(program)
    refusals: dict[fx.Node, str] = {}
    for node in program.graph.nodes:
        if is_quantize(node):
            site = site_of(constants, node)
            if not isinstance(site, Rejection):
                match = _match(site, has_kernel)
                refusals[site.core] = match.reason if isinstance(match, Rejection) else ""
    return refusals


def _match(site: Site, has_kernel: HasKernel) -> Fusion | Rejection:
    pattern = _PATTERNS.get(site.core.target, _FUNCTION)
    if pattern.match is convolution and argument(site.core, "transposed"):
        pattern = _TRANSPOSED
    if moved_by(site.core) is not None:  # a move with several readers: each reader moves the integers itself
        pattern = _FUNCTION
    fusion = _matched(site, pattern, has_kernel)
    # The sum of a tensor and a scalar, or of a tensor and itself, is a function of one tensor.
    if isinstance(fusion, Rejection) and pattern.match is combination:
        alone = _matched(site, _FUNCTION, has_kernel)
        return fusion if isinstance(alone, Rejection) else alone
    return fusion


def _matched(site: Site, pattern: _Pattern, has_kernel: HasKernel) -> Fusion | Rejection:
    if len(site.core.users) != 1 and pattern is not _FUNCTION and not is_dequantize(site.core):
        return Rejection("another node reads its float result")
    missing = [name for name in pattern.kernels if not has_kernel(name)]
    if missing:
        return Rejection(f"the target has no kernel for {' and '.join(missing)}")
    return pattern.match(site)
