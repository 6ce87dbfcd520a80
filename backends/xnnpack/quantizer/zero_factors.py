# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Refuse quantization-aware training if a batch norm has a weight of zero: torchao's training graph divides by it.

For training, torchao multiplies a convolution's weights by the factors of the following batch norm, quantizes the
products and divides the result by the factors, also in layers that stay float. A factor of zero gives 0 / 0.
"""

from __future__ import annotations

from functools import reduce

import torch
from torch.fx import GraphModule, Node

from executorch.backends.xnnpack.quantizer.choice import described
from executorch.backends.xnnpack.quantizer.patterns import BATCH_NORM, CONVOLUTIONS, TRANSPOSED, only_follower


class ZeroFactorsError(ValueError):
    """A batch norm after a convolution has factors of zero; the message names them and says what to do."""


def check_factors(model: GraphModule) -> None:
    """Raise `ZeroFactorsError` if a graph captured for training has factors of zero."""
    for node in model.graph.nodes:
        norm = only_follower(node, BATCH_NORM) if node.target in (*CONVOLUTIONS, *TRANSPOSED) else None
        factors = _tensor(model, norm.args[1]) if norm is not None else None
        zeros = torch.empty(0) if factors is None else (factors == 0).nonzero()
        if norm is not None and factors is not None and len(zeros):
            raise ZeroFactorsError(
                f"{described(norm)}: {len(zeros)} of its {factors.numel()} factors (weight) are zero, the first of "
                f"channel {int(zeros[0])}: quantization-aware training divides by them and gives NaN. Train in "
                "float until none is zero, or replace them before torch.export.export: `with torch.no_grad(): "
                "norm.weight[norm.weight == 0] = 1e-2`"
            )


def _tensor(model: GraphModule, node: object) -> torch.Tensor | None:
    if not isinstance(node, Node) or node.op != "get_attr":
        return None
    attribute = reduce(getattr, str(node.target).split("."), model)
    return attribute.detach() if isinstance(attribute, torch.Tensor) else None
