# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bags of embeddings and the gradient of a look-up match eager in all outputs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.comparison import mismatch
from oracle.kernels.kernel_entry import call_kernel

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _fault(name: str, args: tuple[Any, ...], expected: Any) -> str:
    results = list(expected) if isinstance(expected, tuple) else [expected]
    call = call_kernel(name, *args, out=[torch.full_like(r, 77) for r in results])
    return call.message or f"error {call.error}" if call.error else mismatch(name, call.outputs, results)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_bags_match_eager(dtype: torch.dtype, index_dtype: torch.dtype, mode: int) -> None:
    torch.manual_seed(0)
    table = torch.randint(-9, 10, (10, 300)).to(dtype)
    indices = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9, 4, 4], dtype=index_dtype)
    samples = torch.randint(-3, 4, (10,)).to(dtype)
    for last, padding, weighted in itertools.product((False, True), (-1, 4), (False, True)):
        offsets = torch.tensor([0, 4, 4, 8, *([10] if last else [])], dtype=index_dtype)
        if weighted and mode != 0:
            continue
        args = (table, indices, offsets, False, mode, False, samples if weighted else None, last, padding)
        fault = _fault("aten::_embedding_bag.out", args, aten._embedding_bag(*args))
        assert not fault, f"include_last_offset={last} padding_idx={padding} weighted={weighted}: {fault}"


def test_bags_without_indices_are_empty() -> None:
    none = torch.empty(0, dtype=torch.int64)
    for mode in (0, 1, 2):
        args = (torch.ones(3, 2), none, torch.tensor([0, 0]), False, mode, False, None, False, 1)
        assert not _fault("aten::_embedding_bag.out", args, aten._embedding_bag(*args))


def _longs(*items: int) -> torch.Tensor:
    return torch.tensor(items, dtype=torch.int64)


@pytest.mark.parametrize(
    ("indices", "offsets", "mode", "weights"),
    [
        (_longs(3), _longs(0), 0, None),
        (_longs(-1), _longs(0), 0, None),
        (_longs(0, 1), _longs(1), 0, None),
        (_longs(0, 1), _longs(0, 3), 0, None),
        (_longs(0, 1), _longs(0, 2, 1), 0, None),
        (_longs(0, 1), _longs(0), 3, None),
        (_longs(0, 1), _longs(0), 1, torch.ones(2)),
        (_longs(0, 1), _longs(0), 0, torch.ones(3)),
        (torch.ones(2), _longs(0), 0, None),
    ],
)
def test_invalid_bags_are_refused(indices: torch.Tensor, offsets: torch.Tensor, mode: int, weights: Any) -> None:
    outputs = [torch.empty(4, 2), *(torch.empty(9, dtype=torch.int64) for _ in range(3))]
    args = (torch.ones(3, 2), indices, offsets, False, mode, False, weights, False, -1)
    assert call_kernel("aten::_embedding_bag.out", *args, out=outputs).error != 0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=str)
def test_the_gradient_of_a_look_up_matches_eager(dtype: torch.dtype, index_dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for shape, padding, by_frequency in itertools.product([(7,), (2, 3), ()], (-1, 2), (False, True)):
        indices = torch.randint(0, 5, shape).to(index_dtype)
        grad = torch.randint(-4, 5, (*shape, 300)).to(dtype)
        args = (grad, indices, 5, padding, by_frequency)
        fault = _fault("aten::embedding_dense_backward.out", args, aten.embedding_dense_backward(*args))
        assert not fault, f"{shape} {padding} {by_frequency}: {fault}"


def test_gradients_of_invalid_indices_are_refused() -> None:
    for index in (5, -1, 1 << 40):
        args = (torch.ones(1, 2), torch.tensor([index]), 5, -2, True)
        assert call_kernel("aten::embedding_dense_backward.out", *args, out=torch.empty(5, 2)).error != 0
