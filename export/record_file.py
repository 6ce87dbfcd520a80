# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The default path of an export's record, which the export command writes and the developer tools read."""

from __future__ import annotations

from pathlib import Path

__all__ = ["record_path"]


def record_path(program: Path) -> Path:
    """Return the path of the ETRecord beside a `.pte` file: the same stem with the suffix `.etrecord`."""
    return program.with_suffix(".etrecord")
