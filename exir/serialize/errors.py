# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Errors of serialization."""


class SerializationError(ValueError):
    """A value does not fit the format. The message names table and field, and what was found and expected."""


class MalformedProgramError(ValueError):
    """Bytes are not a valid program. The message names the byte and the fault."""
