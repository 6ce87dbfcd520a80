# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented import path of the report on delegation, `executorch.exir.backend.delegate.delegation_info`."""

from executorch.exir.backend.delegate.delegation_info import (
    DelegationBreakdown,
    DelegationInfo,
    get_delegation_info,
    print_delegation_info,
)

__all__ = ["DelegationBreakdown", "DelegationInfo", "get_delegation_info", "print_delegation_info"]
