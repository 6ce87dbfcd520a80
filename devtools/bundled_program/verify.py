# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run the test cases of a bundled program in the installed runtime."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from executorch.devtools.bundled_program import schema
from executorch.devtools.bundled_program.serialize import deserialize_from_flatbuffer_to_bundled_program
from executorch.exir.scalar_type import to_dtype
from executorch.exir.schema import BytesLike
from executorch.exir.serialize import MalformedProgramError
from executorch.runtime import Runtime


@dataclass(frozen=True)
class CaseResult:
    """Result of a test case.

    largest: largest absolute difference of each output from the expected one; None if sizes or dtype differ; empty for
    a case without expected outputs. passed: whether all outputs are within the tolerances.
    """

    method: str
    case: int
    largest: list[float | None]
    passed: bool


def verify_bundled_program(data: BytesLike, rtol: float = 1e-5, atol: float = 1e-8) -> list[CaseResult]:
    """Run every case of a `.bpte` file's bytes. An output passes within `atol` plus `rtol` times |expected|.

    Raises MalformedProgramError for bytes that are not a bundled program, ValueError for a suite of a method that the
    program lacks, and the runtime's errors.
    """
    bundle = deserialize_from_flatbuffer_to_bundled_program(data)
    program = Runtime.get().load_program(bundle.program)
    # A file may list a method thousands of times: it is loaded once.
    cases: dict[str, list[tuple[int, schema.BundledMethodTestCase]]] = {}
    for suite in bundle.method_test_suites:
        cases.setdefault(suite.method_name, []).extend(enumerate(suite.test_cases))
    results = []
    for name, numbered in cases.items():
        method = program.load_method(name)
        if method is None:
            raise ValueError(f"test suite of '{name}': the program lacks this method")
        for number, case in numbered:
            outputs = method.execute([value_of(value) for value in case.inputs])
            pairs = [(value_of(a), b) for a, b in zip(case.expected_outputs, outputs, strict=False)]
            checks = [_check(expected, output, rtol, atol) for expected, output in pairs]
            enough = not case.expected_outputs or len(case.expected_outputs) == len(outputs)
            passed = enough and all(is_close for _, is_close in checks)
            results.append(CaseResult(name, number, [largest for largest, _ in checks], passed))
    return results


def value_of(value: schema.Value) -> torch.Tensor | int | float | bool:
    """Convert a bundled value to a tensor or Python scalar."""
    content = value.val
    if isinstance(content, schema.Tensor):
        return _tensor_of(content)
    if isinstance(content, schema.Int):
        return content.int_val
    return content.bool_val if isinstance(content, schema.Bool) else content.double_val


def _tensor_of(content: schema.Tensor) -> torch.Tensor:
    dtype = to_dtype(content.scalar_type)
    order, sizes = content.dim_order, content.sizes
    if sorted(order) != list(range(len(sizes))) or any(size < 0 for size in sizes):
        raise MalformedProgramError(f"a tensor of sizes {sizes} has the dim order {order}")
    nbytes = math.prod(sizes) * dtype.itemsize
    if nbytes != len(content.data):
        raise MalformedProgramError(f"a tensor of sizes {sizes}: expected {nbytes} bytes, found {len(content.data)}")
    dense = torch.frombuffer(bytearray(content.data), dtype=dtype) if content.data else torch.empty(0, dtype=dtype)
    return dense.reshape([sizes[dim] for dim in order]).permute([order.index(dim) for dim in range(len(sizes))])


def _check(expected: object, found: object, rtol: float, atol: float) -> tuple[float | None, bool]:
    if not isinstance(expected, torch.Tensor) or not isinstance(found, torch.Tensor):
        return (0.0, True) if expected == found else (None, False)
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return None, False
    if expected.is_complex():
        expected, found = torch.view_as_real(expected), torch.view_as_real(found)
    a, b = expected.to(torch.float64), found.to(torch.float64)
    difference = (a - b).abs().nan_to_num()
    return float(difference.max()) if a.numel() else 0.0, torch.allclose(b, a, rtol, atol, equal_nan=True)
