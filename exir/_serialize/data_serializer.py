# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""DataSerializer, the documented interface of formats for data beside the program."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from executorch.exir.format.named_data import DataEntry
from executorch.exir.serialize import Cord

__all__ = ["DataEntry", "DataPayload", "DataSerializer"]


@dataclass
class DataPayload:
    """Contents of a data file.

    buffers: distinct blobs. named_data: name → index of its blob, alignment in bytes, layout of a tensor.
    """

    buffers: Sequence[bytes]
    named_data: dict[str, DataEntry]


class DataSerializer(ABC):
    """A file format."""

    @abstractmethod
    def serialize(self, data: DataPayload) -> Cord:
        """Return the bytes of a file. They reference the buffers of `data`."""

    @abstractmethod
    def deserialize(self, blob: Cord) -> DataPayload:
        """Read a file that `serialize` wrote."""
