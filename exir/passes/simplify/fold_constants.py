# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fold calls that depend only on constants, for example the transposed weights of linear layers."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.node import map_arg

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.operator.call_effects import is_repeatable
from executorch.exir.passes.state.external_constants_pass import delegate_file
from executorch.exir.rewrite.layouts import same_layout
from executorch.exir.rewrite.program_constants import (
    NewConstant,
    add_constants,
    constant_tensors,
    drop_unused_constants,
)

# A folded constant may be larger than its sources if it has at most this many bytes.
FREE_GROWTH = 64 * 1024
# The same limit before partitioning: a backend that needs a constant rejects the call that reads a computed value.
_FREE_GROWTH_FOR_BACKENDS = 1024 * 1024
# Bytes that all results beyond these limits may add for backends: this share of the program's constants, with a cap.
# Without them, tables of relative positions split a graph at each layer's attention.
_GROWTH_SHARE, _MAX_GROWTH = 1 / 8, 32 * 1024 * 1024
# Includes quantize: a weight that the graph quantizes is stored as integers, which are shorter.
_FOLDED_FOR_BACKENDS = ("aten::", "dim_order_ops::", "quantized_decomposed::quantize_per_")
_CONVERSIONS = ("aten::_to_copy", "dim_order_ops::_to_dim_order_copy")


def fold_for_backends(program: ExportedProgram) -> None:
    """Fold weights computed from parameters, masks, indices and table look-ups at fixed indices, before partitioning.

    Backends need constant weights. Dequantizations stay, so that backends choose how to store weights. Weights that
    the graph quantizes become integers. The program changes in place.
    """
    nodes = [node for node in program.graph.nodes if isinstance(node.target, (OpOverload, EdgeOpOverload))]
    others = {node.target for node in nodes if not node.target._schema.name.startswith(_FOLDED_FOR_BACKENDS)}
    constant_bytes = sum(tensor.nbytes for tensor in constant_tensors(program).values())
    fold_constants(program, others, _FREE_GROWTH_FOR_BACKENDS, min(int(constant_bytes * _GROWTH_SHARE), _MAX_GROWTH))


def fold_constants(
    program: ExportedProgram, skipped: Collection[object] = (), free_growth: int | None = FREE_GROWTH, budget: int = 0
) -> None:
    """Replace deterministic calls on constants by their results, as new constants, in place.

    To keep files small, a call stays if its result is larger than its source constants and than `free_growth` bytes,
    or if it widens constants that are stored in a shorter dtype. With `free_growth` None, every call with inputs is
    folded. Calls of operators in `skipped` stay. Results that exceed these limits may take `budget` bytes together.

    Helps: transposed weights, masks.
    """
    known = constant_tensors(program)
    sources = _sources(program, known, skipped)
    chosen = _chosen(program, sources, free_growth, budget)
    values: dict[fx.Node, object] = {node: known[node.name] for node in program.graph.nodes if node.name in known}
    for node in _depended_on(chosen):
        if node not in values:
            values[node] = _run(node, values)
    constants = {node: constant for node in chosen if (constant := _as_constant(node, values[node])) is not None}
    added = add_constants(program, "_prop_tensor_constant", list(constants.values()))
    for node, replacement in zip(constants, added, strict=True):
        node.replace_all_uses_with(replacement)
    for node in reversed(sources):
        if node.op == "call_function" and not node.users:
            program.graph.erase_node(node)
    drop_unused_constants(program)


def _sources(
    program: ExportedProgram, known: Collection[str], skipped: Collection[object]
) -> dict[fx.Node, frozenset[fx.Node]]:
    """Return, for each constant and each foldable call, the constants it depends on, in graph order."""
    sources: dict[fx.Node, frozenset[fx.Node]] = {}
    outputs = set(program.graph.output_node().all_input_nodes)
    for node in program.graph.nodes:
        if node.name in known and delegate_file(node) is None:  # the user may replace constants of external files
            sources[node] = frozenset([node])
        elif node not in outputs and node.target not in skipped and _is_foldable(node, sources):
            sources[node] = frozenset().union(*(sources[source] for source in node.all_input_nodes))
    return sources


