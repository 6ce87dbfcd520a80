# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: torch's functions for control flow, which the compiler supports, under their documented import path.

Predicates are boolean tensors of one element; every branch returns the same number of tensors with the same dtypes
and ranks.
"""

from __future__ import annotations

import torch
from torch._higher_order_ops.map import map as map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

cond = torch.cond

__all__ = ["cond", "map", "scan", "while_loop"]
