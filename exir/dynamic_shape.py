# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""How memory is planned for tensors whose sizes are known at run time only."""

from enum import IntEnum


class DynamicMemoryPlanningMode(IntEnum):
    """UPPER_BOUND: memory for the largest size is planned ahead of time."""

    UPPER_BOUND = 0
