# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rules of the autograd-safe ATen dialect: differentiable ATen operators, higher-order and custom operators."""

from __future__ import annotations

from itertools import count

import torch
from torch import fx
from torch._ops import OpOverload
from torch.utils import _pytree as pytree

from executorch.exir.dialects.edge_rules import ATEN_CALLS
from executorch.exir.dialects.verifier import Rule

__all__ = ["autograd_safe_rules", "why_not_differentiable"]

_NOT_IMPLEMENTED = "torch::autograd::NotImplemented"


def why_not_differentiable(node: fx.Node) -> str:
    """Return why autograd cannot differentiate a call of an ATen operator, or "" if it can or no gradient is needed.

    The function runs autograd on fake tensors with the call's shapes and dtypes.
    """
    op = node.target
    if not isinstance(op, OpOverload) or op.namespace != "aten":
        return ""
    values = fx.map_arg((node.args, node.kwargs), lambda node: node.meta.get("val"))
    fakes = [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    mode = next((m for leaf in fakes if (m := getattr(leaf, "fake_mode", None)) is not None), None)
    if mode is None:
        return ""  # it reads no tensor
    refusal = ""
    # An operator that updates statistics needs the gradient of its first argument alone.
    for wanted in (len(fakes), 1):
        with mode, torch.enable_grad():
            refusal = _refusal(op, values, wanted)
        if not refusal:
            break
    return refusal


def _refusal(op: OpOverload, values: object, wanted: int) -> str:
    """Return autograd's error for a call in which the first `wanted` tensors require gradients, or ""."""
    positions = count()
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: _fresh(t, next(positions) < wanted), values)
    try:
        results = op(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        return f"{op} is not differentiable: {str(error).splitlines()[0]}"
    nodes = [leaf.grad_fn for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
    if any(node is not None and node.name() == _NOT_IMPLEMENTED for node in nodes):
        return f"{op} is not differentiable: PyTorch lacks its derivative"
    return ""


def _fresh(tensor: torch.Tensor, needs_gradient: bool) -> torch.Tensor:
    """Return an empty tensor like this one. If it requires a gradient, it is not a leaf: in-place writes are legal."""
    fresh = torch.empty_like(tensor)
    if not needs_gradient or not (fresh.is_floating_point() or fresh.is_complex()):
        return fresh
    return fresh.requires_grad_().clone()


def autograd_safe_rules() -> list[Rule]:
    """Return the rules of the dialect."""
    return [ATEN_CALLS, Rule(lambda node: bool(why_not_differentiable(node)), why_not_differentiable)]
