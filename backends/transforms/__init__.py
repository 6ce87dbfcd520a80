# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes shared by several backends, one per file."""

from executorch.backends.transforms.addmm_mm_to_linear import apply_addmm_mm_to_linear_transform, get_shape

__all__ = ["apply_addmm_mm_to_linear_transform", "get_shape"]
