# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade of `backends.xnnpack.serialization.xnnpack_graph`, with the names that `transformers.exporters` imports."""

from executorch.backends.xnnpack.serialization.xnnpack_graph import StaticReshape as XNNStaticReshape
from executorch.backends.xnnpack.serialization.xnnpack_graph import XNNGraph, XNode, XValue

__all__ = ["XNNGraph", "XNNStaticReshape", "XNode", "XValue"]
