# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose torch's cross entropy of a linear layer in chunks of the batch to the layer and its loss."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._ops import OpOverload
from torch.nn import functional

from executorch.exir.decompose.operators.package_operators import rules_of_package


def chunked_loss_decompositions() -> dict[OpOverload, Callable[..., object]]:
    """Return decompositions by operator; torch defines the operators when the loss is first used."""
    return rules_of_package(
        "torch_nn",
        {
            "_linear_cross_entropy_batch_chunked": _reduced,
            "_linear_cross_entropy_batch_chunked_no_reduction": _by_sample,
        },
    )


def _reduced(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    linear_bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: torch.dtype,
    allow_retain_graph: bool,
    compute_input_grad: bool,
    compute_linear_weight_grad: bool,
    compute_linear_bias_grad: bool,
) -> object:
    if compute_input_grad or compute_linear_weight_grad or compute_linear_bias_grad:
        return NotImplemented  # the operator computes gradients too
    layer = (linear_weight, linear_bias)
    loss = _loss(input, layer, target, weight, ignore_index, reduction, label_smoothing)
    return loss, input.new_empty(0, 0), input.new_empty(0, 0), input.new_empty(0)


def _by_sample(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    linear_bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    ignore_index: int,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: torch.dtype,
) -> torch.Tensor:
    return _loss(input, (linear_weight, linear_bias), target, weight, ignore_index, "none", 0.0)


def _loss(
    input: torch.Tensor,
    layer: tuple[torch.Tensor, torch.Tensor | None],
    target: torch.Tensor,
    weight: torch.Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> torch.Tensor:
    logits = functional.linear(input, *layer)
    return functional.cross_entropy(
        logits, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )
