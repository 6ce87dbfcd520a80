# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torch.func: vmap, grad, jvp, jacobians and functional_call of small functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from ..case import Case, Example, flat
from ..rule import Rule


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> tuple[Any, ...]:
        return flat(self.function(*args))


def _energy(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() * x).sum()


def _layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ w)


_CALLS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "vmap": (torch.vmap(_layer, in_dims=(0, None)), ((3, 2, 4), (4, 5))),
    "vmap_over_columns": (torch.vmap(lambda x: x.softmax(0), in_dims=1, out_dims=1), ((5, 3),)),
    "vmap_of_vmap": (torch.vmap(torch.vmap(torch.dot, (0, None)), (None, 0)), ((4, 3), (5, 3))),
    "vmap_of_linear": (torch.vmap(lambda x, w, b: torch.nn.functional.linear(x, w, b)), ((3, 2, 4), (3, 5, 4), (3, 5))),
    "vmap_of_where": (torch.vmap(lambda x: torch.where(x > 0, x, -x).cumsum(0)), ((3, 4),)),
    "vmap_of_index": (torch.vmap(lambda x: x[torch.tensor([2, 0])]), ((3, 4),)),
    "grad": (torch.func.grad(_energy), ((4,),)),
    "grad_and_value": (torch.func.grad_and_value(_energy), ((4,),)),
    "vmap_of_grad": (torch.vmap(torch.func.grad(_energy)), ((3, 4),)),
    "grad_of_layer": (torch.func.grad(lambda x, w: _layer(x, w).sum(), argnums=1), ((3, 4), (4, 2))),
    "jvp": (lambda x, t: torch.func.jvp(_energy, (x,), (t,)), ((4,), (4,))),
    "vjp": (lambda x, t: torch.func.vjp(torch.sin, x)[1](t), ((4,), (4,))),
    "jacrev": (torch.func.jacrev(lambda x: x.sin() * x.sum()), ((4,),)),
    "jacfwd": (torch.func.jacfwd(lambda x: x.sin() * x.sum()), ((4,),)),
    "hessian": (torch.func.hessian(_energy), ((3,),)),
    "functionalize": (torch.func.functionalize(lambda x: x.clone().add_(1).mul_(2)), ((3, 4),)),
}


class _FunctionalCall(nn.Module):
    """`torch.func.functional_call` with weights that are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = {name: one * 0.5 for name, one in self.layer.named_parameters()}
        return torch.func.functional_call(self.layer, weights, (x,))  # type: ignore[no-any-return]


def cases(rule: Rule) -> Iterator[Case]:
    for name, (function, shapes) in _CALLS.items():
        yield Case("func", name, lambda f=function, s=shapes, n=name: _make(f, s, n), rule)  # type: ignore[misc]
    yield Case("func", "functional_call", lambda: Example(_FunctionalCall(), (torch.randn(2, 4),)), rule)


def _make(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], name: str) -> Example:
    return Example(
        _Function(function), tuple(torch.randn(one) for one in shapes), reproduction=f"torch.func: {name} of {shapes}"
    )
