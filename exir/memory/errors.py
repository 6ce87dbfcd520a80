# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Errors of memory planning."""

from executorch.exir.error import ExportError


class MemoryPlanningError(ExportError):
    """No plan exists, or it is invalid: `where` names the tensors, `why` their lifetimes and places."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__("memory planning", where, why)
