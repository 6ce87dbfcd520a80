# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random operators follow their distributions and their seed; numbers known in advance pin the generator down."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel, library_path

N = 1 << 16
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _seed(seed: int) -> None:
    ctypes.CDLL(str(library_path())).executorch_manual_seed(ctypes.c_uint64(seed))


def _draw(name: str, *args: Any, out: Any) -> Any:
    call = call_kernel(name, *args, out=out)
    assert call.error == 0, call.message
    return call.outputs if isinstance(out, list) else call.outputs[0]


def test_the_bits_are_those_of_philox_4x32_10() -> None:
    # The authors' known answers (Random123, kat_vectors) for a counter and a key of zeros.
    _seed(0)
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    expected = torch.tensor([(w >> 8) / 2**24 for w in words])
    assert torch.equal(_draw("aten::rand.out", [4], out=torch.empty(4)), expected)


def test_one_seed_gives_the_same_numbers_and_each_call_others() -> None:
    _seed(1 << 40 | 7)
    first, second = (_draw("aten::rand.out", [100], out=torch.empty(100)) for _ in range(2))
    _seed(1 << 40 | 7)
    assert torch.equal(_draw("aten::rand.out", [100], out=torch.empty(100)), first)
    assert not torch.equal(first, second)
    _seed(7)
    assert not torch.equal(_draw("aten::rand.out", [100], out=torch.empty(100)), first)


def test_numbers_depend_on_the_index_not_on_the_memory() -> None:
    shape = (2, 3, 4, 5)
    for name in ("aten::rand_like.out", "aten::randn_like.out"):
        drawn = []
        for layout in (torch.contiguous_format, torch.channels_last):
            _seed(3)
            x = torch.empty(shape).to(memory_format=layout)
            drawn.append(_draw(name, x, out=torch.empty_like(x)))
        assert torch.equal(*drawn)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_numbers_are_spread_evenly_below_one(dtype: torch.dtype) -> None:
    _seed(5)
    x = _draw("aten::rand.out", [N], out=torch.empty(N, dtype=dtype)).double()
    assert x.min() >= 0
    assert x.max() < 1
    shares = torch.histc(x, 16, 0, 1) / N
    assert (shares - 1 / 16).abs().max() < 5 * math.sqrt(1 / 16 / N)
    assert abs(float((x[1:] - 0.5) @ (x[:-1] - 0.5)) / N) < 5 / 12 / math.sqrt(N)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_normal_numbers_have_the_moments_and_tails_of_theirs(dtype: torch.dtype) -> None:
    _seed(6)
    x = _draw("aten::randn.out", [N], out=torch.empty(N, dtype=dtype)).double()
    error = 5 / math.sqrt(N)
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(float((x**power).mean()) - moment) < error * math.sqrt(spread)
    for bound in (0.5, 1, 2, 3):
        share = math.erfc(bound / math.sqrt(2))
        assert abs(float((x.abs() > bound).double().mean()) - share) < error * math.sqrt(share)
    assert abs(float(x[1:] @ x[:-1]) / N) < error


@pytest.mark.parametrize("dtype", (*FLOATS, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool), ids=str)
def test_integers_are_spread_evenly_within_their_bounds(dtype: torch.dtype) -> None:
    _seed(7)
    low, high = (0, 2) if dtype is torch.bool else (0, 7) if dtype is torch.uint8 else (-3, 4)
    like = torch.empty(N, dtype=dtype)
    drawn = [
        _draw("aten::randint.low_out", low, high, [N], out=like.clone()),
        _draw("aten::randint_like.low_dtype_out", like, low, high, out=like.clone()),
        _draw("aten::randint.out", high, [N], out=like.clone()),
        _draw("aten::randint_like.out", like, high, out=like.clone()),
    ]
    for x, first in zip(drawn, (low, low, 0, 0), strict=True):
        values, counts = x.to(torch.int64).unique(return_counts=True)
        assert values.tolist() == list(range(first, high))
        assert (counts / N - 1 / (high - first)).abs().max() < 5 / math.sqrt(N)


def test_integers_of_the_whole_range_are_drawn() -> None:
    x = _draw("aten::randint.low_out", -(2**63), 2**63 - 1, [N], out=torch.empty(N, dtype=torch.int64))
    assert abs(float((x.double() / 2**63).mean())) < 5 / math.sqrt(N)


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32], ids=str)
def test_permutations_hold_everything_once(n: int, dtype: torch.dtype) -> None:
    x = _draw("aten::randperm.out", n, out=torch.empty(n, dtype=dtype))
    assert torch.equal(x.sort().values, torch.arange(n, dtype=dtype))


