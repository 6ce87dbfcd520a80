# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Program values ↔ the bytes of a `.pte` file."""

from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.deserialize import deserialize_pte
from executorch.exir.serialize.errors import MalformedProgramError, SerializationError
from executorch.exir.serialize.pte_file import NamedBlob, PteFile, PteLayout, named_blobs
from executorch.exir.serialize.serialize import serialize_pte

__all__ = [
    "Cord",
    "MalformedProgramError",
    "NamedBlob",
    "PteFile",
    "PteLayout",
    "SerializationError",
    "deserialize_pte",
    "named_blobs",
    "serialize_pte",
]
