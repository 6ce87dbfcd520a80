# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Configurations of the compiler."""

from executorch.exir.capture._config import EdgeCompileConfig, ExecutorchBackendConfig

__all__ = ["EdgeCompileConfig", "ExecutorchBackendConfig"]
