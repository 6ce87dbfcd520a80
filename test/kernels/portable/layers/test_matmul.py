# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Matrix products against eager: dtypes, sizes around the blocks' edges, layouts, addends."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses, random_tensor
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import MODEL

DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
]  # fmt: skip
# (m, k, n): one, few and many rows; empty ones; tails of every tile and block size; several blocks.
SIZES = [
    (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 64, 33), (2, 7, 130), (4, 5, 3), (5, 17, 16), (7, 31, 19),
    (6, 256, 32), (13, 300, 257), (200, 33, 250), (33, 600, 5), (65, 2, 1), (1, 1000, 1),
]  # fmt: skip


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_of_all_sizes_and_dtypes_match_eager(size: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, k, n = size
    left, right = random_tensor((m, k), dtype), random_tensor((k, n), dtype)
    if dtype in (torch.float16, torch.bfloat16):
        left = left / max(k, 1) ** 0.5
    assert_kernel_matches_eager("aten::mm.out", left, right)
    assert_kernel_matches_eager("aten::mm.out", left, right.t().contiguous().t())
    assert_kernel_matches_eager("aten::mm.out", left.t().contiguous().t(), right)
    assert_kernel_matches_eager("aten::mv.out", left, random_tensor((k,), dtype))
    assert_kernel_matches_eager("aten::dot.out", left.flatten(), random_tensor((m * k,), dtype) // 4)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("addend", [(5, 6), (6,), (1,), (), (5, 1), (1, 6)], ids=str)
def test_addends_broadcast_to_the_product(addend: tuple[int, ...], dtype: torch.dtype) -> None:
    left, right, self = random_tensor((5, 9), dtype), random_tensor((9, 6), dtype), random_tensor(addend, dtype)
    for factors in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}, {"alpha": -1}):
        assert_kernel_matches_eager("aten::addmm.out", self, left, right, **factors)
        batches = (random_tensor((3, 5, 9), dtype), random_tensor((3, 9, 6), dtype))
        assert_kernel_matches_eager("aten::baddbmm.out", self, *batches, **factors)


def test_a_beta_of_zero_ignores_nan() -> None:
    nan = torch.full((4, 4), torch.nan)
    assert_kernel_matches_eager("aten::addmm.out", nan, torch.ones(4, 4), torch.ones(4, 4), beta=0)
    assert_kernel_matches_eager("aten::addmv.out", nan[0], torch.ones(4, 4), torch.ones(4), beta=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_batches_match_eager(dtype: torch.dtype) -> None:
    for b, m, k, n in [(0, 2, 3, 4), (1, 1, 5, 1), (4, 12, 32, 12), (3, 2, 40, 7), (2, 50, 9, 33), (2, 3, 0, 4)]:
        left, right = random_tensor((b, m, k), dtype), random_tensor((b, k, n), dtype)
        assert_kernel_matches_eager("aten::bmm.out", left, right)
        assert_kernel_matches_eager("aten::bmm.out", left, right.transpose(1, 2).contiguous().transpose(1, 2))


def test_addmv_matches_eager() -> None:
    for self in (torch.randn(5), torch.randn(1), torch.randn(())):
        assert_kernel_matches_eager("aten::addmv.out", self, torch.randn(5, 8), torch.randn(8), beta=0.5, alpha=2)


def test_an_addend_may_be_the_output() -> None:
    x, left, right = torch.randn(20, 30), torch.randn(20, 300), torch.randn(300, 30)
    expected = torch.addmm(x, left, right, beta=3)
    assert call_kernel("aten::addmm.out", x, left, right, beta=3, out=x).error == 0
    torch.testing.assert_close(x, expected, **MODEL)


def test_bad_arguments_are_refused_with_their_sizes() -> None:
    a, out = torch.ones(2, 3), torch.ones(9, 9)
    assert "[2, 3]" in assert_kernel_refuses("aten::mm.out", a, torch.ones(2, 3), out=out)
    assert_kernel_refuses("aten::mm.out", torch.ones(3), a, out=out)
    assert_kernel_refuses("aten::mm.out", a, torch.ones(3, 2, dtype=torch.float64), out=out)
    assert_kernel_refuses("aten::mm.out", a, torch.ones(3, 2), out=out.int())
    assert_kernel_refuses("aten::mm.out", a.bool(), torch.ones(3, 2).bool(), out=out.bool())
    assert_kernel_refuses("aten::bmm.out", torch.ones(2, 2, 3), torch.ones(3, 3, 2), out=torch.ones(2, 2, 2))
    assert_kernel_refuses("aten::addmm.out", torch.ones(3, 2), a, torch.ones(3, 2), out=out)
    assert_kernel_refuses("aten::mm.out", torch.ones(9, 3), torch.ones(3, 9), out=torch.ones(1, 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("leading", [(), (1,), (5,), (0,), (2, 3), (2, 1, 3), (20, 13)], ids=str)
def test_linear_layers_match_eager(leading: tuple[int, ...], dtype: torch.dtype) -> None:
    for inner, columns in [(9, 7), (64, 33), (1, 1)]:
        x, weight = random_tensor((*leading, inner), dtype), random_tensor((columns, inner), dtype)
        for bias in (None, random_tensor((columns,), dtype)):
            assert_kernel_matches_eager("aten::linear.out", x, weight, bias)


def test_a_weight_vector_gives_one_dimension_less() -> None:
    weight = torch.randn(3)
    for leading in ((), (2,), (2, 4), (0, 2)):
        assert_kernel_matches_eager("aten::linear.out", torch.randn(*leading, 3), weight, None)
    assert_kernel_matches_eager("aten::linear.out", torch.randn(2, 4, 3), weight, torch.tensor(2.0))


def test_linear_layers_read_and_write_any_dim_order() -> None:
    x, weight, bias = torch.randn(2, 3, 4, 5), torch.randn(6, 5), torch.randn(6)
    for memory_format in (torch.contiguous_format, torch.channels_last):
        given = x.to(memory_format=memory_format)
        assert_kernel_matches_eager("aten::linear.out", given, weight, bias, memory_format=torch.channels_last)
        assert_kernel_matches_eager("aten::linear.out", given, weight, bias)


def test_linear_layers_refuse_bad_arguments() -> None:
    x, weight, out = torch.ones(2, 3), torch.ones(4, 3), torch.ones(2, 4)
    assert_kernel_refuses("aten::linear.out", x, torch.ones(4, 2), None, out=out)
    assert_kernel_refuses("aten::linear.out", torch.tensor(1.0), weight, None, out=out)
    assert_kernel_refuses("aten::linear.out", x, torch.ones(2), None, out=out)
    assert_kernel_refuses("aten::linear.out", x, torch.ones(1, 4, 3), None, out=out)
    assert_kernel_refuses("aten::linear.out", x, weight, torch.ones(3), out=out)
    assert_kernel_refuses("aten::linear.out", x, weight, torch.ones(4).double(), out=out)
