# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Update the `val` of nodes after a graph was rewritten, only where it can have changed."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.error import ExportError
from executorch.exir.graph_module import all_graph_modules, get_control_flow_submodules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.fake_call import call_on_fakes
from executorch.exir.rewrite.layouts import same_layout
from executorch.exir.rewrite.node_rewrite import with_values


def _is_recomputable(node: fx.Node) -> bool:
    if node.op != "call_function" or "val" not in node.meta:
        return False
    if node.target is operator.getitem:
        return True
    if not isinstance(node.target, (OpOverload, EdgeOpOverload)):
        return False
    return bool(not node.meta.get("unbacked_bindings")) and not node.target._schema.is_mutable


def computed_value(mode: FakeTensorMode, node: fx.Node) -> Any:
    """Compute a call node's `val` from the `val`s of its arguments.

    torch's shape functions of some operators compare sizes that depend on data. A tensor whose sizes are known then
    keeps them, and is contiguous. Raises ExportError if no sizes are known.
    """
    target: Callable[..., object] = node.target  # type: ignore[assignment]
    logger = logging.getLogger(fake_tensor.__name__)
    was_disabled = logger.disabled
    logger.disabled = True  # torch logs the error that is handled here
    try:
        return call_on_fakes(mode, target, with_values(node.args), with_values(node.kwargs))
    except GuardOnDataDependentSymNode as error:
        known = node.meta.get("val")
        if not isinstance(known, torch.Tensor):
            why = f"its sizes depend on data, and torch cannot compute them: {error}"
            raise ExportError("sizes", node, why) from error
        with mode:
            return torch.empty(known.shape, dtype=known.dtype, device=known.device)
    finally:
        logger.disabled = was_disabled


def give_missing_values(graph_module: fx.GraphModule) -> None:
    """Compute missing `val`s of operator calls: torch.fx's pattern replacement creates nodes without them."""
    for module in all_graph_modules(graph_module):
        missing = [node for node in module.graph.nodes if "val" not in node.meta and _returns(node)]
        mode = fake_mode_of(module) if missing else None
        for node in missing:
            if mode is not None and all("val" in source.meta for source in node.all_input_nodes):
                node.meta["val"] = computed_value(mode, node)


def _returns(node: fx.Node) -> bool:
    operators = (OpOverload, EdgeOpOverload)
    return node.op == "call_function" and isinstance(node.target, operators) and bool(node.target._schema.returns)


def refresh_values(graph_module: fx.GraphModule, changed: set[fx.Node]) -> None:
    """Recompute the values of `changed`, and of their transitive users as long as layouts change.

    A node with an unchanged layout keeps its value object, and with it its symbols. Subgraphs of control flow get the
    new layouts of their operands.
    """
    mode = fake_mode_of(graph_module)
    dirty = set(changed)
    for node in graph_module.graph.nodes:
        if node not in dirty:
            continue
        if isinstance(node.target, HigherOrderOperator):
            _refresh_inner_graphs(graph_module, node)
            continue
        if not _is_recomputable(node):
            continue
        value = computed_value(mode, node)
        if same_layout(value, node.meta["val"]):
            continue
        node.meta["val"] = value
        node.meta.pop("tensor_meta", None)
        dirty.update(node.users)


def _refresh_inner_graphs(graph_module: fx.GraphModule, call: fx.Node) -> None:
    """Update the placeholders of the subgraphs that `call` runs: an operand's layout, or contiguous for its slices."""
    operands = [
        item
        for arg in call.args
        for item in (arg if isinstance(arg, (list, tuple)) else [])
        if isinstance(item, fx.Node)
    ]
    for _, inner, node in get_control_flow_submodules(graph_module):
        if node is not call:
            continue
        mode = fake_mode_of(inner)
        placeholders = [node for node in inner.graph.nodes if node.op == "placeholder"]
        touched: set[fx.Node] = set()
        for operand, placeholder in zip(operands, placeholders, strict=False):
            new, old = operand.meta.get("val"), placeholder.meta.get("val")
            if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
                continue
            if new.dim() != old.dim():
                with mode:
                    new = torch.empty(old.shape, dtype=old.dtype, device=old.device)
            if not same_layout(new, old):
                placeholder.meta["val"] = new
                touched.update(placeholder.users)
        refresh_values(inner, touched)
