# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Values of its trace that torch.export records as constants."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from torch._higher_order_ops.while_loop import while_loop_op

from executorch.exir import to_edge
from executorch.exir.error import ExportError
from executorch.runtime import Runtime

_STEPS = 4


def _sums_of_closure(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    def step(place: torch.Tensor, total: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return place + 1, total + rows.index_select(0, place.reshape(1))[0]

    (_, total) = while_loop_op(lambda place, total: place < _STEPS, step, (torch.tensor(0), x + 0), ())
    return total


def _sums_of_operand(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    def step(place: torch.Tensor, total: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return place + 1, total + rows.index_select(0, place.reshape(1))[0]

    (_, total) = while_loop_op(lambda place, total, rows: place < _STEPS, step, (torch.tensor(0), x + 0), (rows,))
    return total


_INPUTS = (torch.randn(3), torch.randn(_STEPS, 3))


def test_a_loop_that_takes_a_tensor_from_its_closure_is_refused_with_what_to_do() -> None:
    exported = torch.export.export(Function(_sums_of_closure), _INPUTS, strict=False)
    with pytest.raises(ExportError, match=r"takes from its closure.*additional_inputs.*strict=True"):
        to_edge(exported)


@pytest.mark.parametrize(("sums", "strict"), [(_sums_of_closure, True), (_sums_of_operand, False)])
def test_the_ways_that_the_refusal_names_work(sums: object, strict: bool) -> None:
    exported = torch.export.export(Function(sums), _INPUTS, strict=strict)
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute(_INPUTS)[0], _INPUTS[0] + _INPUTS[1].sum(0))


class _FoldsBeforeEachCall(torch.nn.Module):
    """Fold a weight in `forward`, like the image model SPAN."""

    def __init__(self, read: Callable[[torch.nn.Parameter], torch.Tensor]) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.read = read

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ (self.read(self.layer.weight) * 2).t()


def test_a_weight_without_data_is_refused_with_what_to_do() -> None:
    x = torch.randn(2, 3)
    exported = torch.export.export(_FoldsBeforeEachCall(lambda weight: weight.data.clone().detach()), (x,), strict=True)
    with pytest.raises(ExportError, match=r"without data: .*reads the \.data of a parameter.*the parameter itself"):
        to_edge(exported)
    module = _FoldsBeforeEachCall(lambda weight: weight.detach())
    program = to_edge(torch.export.export(module, (x,), strict=True)).to_executorch()
    (found,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(found, module(x))


def test_a_constant_without_data_that_nothing_needs_is_left_out() -> None:
    products = torch.vmap(torch.vmap(torch.dot, (0, None)), (None, 0))
    inputs = (torch.randn(4, 3), torch.randn(5, 3))
    exported = torch.export.export(Function(products), inputs, strict=True)
    assert exported.constants  # vmap leaves one, which a call without users reads
    program = to_edge(exported).to_executorch()
    (found,) = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    torch.testing.assert_close(found, products(*inputs))
