# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check by lifespans finds every planted fault and names tensors, steps and bytes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from executorch.exir.memory.check.by_lifespans import check_by_lifespans
from executorch.exir.memory_planning import MemoryPlanningError, greedy
from executorch.exir.tensor import TensorSpec


def planned(first: int, last: int, offset: int | None, size: int = 8, mem_id: int = 1) -> TensorSpec:
    spec = TensorSpec(torch.float32, [size])
    spec.lifetime, spec.mem_id, spec.mem_offset = [first, last], mem_id, offset
    return spec


def test_a_tensor_after_another_one_may_have_its_bytes() -> None:
    check_by_lifespans({planned(0, 2, 0): "a", planned(3, 4, 0): "b"}, [0, 32])


def test_an_overlap_names_both_tensors_their_steps_and_bytes() -> None:
    with pytest.raises(MemoryPlanningError) as error:
        check_by_lifespans({planned(0, 3, 0): "left", planned(3, 4, 16): "right"}, [0, 48])
    for part in ("left", "right", "steps 0 to 3", "steps 3 to 4", "bytes 0 to 32", "bytes 16 to 48", "arena 1"):
        assert part in str(error.value)


def test_the_user_may_accept_overlaps() -> None:
    check_by_lifespans({planned(0, 3, 0): "a", planned(3, 4, 16): "b"}, [0, 48], allow_overlap=True)


def test_different_arenas_do_not_overlap() -> None:
    check_by_lifespans({planned(0, 3, 0): "a", planned(0, 3, 0, mem_id=2): "b"}, [0, 32, 32])


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (planned(0, 1, 4), "not inside of arena 1"),
        (planned(0, 1, -4), "not inside of arena 1"),
        (planned(0, 1, 0, mem_id=2), "arena 2 does not exist"),
        (planned(0, 1, 0, mem_id=0), "arena 0 does not exist"),
        (planned(0, 1, None), "assigned no place"),
        (planned(2, 1, 0), "not a range of steps"),
        (planned(0, 1, 2, size=1), "not a multiple of its 4-byte elements"),
    ],
)
def test_an_invalid_place_is_refused(spec: TensorSpec, why: str) -> None:
    with pytest.raises(MemoryPlanningError, match=why):
        check_by_lifespans({spec: "it"}, [0, 32])


lifetimes = st.lists(st.tuples(st.integers(1, 200), st.integers(0, 12), st.integers(0, 6)), min_size=2, max_size=25)


def specs_of(rows: list[tuple[int, int, int]]) -> list[TensorSpec]:
    return [planned(first, first + length, None, size) for size, first, length in rows]


@given(lifetimes, st.sampled_from([1, 16, 64]))
def test_every_greedy_plan_passes(rows: list[tuple[int, int, int]], alignment: int) -> None:
    specs = specs_of(rows)
    result = greedy(alignment * 4, specs, torch.fx.GraphModule({}, torch.fx.Graph()), None)
    result.write_to_specs()
    check_by_lifespans({spec: str(i) for i, spec in enumerate(specs)}, result.bufsizes)
    assert all(spec.mem_offset % (alignment * 4) == 0 for spec in specs if spec.mem_offset is not None)


@given(lifetimes, st.data())
def test_a_tensor_moved_onto_a_live_one_is_found(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    specs = specs_of(rows)
    result = greedy(16, specs, torch.fx.GraphModule({}, torch.fx.Graph()), None)
    result.write_to_specs()
    victim, mover = data.draw(st.permutations(specs))[:2]
    mover.lifetime, mover.mem_offset = [*victim.lifetime], victim.mem_offset
    with pytest.raises(MemoryPlanningError, match=r"share bytes|not inside"):
        check_by_lifespans({spec: str(i) for i, spec in enumerate(specs)}, result.bufsizes)
