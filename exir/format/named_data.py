# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Named data: bytes that delegates store under keys, in the program or in files, without duplicate blobs."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import torch

from executorch.exir.tensor_layout import TensorLayout

__all__ = ["DataEntry", "NamedDataStore", "NamedDataStoreOutput"]


@dataclass
class DataEntry:
    """Data of one key: index of its buffer, alignment in bytes, and the layout of a tensor."""

    buffer_index: int
    alignment: int
    tensor_layout: TensorLayout | None


@dataclass
class NamedDataStoreOutput:
    """Collected named data, each distinct blob once.

    buffers: distinct blobs. pte_data: key → entry, inside the program. external_data: file tag → key → entry.
    """

    buffers: list[bytes]
    pte_data: dict[str, DataEntry]
    external_data: dict[str, dict[str, DataEntry]]


class NamedDataStore:
    """Collects named data. Keys are unique across program and files. Equal bytes share one buffer."""

    def __init__(self) -> None:
        self.buffers: list[bytes] = []
        self.pte_data: dict[str, DataEntry] = {}
        self.external_data: dict[str, dict[str, DataEntry]] = {}
        self._buffer_of_key: dict[str, int] = {}
        self._buffer_of_digest: dict[bytes, int] = {}

    def add_named_data(
        self,
        key: str,
        data: bytes | torch.Tensor,
        alignment: int | None = 1,
        external_tag: str | None = None,
        tensor_layout: TensorLayout | None = None,
    ) -> None:
        """Store `data` (bytes, or a dense CPU tensor with its layout) under `key`.

        A second call with the same key and bytes only raises the alignment if necessary.
        external_tag: name of the file beside the program that stores the data; None for the program.
        ValueError: the key has other content, the alignment is below 1, or the layout is not the tensor's.
        """
        alignment = 1 if alignment is None else alignment
        if alignment < 1:
            raise ValueError(f"named data {key!r}: alignment must be at least 1, found {alignment}")
        if isinstance(data, torch.Tensor):
            own_layout = TensorLayout.from_tensor(data)
            if tensor_layout is not None and tensor_layout != own_layout:
                raise ValueError(
                    f"named data {key!r}: the tensor has layout {own_layout}, not the given {tensor_layout}"
                )
            tensor_layout, data = own_layout, _bytes_of(data)

        known = self._buffer_of_key.get(key)
        if known is not None:
            if self.buffers[known] != data:
                raise ValueError(
                    f"named data {key!r} exists with other content: {len(self.buffers[known])} bytes stored, "
                    f"{len(data)} bytes given"
                )
            for stored in (self.pte_data, *self.external_data.values()):
                if key in stored:
                    stored[key].alignment = math.lcm(stored[key].alignment, alignment)
            return
        entries = self.pte_data if external_tag is None else self.external_data.setdefault(external_tag, {})
        index = self._buffer_index(data)
        self._buffer_of_key[key] = index
        entries[key] = DataEntry(index, alignment, tensor_layout)

    def get_named_data_store_output(self) -> NamedDataStoreOutput:
        """Return the collected data, without files that have no entry."""
        return NamedDataStoreOutput(
            self.buffers, self.pte_data, {tag: entries for tag, entries in self.external_data.items() if entries}
        )

    def merge_named_data_store(self, other: NamedDataStoreOutput) -> None:
        """Add all data of `other`. ValueError if a key has different content in both."""
        for tag, entries in ((None, other.pte_data), *other.external_data.items()):
            for key, entry in entries.items():
                self.add_named_data(key, other.buffers[entry.buffer_index], entry.alignment, tag, entry.tensor_layout)

    def _buffer_index(self, data: bytes) -> int:
        index = self._buffer_of_digest.setdefault(hashlib.sha256(data).digest(), len(self.buffers))
        if index == len(self.buffers):
            self.buffers.append(data)
        return index


def _bytes_of(tensor: torch.Tensor) -> bytes:
    """Return the bytes of the tensor's elements in memory order."""
    in_memory_order = tensor.detach().permute(tensor.dim_order()).contiguous()
    return in_memory_order.reshape(-1).view(torch.uint8).numpy().tobytes()
