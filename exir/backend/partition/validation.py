# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The switch for checking that a partitioner changed nothing but tags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["disable_validation", "validation_disabled", "validation_enabled"]

_enabled: ContextVar[bool] = ContextVar("partitioner_validation", default=True)


def validation_enabled() -> bool:
    """Return whether the check is on in this context (thread or task)."""
    return _enabled.get()


def disable_validation() -> None:
    """Turn the check off, from here on in this context (thread or task)."""
    _enabled.set(False)


@contextmanager
def validation_disabled() -> Iterator[None]:
    """Turn the check off for a block."""
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)
