# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Scalars of operators on integers are converted to the tensors' dtype first, like in eager PyTorch."""

from collections.abc import Callable

import pytest
import torch

from executorch.exir import to_edge
from executorch.runtime import Runtime

Operator = Callable[[torch.Tensor, float], torch.Tensor]
OPERATORS: dict[str, Operator] = {
    "masked_fill": lambda x, scalar: torch.masked_fill(x, x > 1, scalar),
    "threshold": lambda x, scalar: torch.threshold(x, scalar, 7),
    "value of threshold": lambda x, scalar: torch.threshold(x, 1, scalar),
    "addcmul": lambda x, scalar: torch.addcmul(x, x, x[:1], value=scalar),
    "addcmul with a mask": lambda x, scalar: torch.addcmul(x, x, x > 1, value=scalar),
    "addcmul to a mask": lambda x, scalar: torch.addcmul(x > 1, x[0], x, value=scalar),
    "addcmul of two widths": lambda x, scalar: torch.addcmul(x, x + 99, (x + 1).to(torch.int16), value=scalar),
}


class _Model(torch.nn.Module):
    def __init__(self, operator: Operator, scalar: float) -> None:
        super().__init__()
        self.operator = operator
        self.scalar = scalar

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operator(x, self.scalar)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64, torch.float32], ids=str)
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_scalars_are_converted_and_refused_as_in_eager(operator: Operator, dtype: torch.dtype) -> None:
    x = torch.tensor([1, 0, 2, 3]).to(dtype)
    for scalar in (-1.5, -0.5, 0.5, 2.0, 255.5, 300, -1, 7):
        model = _Model(operator, scalar)
        try:
            expected = model(x)
        except RuntimeError as error:
            assert "without overflow" in str(error)
            with pytest.raises(RuntimeError, match="without overflow"):
                to_edge(torch.export.export(model, (x,))).to_executorch()
            continue
        program = to_edge(torch.export.export(model, (x,))).to_executorch()
        method = Runtime.get().load_program(program.buffer).load_method("forward")
        assert method is not None
        torch.testing.assert_close(method.execute([x])[0], expected)
