# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The higher-order operator that calls a delegate.

torch defines `torch.ops.higher_order.executorch_call_delegate(lowered_module, *inputs)`, because its tracers and
verifiers must know it. With real tensors it runs `lowered_module.original_module` eagerly, with fake tensors it
computes the output shapes. Functionalization and proxy tracing preserve the call.
"""

from __future__ import annotations

from torch._higher_order_ops.executorch_call_delegate import (
    executorch_call_delegate,
    get_lowered_module_name,
    is_lowered_module,
)

__all__ = ["executorch_call_delegate", "get_lowered_module_name", "is_lowered_module"]
