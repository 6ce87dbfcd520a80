# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented interface to `.ptd` files; the format itself is in `executorch.exir.serialize.flat_tensor`."""

from dataclasses import dataclass

from executorch.exir._serialize.data_serializer import DataPayload, DataSerializer
from executorch.exir.format.named_data import DataEntry, NamedDataStoreOutput
from executorch.exir.serialize import Cord, deserialize_flat_tensor, serialize_flat_tensor


@dataclass
class FlatTensorConfig:
    """Settings of a data file.

    segment_alignment: of each segment in the file, in bytes.
    """

    segment_alignment: int = 128


class FlatTensorSerializer(DataSerializer):
    """`.ptd` files."""

    def __init__(self, config: FlatTensorConfig | None = None) -> None:
        self.config = config or FlatTensorConfig()

    def serialize(self, data: DataPayload) -> Cord:
        """Return the bytes of a file. Raises SerializationError for an entry whose buffer does not exist."""
        return serialize_flat_tensor(data.buffers, data.named_data, self.config.segment_alignment)

    def deserialize(self, blob: Cord) -> DataPayload:
        """Read a file. Raises MalformedProgramError."""
        buffers, entries = deserialize_flat_tensor(bytes(blob))
        named = {key: DataEntry(e.buffer_index, e.alignment, e.tensor_layout) for key, e in entries.items()}
        return DataPayload([bytes(buffer) for buffer in buffers], named)

    def deserialize_to_named_data_store_output(self, blob: bytes, name: str) -> NamedDataStoreOutput:
        """Read `blob` as external data of the file `name`. Raises MalformedProgramError."""
        payload = self.deserialize(Cord(blob))
        return NamedDataStoreOutput(list(payload.buffers), {}, {name: payload.named_data})
