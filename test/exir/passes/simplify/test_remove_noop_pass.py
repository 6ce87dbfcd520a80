# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls that change nothing."""

import torch
from models.module_kinds import kind_of
from oracle.models.every_step import assert_step_saves
from torch.export import export

from executorch.exir import to_edge
from executorch.runtime import Runtime


def test_an_expand_to_the_same_sizes_is_removed() -> None:
    assert_step_saves("RemoveNoopPass", kind_of(lambda x: x.expand(2, 3).sin() * 1 + x, (torch.randn(2, 3),)))


def test_rows_of_half_a_tensor_whose_number_depends_on_data_follow_an_empty_operand_of_cat() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
            rows = count.item()
            return torch.cat([torch.zeros(0, 1, 3), x.split(3, -1)[0][:rows]]) * 2

    x = torch.randn(8, 1, 6)
    lowered = to_edge(export(Rows(), (x, torch.tensor(2)), strict=False)).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    for rows in (2, 0, 4):
        torch.testing.assert_close(method.execute([x, torch.tensor(rows)])[0], x[:rows, :, :3] * 2)
