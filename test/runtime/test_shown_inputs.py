# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Outputs and attributes that show an input, whose memory may be freed, or a constant, which must not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from executorch.exir import to_edge
from executorch.exir.schema import ExtraTensorInfo, Int, IntList
from executorch.extension.pybindings.portable_lib import _load_program_from_buffer
from executorch.runtime import InvalidStateError
from test.runtime.test_hostile_relations import FLOAT, call, program, tensor

SIZE = 256


def loaded(*, by_view: bool = False) -> Any:
    """A method that returns its only input, an input without planned memory, or a view of it."""
    values: list[Any] = [tensor(FLOAT, SIZE), tensor(FLOAT, SIZE), Int(SIZE), IntList([2])]
    shown = values[by_view]
    shown.extra_tensor_info = ExtraTensorInfo(fully_qualified_name="shown")
    code = [call(0, 0, 3, 1, 1)] if by_view else []
    data = program(values, [0], [int(by_view)], ["executorch_prim::et_view.default"], code)
    return _load_program_from_buffer(data).load_method("forward")


def numbers(first: float, *, writeable: bool = True) -> np.ndarray[Any, Any]:
    array = np.full(SIZE, first, np.float32)
    array.flags.writeable = writeable
    return array


@pytest.mark.parametrize("by_view", [False, True])
@pytest.mark.parametrize("writeable", [False, True])
def test_an_output_keeps_its_numbers_when_the_method_runs_again(by_view: bool, writeable: bool) -> None:
    method = loaded(by_view=by_view)
    (first,) = method([numbers(1, writeable=writeable)], clone_outputs=False)
    method([numbers(2, writeable=writeable)], clone_outputs=False)
    np.testing.assert_array_equal(first, numbers(1))


@pytest.mark.parametrize("by_view", [False, True])
@pytest.mark.parametrize("writeable", [False, True])
def test_a_released_input_is_not_read_again(by_view: bool, writeable: bool) -> None:
    method = loaded(by_view=by_view)
    method([numbers(1, writeable=writeable)])
    with pytest.raises(InvalidStateError, match="shows an input, which the call released"):
        method.get_outputs()
    with pytest.raises(InvalidStateError, match="shows an input, which the call released"):
        method.get_attribute("shown")


def test_other_inputs_replace_those_that_a_view_shows() -> None:
    method = loaded(by_view=True)
    method.set_inputs([numbers(1)])
    method.execute()
    np.testing.assert_array_equal(method.get_outputs()[0], numbers(1))
    method.set_inputs([numbers(2)])
    with pytest.raises(InvalidStateError, match="shows an input"):
        method.get_outputs()
    method.execute()
    np.testing.assert_array_equal(method.get_outputs()[0], numbers(2))


def test_a_constant_cannot_be_changed_through_an_output_or_attribute() -> None:
    constant = tensor(FLOAT, 16, constant=1)
    constant.extra_tensor_info = ExtraTensorInfo(fully_qualified_name="weight")
    data = program([tensor(FLOAT, 1, at=0), constant], [0], [1], [], [])
    method = _load_program_from_buffer(data).load_method("forward")
    zeros = np.zeros(16, np.float32)
    for _ in range(2):
        (output,) = method([np.zeros(1, np.float32)], clone_outputs=False)
        np.testing.assert_array_equal(output, zeros)
        output[:] = 7
        method.get_attribute("weight")[:] = 8


def test_after_a_short_input_in_the_memory_of_the_caller_a_longer_one_is_taken() -> None:
    class Double(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    rows = torch.export.Dim("rows", max=512)
    exported = torch.export.export(Double(), (torch.randn(8, 64),), dynamic_shapes=({0: rows},))
    method = _load_program_from_buffer(to_edge(exported).to_executorch().buffer).load_method("forward")
    short, long = np.ones((256, 64), np.float32), np.ones((512, 64), np.float32)
    method([short])
    for _ in range(2):
        method.set_inputs([long])
        method.execute()
        np.testing.assert_array_equal(method.get_outputs()[0], long * 2)
