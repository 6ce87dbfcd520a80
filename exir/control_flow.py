# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: torch's functions for control flow, which the compiler supports, under their documented import path.

Predicates are boolean tensors of one element; every branch returns the same number of tensors with the same dtypes
and ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import torch
from torch._higher_order_ops import while_loop as _while_loop
from torch._higher_order_ops.map import map as map
from torch._higher_order_ops.scan import scan

cond = torch.cond
_Values = TypeVar("_Values")


def while_loop(cond_fn: Callable[..., torch.Tensor], body_fn: Callable[..., object], init_val: _Values) -> _Values:
    """Return the values after `body_fn` ran as long as `cond_fn` is true; `init_val` has the first values."""
    return cast(_Values, _while_loop(cond_fn, body_fn, init_val))


__all__ = ["cond", "map", "scan", "while_loop"]
