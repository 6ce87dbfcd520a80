# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A branch that the program chooses at run time from the input's values."""

import torch

from executorch.exir import to_edge
from executorch.runtime import Runtime


class Limiter(torch.nn.Module):
    """Scales a signal down if it is loud, else leaves it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def loud(x: torch.Tensor) -> torch.Tensor:
            return x / x.abs().amax()

        def quiet(x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        return torch.cond(x.abs().amax() > 1, loud, quiet, (x,))


model, signal = Limiter(), torch.linspace(-4, 4, 9)
method = Runtime.get().load_program(to_edge(torch.export.export(model, (signal,))).to_executorch().buffer)
forward = method.load_method("forward")
for x in (signal, signal / 8):
    (y,) = forward.execute([x])
    torch.testing.assert_close(y, model(x))
    print(f"peak {x.abs().max():.2f} -> {y.abs().max():.2f}")
