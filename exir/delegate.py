# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The higher-order operator that stands for "call this delegate here".

`torch.ops.higher_order.executorch_call_delegate(lowered_module, *inputs)` is defined by torch itself (it must be
known to its tracers and verifiers): real tensors run `lowered_module.original_module` eagerly, fake tensors give its
output shapes, functionalization and proxy tracing keep the call whole. This module is its documented import path.
"""

from __future__ import annotations

from torch._higher_order_ops.executorch_call_delegate import (
    executorch_call_delegate,
    get_lowered_module_name,
    is_lowered_module,
)

__all__ = ["executorch_call_delegate", "get_lowered_module_name", "is_lowered_module"]
