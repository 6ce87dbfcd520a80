# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torch.nn.functional with the samples of torch's own tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ..case import CannotBuild, Case, Example, flat
from ..rule import Rule

_MAX_SAMPLES = 8  # of a function


class _Call(nn.Module):
    """A function whose tensors are inputs and whose other arguments are fixed."""

    def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
        super().__init__()
        self.function = function
        leaves, self.shape = pytree.tree_flatten((args, kwargs))
        self.leaves = [None if isinstance(one, torch.Tensor) else one for one in leaves]
        self.places = [place for place, one in enumerate(leaves) if isinstance(one, torch.Tensor)]

    def forward(self, *tensors: torch.Tensor) -> tuple[Any, ...]:
        leaves = list(self.leaves)
        for place, one in zip(self.places, tensors, strict=True):
            leaves[place] = one
        args, kwargs = pytree.tree_unflatten(leaves, self.shape)
        return flat(self.function(*args, **kwargs))


def cases(rule: Rule) -> Iterator[Case]:
    for info in _infos():
        variant = ".".join(filter(None, (info.name.removeprefix("nn.functional."), info.variant_test_name)))
        for place in range(_MAX_SAMPLES):
            yield Case("functional", f"{variant}-{place}", partial(_make, info, place, rule), rule)


def _infos() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return [one for one in op_db if one.name.startswith("nn.functional.")]


def _make(info: Any, place: int, rule: Rule) -> Example:
    dtype = torch.float32 if torch.float32 in info.dtypes else next(iter(info.dtypes))
    torch.manual_seed(rule.seed)
    samples = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(1, len(samples) // _MAX_SAMPLES)
    chosen = samples[rule.seed % step :: step]
    if place >= len(chosen):
        raise CannotBuild("torch's tests have no more samples of it")
    sample = chosen[place]
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    if "dropout" in info.name or kwargs.get("training"):
        kwargs = kwargs | {"training": False}
    module = _Call(info.op, args, kwargs)
    tensors = tuple(one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor))
    fixed = {name: one for name, one in kwargs.items() if not isinstance(one, torch.Tensor)}
    return Example(
        module, tensors, reproduction=f"torch.{info.name}(…, {fixed}) of {[tuple(one.shape) for one in tensors]}"
    )
