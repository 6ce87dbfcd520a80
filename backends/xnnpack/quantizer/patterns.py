# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Patterns that the quantizer annotates: operators, the values it quantizes, and the operators that fuse into them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

aten = torch.ops.aten


class Kind(Enum):
    """Values of a call that are quantized."""

    WEIGHTED = "operand, constant weights and result"
    COMPUTED = "operands and result, each with its own parameters"
    SHARED = "operands and result, all with the same parameters"
    PASSED = "as SHARED, if the operand is quantized"


@dataclass(frozen=True)
class Pattern:
    """Operators that are annotated alike.

    followers: operators that fuse into the call if nothing else reads its result; their result is quantized instead.
    dynamic: also quantized dynamically. channels: dimension of the weights that may have several scales.
    """

    kind: Kind
    operators: tuple[OpOverload, ...]
    followers: tuple[OpOverload, ...] = ()
    dynamic: bool = False
    channels: int = 0


RELU = (aten.relu.default, aten.relu_.default)
BATCH_NORM = (aten.batch_norm.default,)
"""Only in a graph captured for training; prepare_pt2e folds batch norm into the convolution."""

CONVOLUTIONS = (aten.conv1d.default, aten.conv2d.default, aten.conv1d.padding, aten.conv2d.padding)
TRANSPOSED = (aten.conv_transpose1d.default, aten.conv_transpose2d.input)

SUMS = (aten.add.Tensor, aten.add_.Tensor)
PRODUCTS = (aten.mul.Tensor, aten.mul_.Tensor)
CONVERSIONS = (aten.to.dtype, aten._to_copy.default, aten.expand.default)
"""Operators whose result has elements of the operand, in another dtype or repeated."""

MOVES = (
    *(aten.permute.default, aten.permute_copy.default, aten.transpose.int, aten.pixel_shuffle.default),
    *(aten.squeeze.dim, aten.squeeze_copy.dim, aten.squeeze.dims, aten.unsqueeze.default),
    *(aten.view.default, aten.view_copy.default, aten.reshape.default, aten.flatten.using_ints),
    *(aten.slice.Tensor, aten.slice_copy.Tensor, aten.select.int, aten.pad.default),
    *(aten.constant_pad_nd.default, aten.clone.default, aten.contiguous.default),
)
"""Operators whose result has elements of the operand, and padding."""

PATTERNS = (
    Pattern(Kind.WEIGHTED, (aten.linear.default,), RELU, dynamic=True),
    Pattern(Kind.WEIGHTED, CONVOLUTIONS, RELU, dynamic=True),
    Pattern(Kind.WEIGHTED, TRANSPOSED, RELU, dynamic=True, channels=1),
    Pattern(Kind.COMPUTED, SUMS, RELU),
    Pattern(Kind.COMPUTED, (aten.sub.Tensor, aten.sub_.Tensor), RELU),
    Pattern(Kind.COMPUTED, PRODUCTS, RELU),
    Pattern(
        Kind.COMPUTED,
        (
            *(aten.sigmoid.default, aten.sigmoid_.default, aten.tanh.default, aten.tanh_.default),
            *(aten.hardswish.default, aten.hardswish_.default, aten.elu.default, aten.elu_.default),
            *(aten.leaky_relu.default, aten.leaky_relu_.default, aten.gelu.default, aten.gelu_.default),
            *(aten.silu.default, aten.silu_.default),
        ),
    ),
    Pattern(Kind.SHARED, (aten.adaptive_avg_pool2d.default, aten.cat.default)),
    Pattern(
        Kind.PASSED,
        (
            *RELU,
            *(aten.hardtanh.default, aten.hardtanh_.default, aten.clamp.default, aten.clamp_.default),
            *(aten.relu6.default, aten.relu6_.default),
            *(aten.max_pool2d.default, aten.avg_pool2d.default, aten.mean.default, aten.mean.dim),
            *(aten.upsample_bilinear2d.vec, aten.upsample_nearest2d.vec),
            *MOVES,
        ),
    ),
)

PATTERN_OF: dict[Any, Pattern] = {operator: pattern for pattern in PATTERNS for operator in pattern.operators}


def only_follower(node: Node, operators: tuple[OpOverload, ...]) -> Node | None:
    """The only reader of a result, if it calls one of `operators` with the result as first operand; else None."""
    users = list(node.users)
    follows = len(users) == 1 and users[0].target in operators and users[0].args[0] is node
    return users[0] if follows else None


def is_float32(value: object) -> bool:
    """Return whether an argument is a float32 tensor, the dtype that observers accept."""
    return isinstance(value, Node) and getattr(value.meta.get("val"), "dtype", None) is torch.float32