def test_all_permutations_are_equally_likely() -> None:
    _seed(8)
    drawn = [tuple(_draw("aten::randperm.out", 3, out=torch.empty(3, dtype=torch.int64)).tolist()) for _ in range(1200)]
    counts = [drawn.count(p) for p in set(drawn)]
    assert len(counts) == 6
    assert max(abs(c - 200) for c in counts) < 5 * math.sqrt(200)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_bernoulli_draws_follow_their_chances(dtype: torch.dtype) -> None:
    _seed(9)
    chances = torch.tensor([0, 0.25, 0.5, 1]).repeat(N // 4).to(dtype)
    x = _draw("aten::bernoulli.out", chances, out=torch.empty_like(chances)).double().view(-1, 4).mean(0)
    assert x[0] == 0
    assert x[3] == 1
    assert (x - torch.tensor([0, 0.25, 0.5, 1])).abs().max() < 5 / math.sqrt(N)
    same = _draw("aten::bernoulli.float_out", chances, 0.3, out=torch.empty_like(chances)).double().mean()
    assert abs(float(same) - 0.3) < 5 / math.sqrt(N)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dropout_scales_what_it_keeps(dtype: torch.dtype) -> None:
    _seed(10)
    x = torch.randn(N).to(dtype)

    def drop(p: float, train: bool | None) -> Any:
        return _draw(
            "aten::native_dropout.out", x, p, train, out=[torch.empty_like(x), torch.empty(N, dtype=torch.bool)]
        )

    out, mask = drop(0.25, True)
    torch.testing.assert_close(out, x * mask / 0.75)
    assert abs(float(mask.double().mean()) - 0.75) < 5 / math.sqrt(N)
    for p, train, kept in ((0.5, False, 1), (0.0, None, 1), (1.0, True, 0)):
        out, mask = drop(p, train)
        assert torch.equal(out, x * kept)
        assert bool((mask == bool(kept)).all())


def test_samples_follow_their_weights() -> None:
    _seed(11)
    weights = torch.tensor([[1.0, 0, 3, 4], [2, 2, 0, 0]])
    x = _draw("aten::multinomial.out", weights, N, True, out=torch.empty(2, N, dtype=torch.int64))
    for row, line in zip(weights, x, strict=True):
        shares = torch.bincount(line, minlength=4) / N
        assert (shares - row / row.sum()).abs().max() < 5 / math.sqrt(N)
    drawn = [
        _draw("aten::multinomial.out", weights[0], 3, False, out=torch.empty(3, dtype=torch.int64)).tolist()
        for _ in range(1000)
    ]
    assert all(sorted(d) == [0, 2, 3] for d in drawn)
    assert abs(sum(d[0] == 3 for d in drawn) - 500) < 5 * math.sqrt(250)


LONG = torch.empty(4, dtype=torch.int64)


@pytest.mark.parametrize(
    ("name", "args", "out"),
    [
        ("aten::rand.out", ([4],), LONG),
        ("aten::randn.out", ([4],), LONG),
        ("aten::randint.out", (0, [4]), LONG),
        ("aten::randint.low_out", (3, 3, [4]), LONG),
        ("aten::randint.out", (257, [4]), torch.empty(4, dtype=torch.uint8)),
        ("aten::randint.low_out", (-1, 2, [4]), torch.empty(4, dtype=torch.uint8)),
        ("aten::randint.out", (5, [4]), torch.empty(4, dtype=torch.complex64)),
        ("aten::randperm.out", (-1,), LONG),
        ("aten::randperm.out", (300,), torch.empty(300, dtype=torch.uint8)),
        ("aten::randperm.out", (4,), torch.empty(4, dtype=torch.complex64)),
        ("aten::bernoulli.out", (torch.tensor([0.5, 1.5]),), torch.empty(2)),
        ("aten::bernoulli.out", (torch.tensor([0.5, math.nan]),), torch.empty(2)),
        ("aten::bernoulli.float_out", (torch.ones(2), -0.1), torch.empty(2)),
        ("aten::multinomial.out", (torch.tensor([1.0, -1]), 1), LONG),
        ("aten::multinomial.out", (torch.tensor([math.inf, 1]), 1), LONG),
        ("aten::multinomial.out", (torch.tensor([0.0, 0]), 1, True), LONG),
        ("aten::multinomial.out", (torch.tensor([1.0, 0]), 2), LONG),
        ("aten::multinomial.out", (torch.ones(2), 0), LONG),
    ],
)
def test_arguments_without_a_distribution_are_refused(name: str, args: tuple[Any, ...], out: torch.Tensor) -> None:
    assert call_kernel(name, *args, out=out.clone()).error != 0
