# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Modes of memory planning for tensors with dynamic sizes."""

from enum import IntEnum


class DynamicMemoryPlanningMode(IntEnum):
    """UPPER_BOUND: the plan reserves memory for the largest size."""

    UPPER_BOUND = 0
