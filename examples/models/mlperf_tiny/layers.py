# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Layers that the models of MLPerf Tiny share."""

from __future__ import annotations

from typing import Any

from torch import nn


def conv_unit(inputs: int, outputs: int, kernel: Any, **settings: Any) -> list[nn.Module]:
    """A convolution without a bias, a batch norm and a ReLU."""
    return [nn.Conv2d(inputs, outputs, kernel, bias=False, **settings), nn.BatchNorm2d(outputs), nn.ReLU()]


def separable_unit(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """A depthwise 3 x 3 unit and a pointwise one."""
    depthwise = conv_unit(inputs, inputs, 3, stride=stride, padding=1, groups=inputs)
    return nn.Sequential(*depthwise, *conv_unit(inputs, outputs, 1))
