# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where an export writes its record for the developer tools, and where these tools look for it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["record_path"]


def record_path(program: Path) -> Path:
    """Return the path of the ETRecord beside a `.pte` file: the same stem with the suffix `.etrecord`."""
    return program.with_suffix(".etrecord")
