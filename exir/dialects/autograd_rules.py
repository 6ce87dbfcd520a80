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
from executorch.exir.error import Rejection

__all__ = ["autograd_safe_rules", "check_differentiable"]

_NOT_IMPLEMENTED = "torch::autograd::NotImplemented"


def check_differentiable(node: fx.Node) -> Rejection | None:
    """Reject a call of an ATen operator that autograd cannot differentiate, unless no gradient is needed.

    The function runs autograd on fake tensors with the call's shapes and dtypes.
    """
    op = node.target
    if not isinstance(op, OpOverload) or op.namespace != "aten":
        return None
    values = fx.map_arg((node.args, node.kwargs), lambda node: node.meta.get("val"))
    fakes = [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    mode = next((m for leaf in fakes if (m := getattr(leaf, "fake_mode", None)) is not None), None)
    if mode is None:
        return None  # it reads no tensor
    rejection = None
    # An operator that updates statistics needs only the gradient of its first argument.
    for wanted in (len(fakes), 1):
        with mode, torch.enable_grad():
            rejection = _differentiate(op, values, wanted)
        if rejection is None:
            break
    return rejection


def _differentiate(op: OpOverload, values: object, wanted: int) -> Rejection | None:
    """Call the operator with gradients for the first `wanted` tensors. Return autograd's error, if it raises one."""
    positions = count()
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: _fresh(t, next(positions) < wanted), values)
    try:
        results = op(*args, **kwargs)
    except (RuntimeError, NotImplementedError) as error:
        return Rejection(f"{op} is not differentiable: {str(error).splitlines()[0]}")
    nodes = [leaf.grad_fn for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
    if any(node is not None and node.name() == _NOT_IMPLEMENTED for node in nodes):
        return Rejection(f"{op} is not differentiable: PyTorch lacks its derivative")
    return None


def _fresh(tensor: torch.Tensor, needs_gradient: bool) -> torch.Tensor:
    """Return an empty tensor like this one. If it requires a gradient, it is not a leaf: in-place writes are legal."""
    fresh = torch.empty_like(tensor)
    if not needs_gradient or not (fresh.is_floating_point() or fresh.is_complex()):
        return fresh
    return fresh.requires_grad_().clone()


def autograd_safe_rules() -> list[Rule]:
    """Return the rules of the dialect."""
    return [ATEN_CALLS, check_differentiable]
