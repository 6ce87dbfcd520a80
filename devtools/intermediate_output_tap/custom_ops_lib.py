# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The tap operator. No backend supports it, so its operand becomes an output of the delegate."""

from __future__ import annotations

from typing import Any

import torch
from torch.library import Library

_bindings: Any = torch._C

lib = Library("executorch_devtools", "DEF")
lib.define("tap.Tensor(Tensor x, str reducer_name) -> Tensor")


def tap_tensor_impl(x: torch.Tensor, reducer_name: str) -> torch.Tensor:
    """Apply the reducer; return a copy if the result is the tensor itself."""
    from executorch.devtools.intermediate_output_tap._reducers import get_reducer

    reduced = get_reducer(reducer_name).eager(x)
    return reduced.clone() if _bindings._is_alias_of(reduced, x) else reduced


lib.impl("tap.Tensor", tap_tensor_impl, "CompositeExplicitAutograd")
