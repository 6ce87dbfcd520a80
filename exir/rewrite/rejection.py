# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`Rejection`, the other half of a result: a function returns `Fusion | Rejection` instead of None or a bare string."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rejection:
    """No result: `reason` completes "the node is rejected because", as a clause."""

    reason: str
