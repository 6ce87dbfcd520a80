# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented helpers that make programs and test suites."""

import pytest
import torch

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.devtools.bundled_program.util.test_util import (
    DEFAULT_INT_INPUT,
    get_common_executorch_program,
    get_random_test_suites,
)
from executorch.extension.pybindings import portable_lib
from executorch.runtime import InvalidArgumentError


def test_the_common_program_passes_its_own_test_cases() -> None:
    program, suites = get_common_executorch_program()
    assert sorted(suite.method_name for suite in suites) == ["decode", "encode"]
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, suites))
    bundle = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    for suite in suites:
        assert len(suite.test_cases) == 10
        for index in range(10):
            outputs = module.verify_result_with_bundled_expected_output(bundle, suite.method_name, index)
            alone = bundle.verify_result_with_bundled_expected_output(suite.method_name, index)
            assert all(torch.equal(one, other) for one, other in zip(outputs, alone, strict=True))
    with pytest.raises(InvalidArgumentError, match="test case 10"):
        bundle.verify_result_with_bundled_expected_output("encode", 10)


def test_random_suites_have_the_sizes_and_counts_that_were_given() -> None:
    names, inputs, outputs, suites = get_random_test_suites(2, [[2, 3], [4]], 1, [[5]], torch.float32, 3, 4)
    assert len(names) == len(set(names)) == 4
    assert [suite.method_name for suite in suites] == names
    for given, expected, suite in zip(inputs, outputs, suites, strict=True):
        assert [len(given), len(expected), len(suite.test_cases)] == [3, 3, 3]
        for case in suite.test_cases:
            assert [value.shape for value in case.inputs[:2]] == [(2, 3), (4,)]
            assert case.inputs[2] == DEFAULT_INT_INPUT
            assert [value.shape for value in case.expected_outputs] == [(5,)]
