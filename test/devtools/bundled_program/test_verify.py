# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
import pytest
import torch

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.devtools.bundled_program.verify import verify_bundled_program
from executorch.exir import to_edge

X = torch.linspace(-2, 2, 24).reshape(1, 2, 3, 4)


class Softplus(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log1p(torch.exp(x))


def bundle(*cases: MethodTestCase) -> bytes:
    program = to_edge(torch.export.export(Softplus(), (X,))).to_executorch()
    return serialize_from_bundled_program_to_flatbuffer(
        BundledProgram(program, [MethodTestSuite("forward", list(cases))])
    )


def test_cases_pass_within_the_tolerances() -> None:
    right, wrong = Softplus()(X), Softplus()(X).clone()
    wrong[0, 1, 2, 3] += 1e-3
    data = bundle(
        MethodTestCase((X,), right), MethodTestCase((X,), wrong), MethodTestCase((X,)), MethodTestCase((-X,), right)
    )
    first, second, third, fourth = verify_bundled_program(data, rtol=1e-5, atol=1e-6)
    assert [first.passed, second.passed, third.passed, fourth.passed] == [True, False, True, False]
    assert second.largest == [pytest.approx(1e-3, rel=1e-2)]
    assert third.largest == []
    assert all(each.passed for each in verify_bundled_program(data, rtol=1e-5, atol=1e-2)[:3])


def test_an_output_of_other_sizes_does_not_pass() -> None:
    (result,) = verify_bundled_program(bundle(MethodTestCase((X,), Softplus()(X).flatten())))
    assert (result.passed, result.largest) == (False, [None])
