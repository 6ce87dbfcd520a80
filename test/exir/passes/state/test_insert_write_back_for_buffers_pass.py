# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""State is written at the end of the method."""

import torch
from oracle.models.planned_graph import call_targets, plan, run_planned


def test_buffers_are_written_back_last_even_when_they_swap():
    class Swap(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.ones(3))
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x):
            old = self.a.clone()
            self.a.copy_(self.b)
            self.b.copy_(old)
            return self.a + x, self.b + x, old

    x = torch.randn(3)
    want = Swap()(x)
    program = plan(Swap(), x)
    assert call_targets(program)[-2:] == ["aten.copy_.default"] * 2
    torch.testing.assert_close(tuple(run_planned(program, x)), want)
    assert program.state_dict["a"].tolist() == [0.0] * 3 and program.state_dict["b"].tolist() == [1.0] * 3
