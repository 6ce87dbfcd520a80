# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompose `mean` to a sum and a division, for backends without `mean`."""

from __future__ import annotations

import math
from typing import Any

from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import ExportPass, NodeMetadata

_aten: Any = ops.edge.aten


class MeanToSumDiv(ExportPass):
    """Replaces `mean.dim` by `sum.dim_IntList` and `div.Tensor`."""

    def call_operator(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata) -> Any:
        if op is not _aten.mean.dim:
            return super().call_operator(op, args, kwargs, meta)
        total = super().call_operator(_aten.sum.dim_IntList, args, kwargs, meta)
        value = args[0].to_tensor()
        sizes = [value.shape[dim] for dim in args[1] or range(value.dim())]
        count = math.prod(sizes)
        number = float(count) if isinstance(count, int) else count
        divisor = super().call_operator(_aten.full.default, ([1], number), {"dtype": total.to_tensor().dtype}, meta)
        return super().call_operator(_aten.div.Tensor, (total, divisor), {}, meta)
