# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Batch normalization in training mode: it uses the statistics of the batch, and updates the running ones."""

from __future__ import annotations

import warnings

import torch
from torch.export import ExportedProgram

_aten = torch.ops.aten
_TRAINING = 5  # the position of `training` among batch_norm's arguments
_WARNING = (
    "{} batch normalizations are in training mode: the program normalizes by the statistics of its input, and "
    "updates the running ones. For inference, call model.eval() before torch.export.export"
)


def batch_norm_by_the_batch(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    """Return the result, the batch's statistics, and the updated running ones."""
    if not training:
        given = (input, weight, bias, running_mean, running_var, momentum, eps)
        return (*_aten._native_batch_norm_legit_no_training(*given), running_mean.clone(), running_var.clone())
    result, mean, rstd = _aten._native_batch_norm_legit.no_stats(input, weight, bias, True, momentum, eps)
    reduced_dims = [dim for dim in range(input.dim()) if dim != 1]
    variance = torch.var(input.to(running_var.dtype), reduced_dims, correction=1)
    new_mean = running_mean * (1 - momentum) + mean.to(running_mean.dtype) * momentum
    return result, mean, rstd, new_mean, running_var * (1 - momentum) + variance * momentum


def warn_of_training(program: ExportedProgram) -> None:
    """Warn if batch normalizations update their statistics, which is usually a forgotten model.eval()."""
    calls = program.graph.find_nodes(op="call_function", target=_aten.batch_norm.default)
    count = sum(
        len(call.args) > _TRAINING and call.args[3] is not None and bool(call.args[_TRAINING]) for call in calls
    )
    if count:
        warnings.warn(_WARNING.format(count), UserWarning, stacklevel=2)
