# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The record of an export for the developer tools. Its class is a plugin."""

from __future__ import annotations

from typing import Any

from executorch.exir.plugins import load_plugin

__all__ = ["new_record"]


def new_record() -> Any:
    """Return an empty `executorch.devtools.ETRecord`."""
    return load_plugin("export_record", "etrecord")()
