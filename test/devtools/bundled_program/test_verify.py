# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Verifying a bundle compares outputs within the tolerances."""

import pytest
import torch
from bundles import RIGHT, X, bundle, wrong

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program import schema
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.devtools.bundled_program.verify import value_of, verify_bundled_program
from executorch.exir import to_edge
from executorch.exir.schema import ScalarType
from executorch.exir.serialize import MalformedProgramError
from executorch.runtime import Method, Program


def test_cases_pass_within_the_tolerances() -> None:
    data = bundle(
        MethodTestCase((X,), RIGHT), MethodTestCase((X,), wrong()), MethodTestCase((X,)), MethodTestCase((-X,), RIGHT)
    )
    first, second, third, fourth = verify_bundled_program(data, rtol=1e-5, atol=1e-6)
    assert [first.passed, second.passed, third.passed, fourth.passed] == [True, False, True, False]
    assert second.largest == [pytest.approx(1e-3, rel=1e-2)]
    assert third.largest == []
    assert all(case.passed for case in verify_bundled_program(data, rtol=1e-5, atol=1e-2)[:3])


def test_an_output_of_other_sizes_does_not_pass() -> None:
    (result,) = verify_bundled_program(bundle(MethodTestCase((X,), RIGHT.flatten())))
    assert (result.passed, result.largest) == (False, [None])


@pytest.mark.parametrize(
    ("sizes", "order", "nbytes"),
    [([2], [5], 8), ([2, 3], [0, 0], 24), ([-1], [0], 8), ([2], [0], 4), ([2], [], 8), ([2, 2**31], [0, 1], 0)],
)
def test_a_tensor_that_contradicts_itself_is_malformed(sizes: list[int], order: list[int], nbytes: int) -> None:
    with pytest.raises(MalformedProgramError, match="a tensor of sizes"):
        value_of(schema.Value(schema.Tensor(ScalarType.FLOAT, sizes, bytes(nbytes), order)))


def test_a_method_in_many_suites_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []
    load_method = Program.load_method

    def counted(program: Program, name: str) -> Method | None:
        loads.append(name)
        return load_method(program, name)

    monkeypatch.setattr(Program, "load_method", counted)
    results = verify_bundled_program(bundle(MethodTestCase((X,), RIGHT), suites=3), atol=1e-6)
    assert loads == ["forward"]
    assert [(result.case, result.passed) for result in results] == [(0, True)] * 3


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def test_both_parts_of_complex_outputs_are_compared() -> None:
    x = torch.tensor([1 + 2j, 3 + 4j])
    cases = [MethodTestCase((x,), 2 * x), MethodTestCase((x,), (2 * x).conj().resolve_conj())]
    program = to_edge(torch.export.export(Twice(), (x,))).to_executorch()
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [MethodTestSuite("forward", cases)]))
    assert [case.passed for case in verify_bundled_program(data)] == [True, False]
