# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The worked example of exir/memory/problem.py, the lower bound, and the validation of solutions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executorch.exir.memory.problem import Buffer, Offset, Problem
from executorch.exir.memory.solve.branch_and_bound import Fit, NoFit, fit_below
from executorch.exir.memory.solve.first_fit import first_fit
from executorch.exir.memory.solve.overwrites import solve_with_overwrites
from executorch.exir.memory.solve.search import search
from executorch.exir.memory.validate import find_conflict

A, B, C, D, E = (Buffer.of(*row) for row in [(4, 0, 1), (2, 1, 3), (2, 2, 4), (4, 4, 5), (4, 5, 6)])
EXAMPLE = Problem([A, B, C, D])
DRAWN = [Offset(offset) for offset in (0, 4, 0, 2)]

rows = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 12)), max_size=40)


def test_the_drawn_solution_is_valid_and_optimal() -> None:
    assert find_conflict(EXAMPLE, DRAWN) is None
    assert EXAMPLE.lower_bound == search(EXAMPLE).height == 6
    assert isinstance(fit_below(EXAMPLE, 6, effort=100), Fit) and fit_below(EXAMPLE, 5, effort=100) is NoFit.PROVEN


@pytest.mark.parametrize(("index", "offset", "pair"), [(1, 3, (1, 0)), (3, 1, (3, 2)), (3, 5, None), (2, 3, (2, 1))])
def test_a_buffer_moved_onto_a_live_one_is_a_conflict(index: int, offset: int, pair: tuple[int, int] | None) -> None:
    moved = [*DRAWN]
    moved[index] = Offset(offset)
    assert find_conflict(EXAMPLE, moved) == pair


def test_only_a_result_that_may_overwrite_shares_the_last_step_of_its_operand() -> None:
    place = [*DRAWN, DRAWN[3]]
    assert find_conflict(Problem([A, B, C, D, E]), place) == (4, 3)
    assert find_conflict(Problem([A, B, C, D, E], {4: 3}), place) is None
    assert find_conflict(Problem([A, B, C, D, E], {4: 3}), [*DRAWN, Offset(3)]) == (4, 3)


def test_an_overwrite_saves_the_bytes_of_the_result() -> None:
    pair = [Buffer.of(8, 0, 1), Buffer.of(8, 1, 2)]
    assert solve_with_overwrites(Problem(pair), first_fit).height == 16
    merged = solve_with_overwrites(Problem(pair, {1: 0}), first_fit)
    assert merged.height == merged.lower_bound == 8 and merged.offsets == [0, 0]


@given(rows)
def test_the_bound_is_the_most_bytes_alive_at_one_step(rows: list[tuple[int, int, int]]) -> None:
    buffers = [Buffer.of(size, first, first + length) for size, first, length in rows]
    alive = [sum(b.size for b in buffers if b.lifespan.first <= step <= b.lifespan.last) for step in range(60)]
    assert Problem(buffers).lower_bound == max(alive)
