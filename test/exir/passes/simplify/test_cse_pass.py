# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Equal calls."""

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves


def test_equal_calls_are_computed_once() -> None:
    assert_step_saves("CSEPass", kind_of(lambda x: (x * 2).sin() + (x * 2).sin(), (torch.randn(2, 3),)))
