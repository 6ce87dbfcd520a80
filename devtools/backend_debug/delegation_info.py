# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of the delegation report, `executorch.exir.backend.delegate.delegation_info`."""

from executorch.devtools.backend_debug import (
    DelegationBreakdown,
    DelegationInfo,
    get_delegation_info,
    print_delegation_info,
)

__all__ = ["DelegationBreakdown", "DelegationInfo", "get_delegation_info", "print_delegation_info"]
