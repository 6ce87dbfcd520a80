# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented import path of torch's serializer; nothing inside the project imports it."""

from torch._export.serde.serialize import (
    SerializedArtifact,
    SerializeError,
    canonicalize,
    deserialize,
    deserialize_torch_artifact,
    serialize,
    serialize_torch_artifact,
)

__all__ = [
    "SerializeError",
    "SerializedArtifact",
    "canonicalize",
    "deserialize",
    "deserialize_torch_artifact",
    "serialize",
    "serialize_torch_artifact",
]
