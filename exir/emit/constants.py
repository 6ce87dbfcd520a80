# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pool of constants: a program stores equal bytes once, without copies."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch._subclasses.fake_tensor import FakeTensor

from executorch.exir.schema import Buffer
from executorch.exir.tensor import dim_order_from_stride


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor if it is dense in some dim order, else a contiguous copy.

    Raises ValueError for a sparse tensor, and for a fake one, which has no data.
    """
    tensor = tensor.detach()
    if tensor.layout != torch.strided or isinstance(tensor, FakeTensor):
        found = f"{type(tensor).__name__} with layout {tensor.layout}"
        raise ValueError(f"expected a dense tensor with data; found {found}")
    if 0 in tensor.stride() or not tensor.permute(dim_order_from_stride(tensor.stride())).is_contiguous():
        tensor = tensor.contiguous()
    return tensor.cpu()


def _bytes(tensor: torch.Tensor, dim_order: Sequence[int]) -> NDArray[np.uint8]:
    in_memory_order = tensor.permute(*dim_order) if dim_order else tensor
    flat = in_memory_order.contiguous().reshape(-1)
    view: NDArray[np.uint8] = flat.view(torch.uint8).numpy()
    return view


class ConstantPool:
    """Numbers buffers from 1; buffer 0 means "no data"."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = [Buffer(b"")]
        self._arrays: list[NDArray[np.uint8]] = [np.empty(0, np.uint8)]
        self._by_address: dict[tuple[int, int, tuple[int, ...]], int] = {}
        self._by_sample: dict[tuple[int, bytes], list[int]] = {}

    def add(self, tensor: torch.Tensor) -> int:
        """Return the index of the buffer with the bytes of a `dense` tensor, in memory order."""
        dim_order = dim_order_from_stride(tensor.stride())
        # The key includes the dim order, because a copy in another order has other bytes.
        address = (tensor.data_ptr(), tensor.nbytes, dim_order)
        if tensor.nbytes and address in self._by_address:
            return self._by_address[address]
        array = _bytes(tensor, dim_order)
        index = self._find(array)
        if index is None:
            index = len(self.buffers)
            self.buffers.append(Buffer(array.data.toreadonly() if len(array) else b""))
            self._arrays.append(array)
            self._by_sample.setdefault(_sample(array), []).append(index)
        self._by_address[address] = index
        return index

    def _find(self, array: NDArray[np.uint8]) -> int | None:
        for index in self._by_sample.get(_sample(array), ()):
            if np.array_equal(self._arrays[index], array):
                return index
        return None


def _sample(array: NDArray[np.uint8]) -> tuple[int, bytes]:
    """Return a cheap hash key of the content: its size, and bytes at regular distances."""
    step = max(1, len(array) // 256)
    return len(array), array[::step].tobytes()
