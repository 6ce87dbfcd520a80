# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Configuration of XnnpackPartitioner: operators by name, precisions."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from torch.export import ExportedProgram
from torch.fx import Node


class ConfigPrecisionType(Enum):
    """Precision in which operators compute."""

    FP32 = 1
    """Float, including float16 and bfloat16."""
    STATIC_QUANT = 2
    """Quantized integers with constant parameters."""
    DYNAMIC_QUANT = 3
    """Operands quantized at run time."""


class XNNPartitionerConfig:
    """One operator. `target_name` is its name with overload, such as "add.Tensor"."""

    target_name: ClassVar[str]

    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        """Return whether the partitioner may take a call. Overrides keep calls of the operator out; what XNNPACK
        cannot compute stays out whatever they return.
        """
        return True
