# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partitioners for decoders."""

from __future__ import annotations

from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)


def get_xnnpack_partitioner(dynamic_quant_only_partitioner: bool = True) -> XnnpackPartitioner:
    """Return XNNPACK's partitioner: of dynamically quantized linear layers alone, or of all operators it has."""
    return XnnpackDynamicallyQuantizedPartitioner() if dynamic_quant_only_partitioner else XnnpackPartitioner()
