# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partitioners for decoders."""

from __future__ import annotations

from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)


def get_xnnpack_partitioner(dynamic_quant_only_partitioner: bool = True) -> XnnpackPartitioner:
    """Return XNNPACK's partitioner: for dynamically quantized linear layers, or for all its operators."""
    return XnnpackDynamicallyQuantizedPartitioner() if dynamic_quant_only_partitioner else XnnpackPartitioner()
