# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Between arithmetic on their parts, complex numbers stay apart as real and imaginary parts."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from models.function_module import Function
from oracle.models.pipeline import assert_matches_eager

from executorch.exir import to_edge

X, Y = torch.randn(2, 3, 4, 2), torch.randn(2, 3, 4, 2)
FREQUENCIES = torch.polar(torch.ones(3, 4), torch.arange(12.0).reshape(3, 4))


def _moved(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a, b = torch.view_as_complex(x), torch.complex(y[..., 0], y[..., 1])
    z = torch.cat((a[:, :2] * b[:, 1:], b[:, 1:].flip(1) + a[:, :2]), 1).transpose(1, 2).unsqueeze(0)
    z = F.pad(z.repeat(1, 1, 2, 1), (1, 0), value=0.5)[:, 1]
    return torch.view_as_real(z.squeeze(0) * 2) + z.squeeze(0).real[..., None]


def _recurrent(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    step, state = torch.view_as_complex(y[0, 0]), torch.zeros(2, 4, dtype=torch.complex64)
    outputs = []
    for at in range(3):
        state = state * step.exp() + x[:, at, :, 0]
        outputs.append(state.abs() + (state * step).imag)
    return torch.stack(outputs, 1)


WITHOUT_COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "a rotary embedding": lambda x, y: (
        torch.view_as_real(torch.view_as_complex(x) * FREQUENCIES).flatten(2) + y[0, 0, 0, 0]
    ),
    "moved elements": _moved,
    "a recurrence": _recurrent,
    "a number that the program computes": lambda x, y: torch.view_as_real(
        torch.view_as_complex(x) * torch.full((4,), y[0, 0, 0, 0].item(), dtype=torch.complex64)
    ),
    "pairs that nothing changed": lambda x, y: torch.view_as_real(torch.view_as_complex(x)) + y,
}
WITH_COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "a complex result": lambda x, y: (lambda z: (z, z.real, torch.view_as_real(z[:, 1:])))(
        torch.view_as_complex(x) * 2j
    ),
    "a transform": lambda x, y: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), dim=1)[:, :2]) * y[:, :2],
    "a complex filling": lambda x, y: F.pad(torch.view_as_complex(x), (1, 1), value=2.0).real + y[0, 0, 0, 0],
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", [*WITHOUT_COMPLEX, *WITH_COMPLEX])
def test_programs_of_complex_numbers_match_eager(what: str) -> None:
    assert_matches_eager(Function({**WITHOUT_COMPLEX, **WITH_COMPLEX}[what]), (X, Y))


@pytest.mark.parametrize("what", WITHOUT_COMPLEX)
def test_no_node_gives_a_complex_tensor_between_real_ones(what: str) -> None:
    program = to_edge(torch.export.export(Function(WITHOUT_COMPLEX[what]), (X, Y))).exported_program()
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "call_function"]
    assert not [value for value in values if isinstance(value, torch.Tensor) and value.is_complex()]
