# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of torchvision's operators."""

from __future__ import annotations

from collections.abc import Callable

from torch._ops import OpOverload

from executorch.exir.decompose.operators.package_operators import rules_of_package
from executorch.exir.decompose.operators.vision.box_suppression import nms
from executorch.exir.decompose.operators.vision.pooled_regions import ps_roi_align, ps_roi_pool, roi_pool
from executorch.exir.decompose.operators.vision.sampled_regions import deform_conv2d, roi_align


def vision_decompositions() -> dict[OpOverload, Callable[..., object]]:
    """Return decompositions by operator, which are none unless torchvision is imported."""
    rules: dict[str, Callable[..., object]] = {
        "nms": nms,
        "roi_align": roi_align,
        "roi_pool": roi_pool,
        "ps_roi_align": ps_roi_align,
        "ps_roi_pool": ps_roi_pool,
        "deform_conv2d": deform_conv2d,
    }
    return rules_of_package("torchvision", rules)
