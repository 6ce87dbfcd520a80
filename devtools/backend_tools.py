# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Look up the debug tools of a backend by its name in a program."""

from __future__ import annotations

from executorch.exir.backend.backend_details import BackendDetails, find_backend
from executorch.exir.backend.debug_tools import DebugTools
from executorch.exir.plugins import load_plugin, plugin_names

__all__ = ["debug_tools"]


def debug_tools(backend: str) -> DebugTools:
    """Return the debug tools of a registered or imported backend; empty tools for an unknown one."""
    if backend in plugin_names("backends"):
        backend_class: type[BackendDetails] = load_plugin("backends", backend)
        return backend_class.debug_tools()
    try:
        return find_backend(backend).debug_tools()
    except NotImplementedError:
        return DebugTools()
