# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A change of a source of XNNPACK's."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """A text of a file that is there once, and what takes its place."""

    file: str
    old: str
    new: str
    why: str
