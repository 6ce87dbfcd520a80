# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The record of an export for the developer tools. The compiler depends on none: it asks for it by name."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["new_record"]


def new_record() -> Any:
    """An empty `executorch.devtools.ETRecord`."""
    return importlib.import_module("executorch.devtools.etrecord").ETRecord()
