# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bundled programs through the documented functions of portable_lib."""

from pathlib import Path

import numpy as np
import pytest
import torch
from bundles import RIGHT, X, bundle, wrong
from oracle.tolerances import FEW_ROUNDINGS

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.pybindings import portable_lib
from executorch.runtime import (
    InvalidArgumentError,
    InvalidProgramError,
    NotFoundError,
    NotSupportedError,
)

DATA = bundle(MethodTestCase((X,), RIGHT), MethodTestCase((X,), wrong()), MethodTestCase((-X,)))


def loaded() -> tuple[portable_lib.BundledModule, portable_lib.ExecuTorchModule]:
    bundled = portable_lib._load_bundled_program_from_buffer(DATA)
    return bundled, portable_lib._load_for_executorch_from_bundled_program(bundled)


def test_a_case_is_run_and_compared() -> None:
    bundled, module = loaded()
    (output,) = module.verify_result_with_bundled_expected_output(bundled, "forward", 0, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(output, RIGHT)
    with pytest.raises(InvalidArgumentError, match=r"test case 1: 1 of 24 values .* largest error is 0.00"):
        module.verify_result_with_bundled_expected_output(bundled, "forward", 1, atol=1e-6)
    module.verify_result_with_bundled_expected_output(bundled, "forward", 1, 0.0, 1e-2)


def test_inputs_of_a_case_stay_set() -> None:
    bundled, module = loaded()
    module.load_bundled_input(bundled, "forward", 2)
    del bundled
    (output,) = module.plan_execute("forward")
    np.testing.assert_allclose(np.asarray(output), np.log1p(np.exp(-X.numpy())), **FEW_ROUNDINGS)


def test_a_missing_name_is_reported() -> None:
    bundled, module = loaded()
    with pytest.raises(InvalidArgumentError, match="case 3 of 'forward', which has 3"):
        module.load_bundled_input(bundled, "forward", 3)
    with pytest.raises(KeyError, match="backward"):
        module.load_bundled_input(bundled, "backward", 0)
    with pytest.raises(NotSupportedError, match="lacks expected outputs"):
        module.verify_result_with_bundled_expected_output(bundled, "forward", 2)
    other = portable_lib._load_for_executorch_from_buffer(DATA[DATA.index(b"ET12") - 4 :])
    with pytest.raises(NotFoundError, match="of the method 'forward'"):
        other.load_bundled_input(portable_lib._load_bundled_program_from_buffer(_renamed()), "forward", 0)


def _renamed() -> bytes:
    return DATA[::-1].replace(b"forward"[::-1], b"nothing"[::-1], 1)[::-1]


def test_weights_of_a_bundled_program_come_from_bytes_or_from_a_file(tmp_path: Path) -> None:
    layer, x = torch.nn.Linear(4, 3), torch.ones(2, 4)
    expected = layer(x).detach()
    config = ExecutorchBackendConfig(external_constants=True)
    program = to_edge(torch.export.export(layer, (x,))).to_executorch(config)
    program.write_tensor_data_to_file(str(tmp_path))
    suite = MethodTestSuite("forward", [MethodTestCase((x,), expected)])
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [suite]))
    bundled = portable_lib._load_bundled_program_from_buffer(data)
    (file,) = tmp_path.glob("*.ptd")
    load = portable_lib._load_for_executorch_from_bundled_program
    for module in (
        load(bundled, file.read_bytes()),
        load(bundled, str(file)),
        load(bundled, data_path=str(file)),
    ):
        torch.testing.assert_close(module.forward([x])[0], expected)
        module.verify_result_with_bundled_expected_output(bundled, "forward", 0, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="weight"):
        load(bundled).forward([x])
    with pytest.raises(RuntimeError, match="absent"):
        load(bundled, str(tmp_path / "absent.ptd"))


class Identity(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_outputs_that_show_a_cases_inputs_keep_their_numbers() -> None:
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    x = torch.ones(256)
    program = to_edge(torch.export.export(Identity(), (x,))).to_executorch(config)
    cases = [MethodTestCase((x * factor,), x) for factor in (1, 2)]
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [MethodTestSuite("forward", cases)]))
    bundled = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(bundled)
    outputs = []
    for case in range(2):
        module.load_bundled_input(bundled, "forward", case)
        outputs += module.plan_execute("forward", clone_outputs=False)
    np.testing.assert_array_equal(outputs, np.outer([1, 2], np.ones(256, np.float32)))


def test_damaged_bundles_are_refused() -> None:
    with pytest.raises(NotSupportedError, match="expected identifier"):
        portable_lib._load_bundled_program_from_buffer(b"")
    with pytest.raises(InvalidProgramError, match="damaged"):
        portable_lib._load_bundled_program_from_buffer(DATA[: len(DATA) // 2])
