# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Measure the temporary memory that a method's kernels and delegates allocate.

The installed runtime runs the method once on one thread, with inputs of the largest sizes, through both branches of
every condition and once through every loop. Methods with data-dependent sizes are not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from executorch.exir.error import Rejection
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.plugins.installed_runtime import installed_runtime
from executorch.exir.report.run_all_branches import run_all_branches
from executorch.exir.scalar_type import to_dtype
from executorch.exir.schema import (
    Bool,
    Double,
    ExecutionPlan,
    Int,
    KernelTypes,
    Null,
    String,
    Tensor,
    TensorShapeDynamism,
)
from executorch.exir.tensor import stride_from_dim_order

__all__ = ["TempPeak", "largest_input", "temp_peak"]

_MAX_FLOPS = 20_000_000_000
"""Limit for a trial run, which delays the lowering report."""

_MASKS = (torch.bool, torch.uint8)
_ON_DATA = (torch.ops.higher_order.cond, torch.ops.higher_order.while_loop)


@dataclass(frozen=True)
class TempPeak:
    """Peak of temporary memory.

    bytes: size of a block, aligned to 64, that suffices for every kernel and delegate; None if not measured.
    note: conditions of the measurement, or why there is none.
    """

    bytes: int | None
    note: str = ""


def temp_peak(file: bytes, plan: ExecutionPlan, graph_module: fx.GraphModule, flops: int) -> TempPeak:
    """Measure the method `plan` of the program `file`. `graph_module` is the graph from which it was emitted."""
    runtime = installed_runtime()
    if runtime is None:
        return TempPeak(None, "the runtime is not installed")
    rejection = _check_measurable(plan, graph_module, flops)
    if rejection is not None:
        return TempPeak(None, rejection.reason)
    inputs = [largest_input(plan.values[index].val) for index in plan.inputs]
    if any(node.target in _ON_DATA for node in _nodes(graph_module)):
        file = run_all_branches(file, plan.name)
    try:
        peak = runtime.temp_memory_peak(file, plan.name, inputs)
    except RuntimeError as error:
        return TempPeak(None, f"a trial run failed: {str(error).splitlines()[0]}")
    tensors = [value for value in (plan.values[index].val for index in plan.inputs) if isinstance(value, Tensor)]
    is_static = all(tensor.shape_dynamism is TensorShapeDynamism.STATIC for tensor in tensors)
    return TempPeak(peak, "" if is_static else "for inputs of the largest sizes")


def _check_measurable(plan: ExecutionPlan, graph_module: fx.GraphModule, flops: int) -> Rejection | None:
    if flops > _MAX_FLOPS:
        return Rejection(f"a trial run would take {flops:,} FLOPs, more than {_MAX_FLOPS:,}")
    for index in plan.inputs:
        value = plan.values[index].val
        if isinstance(value, Tensor) and value.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND:
            return Rejection("an input's sizes have no bound")
        if not isinstance(value, (Tensor, Null, Int, Bool, Double, String)):
            return Rejection(f"an input is a {type(value).__name__}")
    for node in _nodes(graph_module):
        if _depends_on_data(node.meta.get("val")):
            return Rejection(f"{node.name}: its sizes depend on data")
        if _takes_mask(node):
            return Rejection(f"{node.name}: how many elements its mask chooses depends on data")
    return None


def _nodes(graph_module: fx.GraphModule) -> Iterator[fx.Node]:
    """Yield the nodes of the graph and its subgraphs."""
    return (node for module in all_graph_modules(graph_module) for node in module.graph.nodes)


def _depends_on_data(value: object) -> bool:
    """Return whether a tensor, or one in a list, has data-dependent sizes."""
    if isinstance(value, (list, tuple)):
        return any(_depends_on_data(item) for item in value)
    return isinstance(value, torch.Tensor) and bool(free_unbacked_symbols(value))


def _takes_mask(node: fx.Node) -> bool:
    """Return whether a call indexes with a boolean mask: the memory it needs depends on the number of true values."""
    lists = [value for value in (*node.args, *node.kwargs.values()) if isinstance(value, (list, tuple))]
    tensors = [item.meta.get("val") for items in lists for item in items if isinstance(item, fx.Node)]
    is_index = "index" in str(node.target)
    return is_index and any(isinstance(tensor, torch.Tensor) and tensor.dtype in _MASKS for tensor in tensors)


def largest_input(value: KernelTypes) -> object:
    """Return an input for a value of a program: zeros of the largest sizes for a tensor, else the recorded value."""
    if isinstance(value, Tensor):
        strides = stride_from_dim_order(value.sizes, value.dim_order)
        # Zeros are indices that exist, and are never out of a function's range.
        return torch.empty_strided(value.sizes, strides, dtype=to_dtype(value.scalar_type)).zero_()
    if isinstance(value, Null):
        return None
    return getattr(value, value.__slots__[0])
