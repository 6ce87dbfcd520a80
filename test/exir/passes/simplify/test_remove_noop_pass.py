# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls that change nothing."""

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves


def test_an_expand_to_the_same_sizes_is_removed() -> None:
    assert_step_saves("RemoveNoopPass", kind_of(lambda x: x.expand(2, 3).sin() * 1 + x, (torch.randn(2, 3),)))
