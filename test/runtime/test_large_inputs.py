# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Delegates read large inputs in place: they must not change meanwhile, nor may adjacent memory be read."""

import mmap
from typing import Any

import numpy as np
import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _load_program_from_buffer
from executorch.runtime import InvalidArgumentError, Method, Runtime

pytestmark = needs_xnnpack
ROWS, COLUMNS = 256, 128  # 128 KiB


class Model(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * 2 - y)


def array(tensor: Any) -> np.ndarray:
    return tensor.numpy() if isinstance(tensor, torch.Tensor) else np.asarray(tensor)


def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(x * 2 - y, 0)


@pytest.fixture(scope="module")
def program() -> bytes:
    example = (torch.ones(ROWS, COLUMNS), torch.ones(ROWS, COLUMNS))
    exported = torch.export.export(Model(), example)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


@pytest.fixture
def method(program: bytes) -> Method:
    return Runtime.get().load_program(program).load_method("forward")


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((ROWS, COLUMNS), dtype=np.float32)


def test_inputs_of_every_kind_give_their_results(method: Method) -> None:
    x, y = numbers(0), numbers(1)
    fixed = x.copy()
    fixed.flags.writeable = False
    shown = np.asfortranarray(x)
    for first in (x, torch.from_numpy(x), fixed, shown, x.copy()):
        before = array(first).copy()
        for second in (y, torch.from_numpy(y)):
            result = method.execute([first, second])[0]
            np.testing.assert_array_equal(array(result), expected(x, y))
        np.testing.assert_array_equal(array(first), before)
    np.testing.assert_array_equal(array(method.execute([x, x])[0]), np.maximum(x, 0))


def test_memory_that_ends_with_a_page_is_read_no_further(method: Method) -> None:
    size = ROWS * COLUMNS * 4
    with mmap.mmap(-1, size) as memory:
        x = np.frombuffer(memory, np.float32).reshape(ROWS, COLUMNS)
        x[:] = numbers(2)
        result = np.array(method.execute([x, x])[0])
        np.testing.assert_array_equal(result, np.maximum(x, 0))
        del x


def test_an_input_may_be_freed_or_changed_after_the_call(method: Method) -> None:
    x, y = numbers(3), numbers(4)
    kept = method.execute([x.copy(), y.copy()])[0]
    right = expected(x, y)
    other = method.execute([y, x])[0]
    x[:], y[:] = 0, 0
    np.testing.assert_array_equal(np.asarray(kept), right)
    assert np.asarray(other).any()


def test_an_output_can_be_the_next_input(method: Method) -> None:
    x = numbers(5)
    right = x
    for _ in range(4):
        x = method.execute([x, numbers(6)])[0]
        right = expected(right, numbers(6))
        np.testing.assert_array_equal(array(x), right)


def test_inputs_set_before_a_run_keep_their_values(program: bytes) -> None:
    method = _load_program_from_buffer(program).load_method("forward")
    x, y = numbers(7), numbers(8)
    right = expected(x, y)
    np.testing.assert_array_equal(np.asarray(method([x, y])[0]), right)
    method.set_inputs([x, y])
    x[:] = 0
    method.execute()
    np.testing.assert_array_equal(np.asarray(method.get_outputs()[0]), right)
    with pytest.raises(InvalidArgumentError, match="input 1"):
        method([x, y[1:]])
    np.testing.assert_array_equal(np.asarray(method([x, y])[0]), expected(x, y))


def test_other_threads_run_on_copies(method: Method) -> None:
    x, y = numbers(9), numbers(10)
    right = expected(x, y)
    method.execute([y, x])
    execution = method.execute_async([x, y])
    result = execution.result()[0]
    np.testing.assert_array_equal(array(result), right)
    np.testing.assert_array_equal(np.asarray(method.execute([y, x])[0]), expected(y, x))