def _chosen(
    program: ExportedProgram, sources: dict[fx.Node, frozenset[fx.Node]], free_growth: int | None, budget: int
) -> list[fx.Node]:
    """Return the calls whose results become constants: within the limits, with readers outside the folded calls."""
    stored: set[fx.Node] = set()
    for node in sources:
        if _lengthens(node, sources[node]) or not stored.isdisjoint(node.all_input_nodes):
            stored.add(node)
    chosen: list[fx.Node] = []
    folded: set[fx.Node] = set()
    for node in reversed(sources):
        if node.op == "placeholder":
            continue
        if all(user in folded for user in node.users):
            folded.add(node)  # only folded calls read its result
            continue
        if not isinstance(node.meta["val"], torch.Tensor) or _is_uninitialized(node):
            continue
        is_stored_shorter = node in stored
        if not _is_within_limits(node, sources[node], is_stored_shorter, free_growth):
            if not sources[node] or is_stored_shorter or _bytes(node) > budget:
                continue
            budget -= _bytes(node)
        chosen.append(node)
        folded.add(node)
    return chosen[::-1]


def _is_within_limits(
    node: fx.Node, sources: Collection[fx.Node], is_stored_shorter: bool, free_growth: int | None
) -> bool:
    """Return whether a result may become a constant without use of the budget."""
    if free_growth is None:
        return bool(sources) or _bytes(node) <= FREE_GROWTH
    free = 0 if is_stored_shorter else free_growth
    return _bytes(node) <= max(free, sum(_bytes(source) for source in sources))


def _bytes(node: fx.Node) -> int:
    return int(node.meta["val"].nbytes)


def _lengthens(node: fx.Node, sources: Collection[fx.Node]) -> bool:
    """Return whether a call converts constants from the dtype in which they are stored to a wider one.

    A single element does not count, nor does a constant of fewer elements than the call reads, such as the step of a
    range.
    """
    if node.op != "call_function" or node.target is operator.getitem or node.target._schema.name not in _CONVERSIONS:  # type: ignore[union-attr]
        return False
    (operand,), result = node.all_input_nodes, node.meta["val"]
    short = operand.meta["val"].dtype
    largest = max((source.meta["val"].numel() for source in sources if source.meta["val"].dtype == short), default=0)
    is_stored = largest > 1 and largest >= operand.meta["val"].numel()
    return is_stored and short != torch.bool and short.itemsize < result.dtype.itemsize


def _depended_on(nodes: Iterable[fx.Node]) -> list[fx.Node]:
    """Return the nodes and their dependencies in topological order."""
    ordered: dict[fx.Node, None] = {}
    waiting = [(node, False) for node in reversed(list(nodes))]
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            ordered[node] = None
        elif node not in ordered:
            waiting.append((node, True))
            waiting += [(source, False) for source in node.all_input_nodes]
    return list(ordered)


def _is_foldable(node: fx.Node, constants: Collection[fx.Node]) -> bool:
    if node.op != "call_function" or not all(source in constants for source in node.all_input_nodes):
        return False
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, (OpOverload, EdgeOpOverload)):
        return False
    values = node.meta.get("val")
    for value in values if isinstance(values, (tuple, list)) else (values,):
        if not isinstance(value, torch.Tensor) or not all(isinstance(size, int) for size in value.shape):
            return False
    return is_repeatable(node)


def _is_uninitialized(node: fx.Node) -> bool:
    """Return whether a call returns uninitialized memory, which other calls may write in parts."""
    return isinstance(node.target, (OpOverload, EdgeOpOverload)) and "empty" in node.target._schema.name


def _run(node: fx.Node, values: dict[fx.Node, Any]) -> object:
    target: Any = node.target
    if _is_uninitialized(node):
        value = node.meta["val"]
        return torch.zeros(value.shape, dtype=value.dtype)  # the same file each time
    place = lambda source: values[source].detach() if isinstance(values[source], torch.Tensor) else values[source]  # noqa: E731
    with torch.no_grad():
        return target(*map_arg(node.args, place), **map_arg(node.kwargs, place))


def _as_constant(node: fx.Node, result: object) -> NewConstant | None:
    """Return the result with the layout of the graph's value, row-major or, for example, channels last.

    None if it is not a tensor, or has another layout or dtype.
    """
    value = node.meta["val"]
    if not isinstance(result, torch.Tensor) or result.dtype != value.dtype:
        return None
    for dense in (result.contiguous, result.clone):
        if same_layout(tensor := dense(), value):
            return NewConstant(tensor, value, node)
    return None
