# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The core operators of the torch that is installed."""

from __future__ import annotations

import torch

# resize_ changes a storage, which functional programs lack; only tracing calls sym_is_contiguous.
NEVER_IN_A_PROGRAM = frozenset({"aten::resize_", "aten::sym_is_contiguous"})


def core_operators() -> list[torch._ops.OpOverload]:
    """Every overload that this torch tags as core, whether or not something has used it before."""
    overloads = []
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, operator = name.partition("::")
        if namespace == "aten" and name not in NEVER_IN_A_PROGRAM:
            base, _, overload = operator.partition(".")
            overloads.append(getattr(getattr(torch.ops.aten, base), overload or "default", None))
    return [op for op in overloads if op is not None and torch.Tag.core in op.tags]
