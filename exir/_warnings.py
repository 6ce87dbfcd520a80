# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decorators that warn about the use of an API that may change or disappear."""

from __future__ import annotations

from typing_extensions import deprecated

__all__ = ["ExperimentalWarning", "deprecated", "experimental"]


class ExperimentalWarning(DeprecationWarning):
    """The used API is experimental. Python's default filter hides this warning, as it hides deprecations."""


class experimental(deprecated):
    """Mark a class, function or method as experimental: type checkers report its use, and each call warns.

    Args:
        message: Text of the warning.
        category: Class of the warning; None to leave the report to type checkers.
        stacklevel: The caller that the warning names; 1 is the direct caller.
    """

    def __init__(
        self, message: str, /, *, category: type[Warning] | None = ExperimentalWarning, stacklevel: int = 1
    ) -> None:
        super().__init__(message, category=category, stacklevel=stacklevel)
