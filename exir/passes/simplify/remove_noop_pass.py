# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove copies, conversions, expands and views that change nothing."""

from __future__ import annotations

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.graph_module import all_graph_modules
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.layouts import is_contiguous, same_layout
from executorch.exir.rewrite.node_rewrite import argument, replace_by, with_values

# A call of these operators is a no-op if its first argument and its result have equal layouts.
_COPIES = frozenset(
    {
        "aten::clone",
        "aten::copy",
        "aten::_to_copy",
        "aten::expand_copy",
        "aten::view_copy",
        "aten::alias_copy",
        "aten::detach_copy",
        "aten::lift_fresh_copy",
        "aten::unsqueeze_copy",
        "aten::squeeze_copy.dims",
        "aten::squeeze_copy.dim",
        "aten::constant_pad_nd",
        "aten::cat",
        "aten::_adaptive_avg_pool2d",
        "aten::avg_pool2d",
        "dim_order_ops::_to_dim_order_copy",
        "dim_order_ops::_clone_dim_order",
    }
)


def _source(node: fx.Node) -> fx.Node | None:
    """Return the tensor that a no-op call returns.

    It is the source of a `copy`, the only item with elements of a concatenation's list, else the first operand.
    """
    is_copy = getattr(getattr(node.target, "_schema", None), "name", "") == "aten::copy"
    first = node.args[int(is_copy)] if node.args else None
    if isinstance(first, (list, tuple)):
        filled = [item for item in first if not _is_empty(item)]
        first = filled[0] if len(filled) == 1 else None
    return first if isinstance(first, fx.Node) else None


def _is_empty(operand: object) -> bool:
    """Return whether a dim of the tensor has the fixed size 0.

    Rotary embeddings of whole heads concatenate such a tensor: the part of each head that they do not rotate.
    """
    value = operand.meta.get("val") if isinstance(operand, fx.Node) else None
    return isinstance(value, torch.Tensor) and any(isinstance(size, int) and size == 0 for size in value.shape)


def _is_identity(node: fx.Node, name: str) -> bool:
    source = _source(node)
    if source is None or not same_layout(source.meta.get("val"), node.meta.get("val")):
        return False
    if name == "aten::avg_pool2d":
        return all(size == 1 for size in argument(node, "kernel_size")) and not argument(node, "divisor_override")
    if name == "aten::constant_pad_nd":
        pads = argument(node, "pad")
        return all(isinstance(pad, int) and pad == 0 for pad in pads)
    return isinstance(node.meta["val"], torch.Tensor)


def _is_full_slice(node: fx.Node, name: str) -> bool:
    """Return whether a call is a slice with step 1 that keeps the size, and so every element."""
    return name == "aten::slice_copy.Tensor" and argument(node, "step") == 1 and _is_identity(node, name)


def _is_view_in_order(node: fx.Node, name: str) -> bool:
    """Return whether an as_strided reads its whole operand in memory order; global average pooling ends with one."""
    if name != "aten::as_strided_copy" or argument(node, "storage_offset") not in (None, 0):
        return False
    if not _is_identity(node, name):
        return False
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    lying = zip(value.shape, with_values(argument(node, "stride")), value.stride(), strict=True)
    return all(str(size) == "1" or str(wanted) == str(stride) for size, wanted, stride in lying)


def _is_identity_permute(node: fx.Node, name: str) -> bool:
    return name == "aten::permute_copy" and list(argument(node, "dims")) == list(range(len(argument(node, "dims"))))


def _without_empty(node: fx.Node, name: str) -> list[fx.Node] | None:
    """Return the operands of a concatenation that have elements; None if that changes nothing, or the result."""
    if name != "aten::cat":
        return None
    given: list[fx.Node] = node.args[0]  # type: ignore[assignment]
    filled = [operand for operand in given if not _is_empty(operand)]
    if len(filled) in (0, len(given)):
        return None
    has_one_dtype = len({operand.meta["val"].dtype for operand in given}) == 1
    # Not torch's is_contiguous(), which compares sizes that depend on data.
    in_order = all(is_contiguous(one.meta["val"]) for one in (*filled, node))
    return filled if has_one_dtype and in_order else None


class RemoveNoopPass(GraphPass):
    """Removes calls that change nothing, and operands of `cat` without elements.

    The calls are copies, conversions, views, slices, pads, permutes and `cat` of one tensor.

    A no-op between an input (or constant) and an output stays: the two must not share memory.

    Helps: leftovers of decompositions.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            outputs = set(module.graph.output_node().all_input_nodes)
            for node in list(module.graph.nodes):
                target = node.target
                name = target.name() if node.op == "call_function" and callable(getattr(target, "name", None)) else ""
                noop = (name in _COPIES and _is_identity(node, name)) or _is_full_slice(node, name)
                source = _source(node)
                if operands := _without_empty(node, name):
                    node.args = (operands, *node.args[1:])
                    modified = True
                if source is None or not (noop or _is_view_in_order(node, name) or _is_identity_permute(node, name)):
                    continue
                if node in outputs and (source.op != "call_function" or source in outputs):
                    continue
                if node in outputs:
                    outputs.add(source)
                replace_by(node, source)
                modified = True
        return PassResult(graph_module, modified)


class RemoveToCopyPass(GraphPass):
    """Removes `_to_copy` that changes nothing, in graphs of ATen and edge operators."""

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            for node in list(module.graph.nodes):
                target = node.target
                name = target.name() if node.op == "call_function" and callable(getattr(target, "name", None)) else ""
                if name == "aten::_to_copy" and _is_identity(node, name):
                    replace_by(node, node.args[0])
                    modified = True
        return PassResult(graph_module, modified)


def eliminate_dq_q(graph_module: fx.GraphModule, dequant_nodes: list[fx.Node]) -> None:
    """Connect the readers of quantize(dequantize(x)) with equal arguments to x, in place.

    Nodes of the list that are not dequantizations are ignored. Calls without readers stay.
    """
    for node in dequant_nodes:
        kind = _quantization_kind(node, "dequantize_per_")
        for user in list(node.users):
            equal = (user.args[1:], user.kwargs) == (node.args[1:], node.kwargs)
            if kind and equal and _quantization_kind(user, "quantize_per_") == kind:
                user.replace_all_uses_with(node.args[0])  # type: ignore[arg-type]


def _quantization_kind(node: fx.Node, name: str) -> str:
    """Return the granularity ("tensor", "channel" …) of a quantize or dequantize, "" for any other node."""
    called = getattr(node.target, "name", None)
    text = str(called()) if node.op == "call_function" and callable(called) else ""
    prefix = f"quantized_decomposed::{name}"
    return text.removeprefix(prefix) if text.startswith(prefix) else ""
