# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Control flow for model authors, under the documented import path: torch's own functions, whose graphs the compiler
takes.

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
