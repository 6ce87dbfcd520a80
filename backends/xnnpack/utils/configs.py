# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The configurations that the documentation lowers with for XNNPACK."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.pass_base import PassType


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Operators that only a delegate computes may stay in the graph; skip_dim_order: memory formats too."""
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_transform_passes(additional_passes: Sequence[PassType] | None = None) -> list[PassType]:
    """For `to_edge_transform_and_lower(transform_passes=…)`: XNNPACK's lowering needs none beside the user's."""
    return list(additional_passes or ())


def get_xnnpack_executorch_backend_config(
    additional_passes: Sequence[PassType] | None = None,
) -> ExecutorchBackendConfig:
    """Payloads in segments of their own; additional_passes: run on the edge program first."""
    return ExecutorchBackendConfig(passes=list(additional_passes or ()), extract_delegate_segments=True)


__all__ = ["get_transform_passes", "get_xnnpack_edge_compile_config", "get_xnnpack_executorch_backend_config"]
