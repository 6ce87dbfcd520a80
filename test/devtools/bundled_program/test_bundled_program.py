# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Bundles keep program, inputs and expected outputs; bundles that do not fit are refused by name."""

from pathlib import Path

import peer_programs
import pytest
import torch
from oracle import peer

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program import schema
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir import ExecutorchProgramManager, to_edge
from executorch.exir.serialize.errors import MalformedProgramError
from executorch.extension.pybindings import portable_lib
from executorch.runtime import InvalidArgumentError

X = torch.arange(6.0).reshape(2, 3)


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        return x * by


@pytest.fixture(scope="module")
def program() -> ExecutorchProgramManager:
    return to_edge(torch.export.export(Scaled(), (X, X + 1))).to_executorch()


def suite(*cases: MethodTestCase, method: str = "forward") -> list[MethodTestSuite]:
    return [MethodTestSuite(method, list(cases))]


def test_a_bundle_is_read_back_as_it_was_written(program: ExecutorchProgramManager, tmp_path: Path) -> None:
    cases = [MethodTestCase((X, X * i), X * X * i) for i in range(3)] + [MethodTestCase((X, X))]
    bundle = BundledProgram(program, suite(*cases))
    data = serialize_from_bundled_program_to_flatbuffer(bundle)
    assert data[4:8] == b"BP08"
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert read == bundle.serialize_to_schema()
    assert read.program == program.buffer
    assert [len(case.expected_outputs) for case in read.method_test_suites[0].test_cases] == [1, 1, 1, 0]
    (tmp_path / "program.pte").write_bytes(program.buffer)
    again = BundledProgram(method_test_suites=suite(*cases), pte_file_path=str(tmp_path / "program.pte"))
    assert serialize_from_bundled_program_to_flatbuffer(again) == data


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_are_dense_bytes_in_their_dim_order(dtype: torch.dtype) -> None:
    plain = (torch.arange(24).reshape(1, 2, 3, 4) % 5).to(dtype)
    last = plain.to(memory_format=torch.channels_last)

    class Cast(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(-1)

    program = to_edge(torch.export.export(Cast(), (plain,))).to_executorch()
    bundle = BundledProgram(
        program, suite(MethodTestCase((plain,)), MethodTestCase((last,)), MethodTestCase((plain.mT,)))
    )
    cases = bundle.serialize_to_schema().method_test_suites[0].test_cases
    for tensor, case in zip((plain, last, plain.mT), cases, strict=True):
        value = case.inputs[0].val
        assert isinstance(value, schema.Tensor)
        dense = torch.frombuffer(bytearray(value.data), dtype=dtype)
        sizes = [value.sizes[dim] for dim in value.dim_order]
        back = dense.reshape(sizes).permute([value.dim_order.index(dim) for dim in range(4)])
        assert torch.equal(back, tensor)


def test_scalars_keep_their_types() -> None:
    assert [type(leaf) for leaf in MethodTestCase({"a": [1, 2.5], "b": (True,)}).inputs] == [int, float, bool]
    with pytest.raises(TypeError, match="input 1: expected a tensor, int, bool or float; found str"):
        MethodTestCase((X, "text"))


def test_a_bundle_that_does_not_fit_the_program_is_refused_by_name(program: ExecutorchProgramManager) -> None:
    wrong = {
        r"test suite of 'other': expected one of the program's methods \['forward'\]": suite(method="other"),
        "'forward', test case 0, inputs: expected 2; found 1": suite(MethodTestCase((X,))),
        "test case 1, input 1: expected FLOAT; found LONG": suite(
            MethodTestCase((X, X)), MethodTestCase((X, X.long()))
        ),
        "input 1: expected FLOAT; found LONG": suite(MethodTestCase((X, X.long()))),
        "input 0: expected Tensor; found Int": suite(MethodTestCase((3, X))),
        "expected outputs: expected 1; found 2": suite(MethodTestCase((X, X), (X, X))),
    }
    for message, suites in wrong.items():
        with pytest.raises(ValueError, match=message):
            BundledProgram(program, suites)
    with pytest.raises(RuntimeError, match="either executorch_program or pte_file_path"):
        BundledProgram(method_test_suites=suite())
    with pytest.raises(RuntimeError, match="method_test_suites"):
        BundledProgram(program)


def test_bytes_of_another_format_are_refused(program: ExecutorchProgramManager) -> None:
    for data in (b"", b"no bundle at all", program.buffer):
        with pytest.raises(MalformedProgramError):
            deserialize_from_flatbuffer_to_bundled_program(data)


def test_a_file_of_the_reference_is_read_and_run() -> None:
    data = peer_programs.path("add").with_suffix(".bpte").read_bytes()
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert read.version == schema.BUNDLED_PROGRAM_SCHEMA_VERSION == 2
    assert [value.val.sizes for value in read.method_test_suites[0].test_cases[0].inputs] == [[2, 3], [2, 3]]
    bundled = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(bundled)
    module.verify_result_with_bundled_expected_output(bundled, "forward", 0)
    with pytest.raises(InvalidArgumentError, match="test case 1"):
        module.verify_result_with_bundled_expected_output(bundled, "forward", 1)


def test_any_byte_of_an_expected_bool_but_zero_is_true() -> None:
    class Positive(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x > 0

    program = to_edge(torch.export.export(Positive(), (X,))).to_executorch()
    expected = [torch.tensor([[first, 1, 2], [3, 0x80, 0xFF]], dtype=torch.uint8) for first in (0, 5)]
    bundle = BundledProgram(program, suite(*(MethodTestCase((X,), one.view(torch.bool)) for one in expected)))
    bundled = portable_lib._load_bundled_program_from_buffer(serialize_from_bundled_program_to_flatbuffer(bundle))
    module = portable_lib._load_for_executorch_from_bundled_program(bundled)
    module.verify_result_with_bundled_expected_output(bundled, "forward", 0)
    with pytest.raises(InvalidArgumentError, match="1 of 6"):
        module.verify_result_with_bundled_expected_output(bundled, "forward", 1)


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_bundles_are_exchanged_with_the_reference(program: ExecutorchProgramManager, tmp_path: Path) -> None:
    bundle = BundledProgram(program, suite(MethodTestCase((X, X), X * X)))
    (tmp_path / "ours").write_bytes(serialize_from_bundled_program_to_flatbuffer(bundle))
    script = (
        "from executorch.devtools.bundled_program.serialize import *\n"
        "from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer\n"
        f"data = open({str(tmp_path / 'ours')!r}, 'rb').read()\n"
        "bundle = _load_bundled_program_from_buffer(data)\n"
        "print(bundle.verify_result_with_bundled_expected_output('forward', 0))\n"
        "read = deserialize_from_flatbuffer_to_bundled_program(data)\n"
        f"open({str(tmp_path / 'theirs')!r}, 'wb').write(convert_to_flatbuffer("
        "serialize_from_bundled_program_to_json(read)))\n"
    )
    peer.run_script(script, [], tmp_path)
    read = deserialize_from_flatbuffer_to_bundled_program((tmp_path / "theirs").read_bytes())
    assert read == bundle.serialize_to_schema()
