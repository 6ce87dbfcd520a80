# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls without readers."""

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves


def test_calls_that_lost_their_readers_are_removed() -> None:
    def rearrange(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(0, 1).permute(1, 0).reshape(-1).view(2, 3).sin() + x

    assert_step_saves("DeadCodeEliminationPass", kind_of(rearrange, (torch.randn(2, 3),)))
