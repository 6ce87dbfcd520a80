# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of the type of traced values; nothing inside the project imports it."""

from __future__ import annotations

from typing import TypeAlias, Union

import torch

LeafValue: TypeAlias = torch.Tensor | str | int | float | bool | complex | torch.dtype | torch.device | None
# A string is evaluated late: the alias refers to itself.
Value: TypeAlias = Union[LeafValue, "tuple[Value, ...]", "list[Value]", "dict[str, Value]"]

__all__ = ["LeafValue", "Value"]
