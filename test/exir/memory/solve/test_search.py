# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The exact search: as low as all orders of stacking, never above first fit, and correct in its proof."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from executorch.exir.memory.problem import Buffer, Problem, Solution
from executorch.exir.memory.solve.branch_and_bound import Fit, NoFit, fit_below
from executorch.exir.memory.solve.first_fit import first_fit
from executorch.exir.memory.solve.search import search
from executorch.exir.memory.validate import find_conflict


def some_buffers(count: int, sizes: int, steps: int, length: int) -> st.SearchStrategy[list[Buffer]]:
    made = st.builds(
        lambda size, first, more: Buffer.of(16 * size, first, first + more),
        st.integers(0, sizes),
        st.integers(0, steps),
        st.integers(0, length),
    )
    return st.lists(made, min_size=1, max_size=count)


def stacked(given_buffers: list[Buffer]) -> int:
    """The lowest height of all orders of stacking."""
    lowest = sum(buffer.size for buffer in given_buffers)
    for order in itertools.permutations(given_buffers):
        tops: list[tuple[Buffer, int]] = []
        for buffer in order:
            below = [top for other, top in tops if other.lifespan.meets(buffer.lifespan)]
            tops.append((buffer, max(below, default=0) + buffer.size))
        lowest = min(lowest, max(top for _, top in tops))
    return lowest


def assert_valid(given_buffers: list[Buffer], solution: Solution) -> None:
    assert find_conflict(Problem(given_buffers), solution.offsets) is None
    for buffer, offset in zip(given_buffers, solution.offsets, strict=True):
        assert offset >= 0 and offset + buffer.size <= solution.height


@settings(deadline=None, max_examples=60)
@given(some_buffers(6, sizes=5, steps=6, length=4))
def test_few_buffers_are_as_low_as_any_order_of_stacking(given_buffers: list[Buffer]) -> None:
    solution = search(Problem(given_buffers))
    assert_valid(given_buffers, solution)
    assert solution.is_optimal and solution.height == stacked(given_buffers)


@settings(deadline=None, max_examples=60)
@given(some_buffers(40, sizes=60, steps=25, length=12))
def test_it_is_never_above_first_fit(given_buffers: list[Buffer]) -> None:
    solution = search(Problem(given_buffers), effort=2000)
    assert_valid(given_buffers, solution)
    assert (
        Problem(given_buffers).lower_bound
        <= solution.lower_bound
        <= solution.height
        <= first_fit(Problem(given_buffers)).height
    )


def crowd(count: int, seed: int) -> list[Buffer]:
    chance = random.Random(seed)
    starts = [chance.randrange(count) for _ in range(count)]
    return [Buffer.of(16 * chance.randrange(1, 200), start, start + chance.randrange(15)) for start in starts]


def test_it_reaches_the_bound_where_first_fit_does_not() -> None:
    better = 0
    for seed in range(6):
        given_buffers = crowd(60, seed)
        solution = search(Problem(given_buffers))
        assert_valid(given_buffers, solution)
        assert solution.is_optimal
        better += solution.height < first_fit(Problem(given_buffers)).height
    assert better


# (size, first, last): the most that is alive at one step is 6, and no solution is below 7.
UNREACHABLE = [
    Buffer.of(*row)
    for row in (
        (1, 6, 9), (3, 0, 4), (3, 1, 3), (2, 8, 9), (1, 4, 8), (1, 5, 7), (2, 7, 9), (1, 4, 6), (1, 4, 7), (1, 9, 10),
    )
]  # fmt: skip


def test_a_bound_that_cannot_be_reached_is_proven_so() -> None:
    assert Problem(UNREACHABLE).lower_bound == 6
    solution = search(Problem(UNREACHABLE))
    assert_valid(UNREACHABLE, solution)
    assert solution.is_optimal and solution.height == solution.lower_bound == 7


def test_the_search_finds_a_solution_or_proves_that_none_exists() -> None:
    answer = fit_below(Problem(UNREACHABLE), 7, effort=10_000)
    assert isinstance(answer, Fit)
    assert_valid(UNREACHABLE, Solution(answer.offsets, 7, 0))
    assert fit_below(Problem(UNREACHABLE), 6, effort=10_000) is NoFit.PROVEN
    assert fit_below(Problem(crowd(60, 0)), 16, effort=0) is NoFit.UNKNOWN


def test_the_same_problem_has_the_same_solution() -> None:
    assert search(Problem(crowd(80, 3)), effort=3000) == search(Problem(crowd(80, 3)), effort=3000)
