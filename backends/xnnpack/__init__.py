# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backend for XNNPACK: its documented names, which are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )
    from executorch.backends.xnnpack.utils.configs import (
        get_xnnpack_edge_compile_config,
        get_xnnpack_executorch_backend_config,
    )
    from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend

_MODULE_OF = {
    "XnnpackBackend": "xnnpack_preprocess",
    "XnnpackDynamicallyQuantizedPartitioner": "partition.xnnpack_partitioner",
    "XnnpackPartitioner": "partition.xnnpack_partitioner",
    "get_xnnpack_edge_compile_config": "utils.configs",
    "get_xnnpack_executorch_backend_config": "utils.configs",
}

__all__ = [
    "XnnpackBackend",
    "XnnpackDynamicallyQuantizedPartitioner",
    "XnnpackPartitioner",
    "get_xnnpack_edge_compile_config",
    "get_xnnpack_executorch_backend_config",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
