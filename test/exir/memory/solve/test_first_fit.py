# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""First fit and its relatives: always valid, and as low as they say."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executorch.exir.memory.problem import Buffer, Problem, Solution
from executorch.exir.memory.solve.first_fit import first_fit, first_fit_apart
from executorch.exir.memory.solve.whole_places import whole_places
from executorch.exir.memory.validate import find_conflict

buffers = st.lists(
    st.builds(
        lambda size, first, length: Buffer.of(16 * size, first, first + length),
        st.integers(0, 40),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=40,
)


def assert_valid(given_buffers: list[Buffer], solution: Solution) -> None:
    assert find_conflict(Problem(given_buffers), solution.offsets) is None
    assert all(offset >= 0 and offset % 16 == 0 for offset in solution.offsets)
    ends = [offset + buffer.size for buffer, offset in zip(given_buffers, solution.offsets, strict=True)]
    assert solution.lower_bound <= solution.height == max(ends, default=0)


@given(buffers)
def test_buffers_alive_together_never_share_bytes(given_buffers: list[Buffer]) -> None:
    assert_valid(given_buffers, first_fit(Problem(given_buffers)))


@given(buffers, st.integers(0, 2**32 - 1))
def test_buffers_that_must_be_apart_never_share_bytes(given_buffers: list[Buffer], seed: int) -> None:
    if not given_buffers:
        return
    lifespans = [buffer.lifespan for buffer in given_buffers]
    apart = np.array([[left.meets(right) for right in lifespans] for left in lifespans])
    extra = np.random.default_rng(seed).random(apart.shape) < 0.2
    apart |= extra | extra.T
    solution = first_fit_apart(Problem(given_buffers), apart)
    assert_valid(given_buffers, solution)
    for i, j in zip(*np.nonzero(np.tril(apart, -1)), strict=True):
        (left, right), (at, other) = ((given_buffers[i], given_buffers[j]), (solution.offsets[i], solution.offsets[j]))
        assert not (left.size and right.size and at < other + right.size and other < at + left.size)


@given(buffers)
def test_whole_places_are_shared_one_after_the_other(given_buffers: list[Buffer]) -> None:
    solution = whole_places(Problem(given_buffers))
    assert_valid(given_buffers, solution)
    for i, buffer in enumerate(given_buffers):
        for other, place in zip(given_buffers[:i], solution.offsets, strict=False):
            apart = solution.offsets[i] >= place + other.size or place >= solution.offsets[i] + buffer.size
            assert apart or solution.offsets[i] == place


def test_a_chain_takes_no_more_than_its_largest_neighbors() -> None:
    chain = [Buffer.of(size, step, step + 1) for step, size in enumerate([64, 256, 128, 512, 32, 16])]
    assert first_fit(Problem(chain)).height == 128 + 512


def test_a_buffer_fits_into_the_gap_that_is_left() -> None:
    #   A lives through all steps; B, then C and D side by side where B was.
    rows = [(64, 0, 9), (128, 0, 4), (64, 5, 9), (64, 5, 9)]
    solution = first_fit(Problem([Buffer.of(*row) for row in rows]))
    assert solution.height == solution.lower_bound == 192


@pytest.mark.parametrize("count", [0, 1, 400])
def test_the_result_does_not_depend_on_chance(count: int) -> None:
    def some() -> Problem:
        chance = random.Random(7)
        starts = [chance.randrange(count) for _ in range(count)]
        return Problem([Buffer.of(16 * chance.randrange(1, 999), at, at + chance.randrange(60)) for at in starts])

    assert first_fit(some()) == first_fit(some())


def test_many_short_lived_buffers_come_close_to_the_bound() -> None:
    chance = random.Random(3)
    many = [
        Buffer.of(16 * chance.randrange(1, 4096), step, step + chance.choice([1, 1, 2, 3, 20])) for step in range(1500)
    ]
    solution = first_fit(Problem(many))
    assert solution.height <= 1.05 * solution.lower_bound
