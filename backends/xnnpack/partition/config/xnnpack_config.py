# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What a user chooses of XNNPACK's operators: by name, by precision."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar


class ConfigPrecisionType(Enum):
    """What operators compute on."""

    FP32 = 1
    """Numbers, float16 among them."""
    STATIC_QUANT = 2
    """Integers whose parameters are in the graph."""
    DYNAMIC_QUANT = 3
    """Rows that are quantized while running."""


class XNNPartitionerConfig:
    """One operator. `target_name` is its name with overload, such as "add.Tensor"."""

    target_name: ClassVar[str]
