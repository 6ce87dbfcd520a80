# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The search for a packing: always valid, and as low as it says."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executorch.exir.memory.solve.packing import Block, Packing, lower_bound, pack, pack_whole

blocks = st.lists(
    st.builds(
        lambda size, first, length: Block(16 * size, first, first + length),
        st.integers(0, 40),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=40,
)


def assert_valid(given_blocks: list[Block], packing: Packing) -> None:
    height = 0
    for i, (block, offset) in enumerate(zip(given_blocks, packing.offsets, strict=True)):
        assert offset >= 0 and offset % 16 == 0
        height = max(height, offset + block.size)
        for other, place in zip(given_blocks[:i], packing.offsets, strict=False):
            together = block.first <= other.last and other.first <= block.last
            assert not (together and offset < place + other.size and place < offset + block.size)
    assert packing.height == height
    assert packing.height >= packing.lower_bound


@given(blocks)
def test_blocks_alive_together_never_share_bytes(given_blocks: list[Block]) -> None:
    assert_valid(given_blocks, pack(given_blocks))


@given(blocks)
def test_whole_places_are_shared_one_after_the_other(given_blocks: list[Block]) -> None:
    packing = pack_whole(given_blocks)
    assert_valid(given_blocks, packing)
    for i, block in enumerate(given_blocks):
        for other, place in zip(given_blocks[:i], packing.offsets, strict=False):
            apart = packing.offsets[i] >= place + other.size or place >= packing.offsets[i] + block.size
            assert apart or packing.offsets[i] == place


@given(blocks)
def test_the_bound_is_the_most_that_is_alive_at_one_step(given_blocks: list[Block]) -> None:
    steps = range(60)
    expected = max(sum(b.size for b in given_blocks if b.first <= step <= b.last) for step in steps)
    assert lower_bound(given_blocks) == expected


def test_a_chain_takes_no_more_than_its_largest_neighbours() -> None:
    chain = [Block(size, step, step + 1) for step, size in enumerate([64, 256, 128, 512, 32, 16])]
    assert pack(chain).height == 128 + 512


def test_a_block_fits_in_the_gap_that_is_left() -> None:
    #   A lives through all; B, then C and D side by side where B was.
    packing = pack([Block(64, 0, 9), Block(128, 0, 4), Block(64, 5, 9), Block(64, 5, 9)])
    assert packing.height == packing.lower_bound == 192


@pytest.mark.parametrize("count", [0, 1, 400])
def test_the_result_does_not_depend_on_chance(count: int) -> None:
    def some() -> list[Block]:
        chance = random.Random(7)
        starts = [chance.randrange(count) for _ in range(count)]
        return [Block(16 * chance.randrange(1, 999), start, start + chance.randrange(60)) for start in starts]

    assert pack(some()) == pack(some())


def test_many_short_lived_blocks_come_close_to_the_bound() -> None:
    chance = random.Random(3)
    many = [Block(16 * chance.randrange(1, 4096), step, step + chance.choice([1, 1, 2, 3, 20])) for step in range(1500)]
    packing = pack(many)
    assert packing.height <= 1.05 * packing.lower_bound
