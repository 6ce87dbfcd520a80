# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Backends and operators of this build of the runtime."""

from __future__ import annotations

from executorch.extension.pybindings.portable_lib import (
    _get_operator_names,
    _get_registered_backend_names,
    _is_available,
)


class BackendRegistry:
    """The backends that are linked in."""

    @property
    def registered_backend_names(self) -> list[str]:
        """The names of all backends."""
        return _get_registered_backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Return whether a backend is linked in and can run on this machine."""
        return _is_available(backend_name)


class OperatorRegistry:
    """The operators that have a kernel."""

    @property
    def operator_names(self) -> set[str]:
        """The names of all operators, such as `aten::add.out`."""
        return set(_get_operator_names())
