# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torch.nn's modules with the odd options of torch's own tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from ..case import Case, Example, FlatOutputs
from ..rule import Rule

_MAX_SAMPLES = 14  # of a module: torch's tests have up to 857


def cases(rule: Rule) -> Iterator[Case]:
    for info in _infos():
        for place in range(len(_samples(info, rule.seed))):
            yield Case("nn", f"{info.name.removeprefix('nn.')}-{place}", partial(_make, info, place, rule), rule)


def _infos() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return list(module_db)


def _samples(info: Any, seed: int) -> list[Any]:
    """Return options and arguments of the module, spread evenly over those of torch's tests, the first by `seed`."""
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=False)
    chosen = [one for one in samples if one.forward_input is not None]
    step = max(1, len(chosen) // _MAX_SAMPLES)
    return chosen[seed % step :: step][:_MAX_SAMPLES]


def _make(info: Any, place: int, rule: Rule) -> Example:
    torch.manual_seed(rule.seed)
    sample = _samples(info, rule.seed)[place]
    made, given = sample.constructor_input, sample.forward_input
    module = info.module_cls(*made.args, **made.kwargs).eval()
    if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
        module(*given.args, **given.kwargs)
    options = ", ".join([*map(_short, made.args), *(f"{name}={_short(one)}" for name, one in made.kwargs.items())])
    shapes = [tuple(one.shape) if isinstance(one, torch.Tensor) else one for one in given.args]
    source = f"torch.{info.name}({options}), called with {shapes} {list(given.kwargs)}"
    return Example(FlatOutputs(module), given.args, given.kwargs, reproduction=source)


def _short(value: Any) -> str:
    return f"tensor{tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)[:60]
