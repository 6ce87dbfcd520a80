# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Custom operators that write to an argument."""

from collections.abc import Iterator

import pytest
import torch
from oracle.models.planned_graph import call_targets, plan


@pytest.fixture(autouse=True)
def _operator() -> Iterator[None]:
    def accumulate(state: torch.Tensor, x: torch.Tensor) -> None:
        state.add_(x)

    with torch.library._scoped_library("mutable_calls_test", "FRAGMENT") as library:
        library.define("accumulate_(Tensor(a!) state, Tensor x) -> ()")
        library.impl("accumulate_", accumulate, "CompositeExplicitAutograd")
        torch.library.register_fake("mutable_calls_test::accumulate_", lambda state, x: None, lib=library)
        yield


class Total(torch.nn.Module):
    """Writes to its state. With `keeps`, the caller gets the old value, too."""

    def __init__(self, keeps: bool) -> None:
        super().__init__()
        self.keeps = keeps
        self.register_buffer("state", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        old = (self.state * 2,) if self.keeps else ()
        torch.ops.mutable_calls_test.accumulate_(self.state, x)
        return (*old, self.state + 1)


@pytest.mark.parametrize("keeps", [False, True])
def test_the_operator_writes_to_the_state_itself(keeps: bool) -> None:
    targets = call_targets(plan(Total(keeps), torch.ones(3)))
    assert "mutable_calls_test.accumulate_.default" in targets
    assert not any("copy" in target or "clone" in target or "functionalized" in target for target in targets)


def test_the_operator_writes_to_a_copy_of_a_value_that_is_returned() -> None:
    class Kept(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            first = x * 2
            second = first.clone()
            torch.ops.mutable_calls_test.accumulate_(second, x)
            return first, second

    targets = call_targets(plan(Kept(), torch.ones(3)))
    assert "mutable_calls_test.accumulate_.default" in targets
    assert any("clone" in target for target in targets)
