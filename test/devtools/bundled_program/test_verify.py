# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Verifying a bundle compares outputs within the tolerances."""

import pytest
from bundles import RIGHT, X, bundle, wrong

from executorch.devtools.bundled_program.config import MethodTestCase
from executorch.devtools.bundled_program.verify import verify_bundled_program


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
