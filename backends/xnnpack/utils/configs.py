# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Configurations for lowering to XNNPACK, as in ExecuTorch's documentation."""

from __future__ import annotations

from collections.abc import Sequence

from executorch.exir.capture import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.pass_base import PassType


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Return a configuration without IR validity checks, so that operators only a delegate computes may stay in the
    graph.

    skip_dim_order: keep memory formats instead of dim orders.
    """
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_transform_passes(additional_passes: Sequence[PassType] | None = None) -> list[PassType]:
    """Return `additional_passes`, for `to_edge_transform_and_lower(transform_passes=…)`: XNNPACK needs no others."""
    return list(additional_passes or ())


def get_xnnpack_executorch_backend_config(
    additional_passes: Sequence[PassType] | None = None,
) -> ExecutorchBackendConfig:
    """Return a configuration that stores payloads in separate segments. additional_passes run first, on the edge
    program.
    """
    return ExecutorchBackendConfig(passes=list(additional_passes or ()), extract_delegate_segments=True)


__all__ = ["get_transform_passes", "get_xnnpack_edge_compile_config", "get_xnnpack_executorch_backend_config"]
