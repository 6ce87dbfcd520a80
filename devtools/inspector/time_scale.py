# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Units of time."""

from enum import Enum


class TimeScale(Enum):
    """Unit of a duration. `CYCLES` converts only to itself."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_IN_A_SECOND = {TimeScale.NS: 10**9, TimeScale.US: 10**6, TimeScale.MS: 10**3, TimeScale.S: 1, TimeScale.CYCLES: 1}


def scale_factor(source: TimeScale, target: TimeScale) -> float:
    """Number of `source` units in one `target` unit. Raises RuntimeError if only one of them is cycles."""
    if (source is TimeScale.CYCLES) != (target is TimeScale.CYCLES):
        raise RuntimeError(f"cycles cannot be converted to time: found source {source.value} and target {target.value}")
    return _IN_A_SECOND[source] / _IN_A_SECOND[target]
