# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Computes ahead of time what depends on constants alone, above all the transposed weights of linear layers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx.node import map_arg

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.passes.node_rewrite import replace_by, same_layout
from executorch.exir.passes.program_constants import add_constant, constant_tensors, drop_unused_constants

# A folded constant may be larger than what it is computed from up to this many bytes.
FREE_GROWTH = 64 * 1024


def fold_constants(
    program: ExportedProgram, skipped: Collection[Any] = (), free_growth: int | None = FREE_GROWTH
) -> None:
    """Replaces deterministic calls on constants by their results, as new constants, in place.

    A call whose result is larger than its constant inputs and than `free_growth` bytes stays, so that files do not
    grow; None folds every call that has inputs. Calls of operators in `skipped` stay.
    """
    known = constant_tensors(program)
    outputs = set(program.graph.output_node().all_input_nodes)
    for node in list(program.graph.nodes):
        if not _foldable(node, known) or node in outputs or node.target in skipped:
            continue
        result = _run(node, known)
        if not isinstance(result, torch.Tensor) or not _same_kind(result, node.meta["val"]):
            continue
        inputs = [known[held.name].nbytes for held in node.all_input_nodes]
        if (free_growth is not None or not inputs) and result.nbytes > max(free_growth or FREE_GROWTH, sum(inputs)):
            continue
        constant = add_constant(program, "_folded_constant", result.contiguous(), node.meta["val"], node)
        known[constant.name] = program.constants[
            program.graph_signature.inputs_to_lifted_tensor_constants[constant.name]
        ]
        replace_by(node, constant)
    drop_unused_constants(program)


def _foldable(node: fx.Node, known: dict[str, torch.Tensor]) -> bool:
    if node.op != "call_function" or not isinstance(node.target, (OpOverload, EdgeOpOverload)):
        return False
    if not all(held.name in known for held in node.all_input_nodes):
        return False
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(isinstance(size, int) for size in value.shape):
        return False
    name, tags = node.target._schema.name, node.target.tags
    random = torch.Tag.nondeterministic_seeded in tags
    return not (node.target._schema.is_mutable or random or "empty" in name or node.meta.get("unbacked_bindings"))


def _run(node: fx.Node, known: dict[str, torch.Tensor]) -> Any:
    target: Any = node.target
    args = map_arg(node.args, lambda held: known[held.name].detach())
    kwargs = map_arg(node.kwargs, lambda held: known[held.name].detach())
    with torch.no_grad():
        return target(*args, **kwargs)


def _same_kind(result: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the result is what the graph says, in row-major order: others stay as they are."""
    return result.dtype == value.dtype and same_layout(result.contiguous(), value)
