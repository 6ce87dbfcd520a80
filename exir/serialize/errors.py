# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What can go wrong between program values and bytes."""


class SerializationError(ValueError):
    """A value does not fit the format: says which field of which table, what was found and what fits."""


class MalformedProgramError(ValueError):
    """Bytes are not a valid program: says what is wrong and at which byte."""
