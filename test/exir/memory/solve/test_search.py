# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The exact search: as low as every order of stacking together, never above the greedy one, and honest in its proof."""

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from executorch.exir.memory.solve.branch_and_bound import Answer, fits_below
from executorch.exir.memory.solve.packing import Block, Packing, lower_bound, pack
from executorch.exir.memory.solve.search import search


def blocks(count: int, sizes: int, steps: int, length: int) -> st.SearchStrategy[list[Block]]:
    made = st.builds(
        lambda size, first, more: Block(16 * size, first, first + more),
        st.integers(0, sizes),
        st.integers(0, steps),
        st.integers(0, length),
    )
    return st.lists(made, min_size=1, max_size=count)


def stacked(given_blocks: list[Block]) -> int:
    """The lowest height of all orders of stacking."""
    lowest = sum(block.size for block in given_blocks)
    for order in itertools.permutations(given_blocks):
        tops: list[tuple[Block, int]] = []
        for block in order:
            below = [top for other, top in tops if other.first <= block.last and block.first <= other.last]
            tops.append((block, max(below, default=0) + block.size))
        lowest = min(lowest, max(top for _, top in tops))
    return lowest


def assert_valid(given_blocks: list[Block], packing: Packing) -> None:
    for i, (block, offset) in enumerate(zip(given_blocks, packing.offsets, strict=True)):
        assert offset >= 0 and offset + block.size <= packing.height
        for other, place in zip(given_blocks[:i], packing.offsets, strict=False):
            together = block.first <= other.last and other.first <= block.last
            assert not (together and offset < place + other.size and place < offset + block.size)


@settings(deadline=None, max_examples=60)
@given(blocks(6, sizes=5, steps=6, length=4))
def test_few_blocks_are_packed_as_low_as_any_order_of_stacking(given_blocks: list[Block]) -> None:
    packing = search(given_blocks)
    assert_valid(given_blocks, packing)
    assert packing.is_optimal and packing.height == stacked(given_blocks)


@settings(deadline=None, max_examples=60)
@given(blocks(40, sizes=60, steps=25, length=12))
def test_it_is_never_above_the_greedy_packing(given_blocks: list[Block]) -> None:
    packing = search(given_blocks, effort=2000)
    assert_valid(given_blocks, packing)
    assert lower_bound(given_blocks) <= packing.lower_bound <= packing.height <= pack(given_blocks).height


def crowd(count: int, seed: int) -> list[Block]:
    chance = random.Random(seed)
    starts = [chance.randrange(count) for _ in range(count)]
    return [Block(16 * chance.randrange(1, 200), start, start + chance.randrange(15)) for start in starts]


def test_it_reaches_the_bound_where_the_greedy_packing_does_not() -> None:
    better = 0
    for seed in range(6):
        given_blocks = crowd(60, seed)
        packing = search(given_blocks)
        assert_valid(given_blocks, packing)
        assert packing.is_optimal
        better += packing.height < pack(given_blocks).height
    assert better


# (size, first, last): the most that is alive at one step is 6, and no packing is below 7.
UNREACHABLE = [
    Block(*row)
    for row in (
        (1, 6, 9), (3, 0, 4), (3, 1, 3), (2, 8, 9), (1, 4, 8), (1, 5, 7), (2, 7, 9), (1, 4, 6), (1, 4, 7), (1, 9, 10),
    )
]  # fmt: skip


def test_a_bound_that_cannot_be_reached_is_proven_so() -> None:
    assert lower_bound(UNREACHABLE) == 6
    packing = search(UNREACHABLE)
    assert_valid(UNREACHABLE, packing)
    assert packing.is_optimal and packing.height == packing.lower_bound == 7


def test_yes_comes_with_a_packing_and_no_with_a_proof() -> None:
    answer, offsets = fits_below(UNREACHABLE, 7, effort=10_000)
    assert answer is Answer.YES
    assert_valid(UNREACHABLE, Packing(offsets, 7, 0))
    assert fits_below(UNREACHABLE, 6, effort=10_000) == (Answer.NO, [])
    assert fits_below(crowd(60, 0), 16, effort=0)[0] is Answer.UNKNOWN


def test_the_same_blocks_give_the_same_packing() -> None:
    assert search(crowd(80, 3), effort=3000) == search(crowd(80, 3), effort=3000)
