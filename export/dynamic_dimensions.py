# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parse `--dynamic INPUT:DIMENSION=NAME[:MIN..MAX]` to torch.export's `dynamic_shapes`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from torch.export import Dim

from executorch.export.user_model import UserError, UserModel

__all__ = ["apply_dynamic_dimensions"]

_FORM = re.compile(r"(?P<input>\w+):(?P<dim>\d+)=(?P<name>[A-Za-z_]\w*)(?::(?P<min>\d+)\.\.(?P<max>\d+))?")


def apply_dynamic_dimensions(user: UserModel, options: Sequence[str]) -> None:
    """Set `user.dynamic_shapes` from options such as `input_ids:1=tokens:1..512`. Equal names mean equal sizes.

    Raises UserError for an invalid option, an unknown input or dimension, or a model that already defines shapes.
    """
    if not options:
        return
    if user.dynamic_shapes is not None:
        raise UserError("--dynamic: the model's callable returns dynamic_shapes already; use one of the two")
    inputs = _inputs_by_name(user)
    dims: dict[str, Any] = {}
    shapes: dict[str, dict[int, Any] | None] = dict.fromkeys(inputs)
    for option in options:
        match = _FORM.fullmatch(option)
        if match is None:
            raise UserError(f"--dynamic {option}: expected INPUT:DIMENSION=NAME or INPUT:DIMENSION=NAME:MIN..MAX")
        name, dimension = match["input"], int(match["dim"])
        if name not in inputs:
            raise UserError(f"--dynamic {option}: unknown input {name!r}; expected one of {', '.join(inputs)}")
        rank = getattr(inputs[name], "ndim", 0)
        if dimension >= rank:
            raise UserError(f"--dynamic {option}: input {name!r} has {rank} dimensions")
        shapes[name] = {**(shapes[name] or {}), dimension: _dim(dims, option, match)}
    user.dynamic_shapes = shapes


def _dim(dims: dict[str, Any], option: str, match: re.Match[str]) -> Any:
    name = match["name"]
    if match["min"] is None:
        return dims.setdefault(name, Dim(name))
    low, high = int(match["min"]), int(match["max"])
    if low > high:
        raise UserError(f"--dynamic {option}: the minimum {low} is above the maximum {high}")
    dim = dims.setdefault(name, Dim(name, min=low, max=high))
    if (dim.min, dim.max) != (low, high):
        raise UserError(f"--dynamic {option}: {name} has the range {dim.min}..{dim.max} already")
    return dim


def _inputs_by_name(user: UserModel) -> dict[str, Any]:
    if not hasattr(user.model, "forward"):
        raise UserError("--dynamic: the program is already exported, so its shapes are fixed")
    bound = inspect.signature(user.model.forward).bind(*user.args, **user.kwargs)
    named = dict(bound.arguments)
    for name, value in list(named.items()):
        if isinstance(value, dict) and bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named.pop(name)
            named.update(value)
    return named
