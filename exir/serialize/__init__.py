# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Read and write `.pte` files (programs) and `.ptd` files (named tensors)."""

from executorch.exir.serialize.cord import Cord
from executorch.exir.serialize.deserialize import deserialize_pte
from executorch.exir.serialize.errors import MalformedProgramError, SerializationError
from executorch.exir.serialize.flat_tensor import deserialize_flat_tensor, serialize_flat_tensor
from executorch.exir.serialize.pte_file import NamedBlob, PteFile, PteLayout, named_blobs
from executorch.exir.serialize.serialize import serialize_pte

__all__ = [
    "Cord",
    "MalformedProgramError",
    "NamedBlob",
    "PteFile",
    "PteLayout",
    "SerializationError",
    "deserialize_flat_tensor",
    "deserialize_pte",
    "named_blobs",
    "serialize_flat_tensor",
    "serialize_pte",
]
