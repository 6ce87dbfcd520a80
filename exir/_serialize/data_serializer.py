# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What a format for data beside the program takes and gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from executorch.exir.named_data import DataEntry
from executorch.exir.serialize import Cord

__all__ = ["DataEntry", "DataPayload", "DataSerializer"]


@dataclass
class DataPayload:
    """buffers: distinct blobs. named_data: name → which blob, its alignment in bytes, its layout if it is a tensor."""

    buffers: Sequence[bytes]
    named_data: dict[str, DataEntry]


class DataSerializer(ABC):
    """A file format."""

    @abstractmethod
    def serialize(self, data: DataPayload) -> Cord:
        """The bytes of a file; they refer to the buffers of `data`."""

    @abstractmethod
    def deserialize(self, blob: Cord) -> DataPayload:
        """Reads what `serialize` wrote."""
