# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BundledProgram: a program with test cases of its methods."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from executorch.devtools.bundled_program import schema
from executorch.devtools.bundled_program.config import ConfigValue, MethodTestCase, MethodTestSuite
from executorch.devtools.checked_program import checked_program
from executorch.exir import schema as program_schema
from executorch.exir.program import ExecutorchProgramManager
from executorch.exir.scalar_type import to_scalar_type
from executorch.exir.serialize.regular_file import read_regular_file
from executorch.exir.tensor import dim_order_from_stride

_SCALARS: dict[type, type] = {
    bool: program_schema.Bool,
    int: program_schema.Int,
    float: program_schema.Double,
}


class BundledProgram:
    """A program with test cases; `bundled_program.serialize` writes it.

    executorch_program: the result of `to_executorch`; or pte_file_path: a `.pte` file. method_test_suites: cases of
    each method. Raises RuntimeError unless exactly one program is given, ValueError naming the method, case and input
    or output that does not match the program.
    """

    def __init__(
        self,
        executorch_program: ExecutorchProgramManager | None = None,
        method_test_suites: Sequence[MethodTestSuite] | None = None,
        pte_file_path: str | None = None,
    ) -> None:
        if (executorch_program is None) == (pte_file_path is None):
            raise RuntimeError("expected either executorch_program or pte_file_path")
        if method_test_suites is None:
            raise RuntimeError("expected method_test_suites")
        self.executorch_program = executorch_program
        self.method_test_suites = list(method_test_suites)
        self._pte_file_path = pte_file_path
        for suite in self.method_test_suites:
            _check_suite(self._program(), suite)

    def _bytes(self) -> bytes:
        if self._pte_file_path is not None:
            return read_regular_file(self._pte_file_path)
        assert self.executorch_program is not None
        return self.executorch_program.buffer

    def _program(self) -> program_schema.Program:
        if self.executorch_program is not None:
            return self.executorch_program.executorch_program
        return checked_program(self._bytes()).program

    def serialize_to_schema(self) -> schema.BundledProgram:
        """The bundled program in the file's data model."""
        suites = [
            schema.BundledMethodTestSuite(suite.method_name, [_case(case) for case in suite.test_cases])
            for suite in sorted(self.method_test_suites, key=lambda suite: suite.method_name)
        ]
        return schema.BundledProgram(schema.BUNDLED_PROGRAM_SCHEMA_VERSION, suites, self._bytes())


def _case(case: MethodTestCase) -> schema.BundledMethodTestCase:
    return schema.BundledMethodTestCase(
        [schema.Value(_value(value)) for value in case.inputs],
        [schema.Value(_value(value)) for value in case.expected_outputs],
    )


def _value(value: ConfigValue) -> schema.Tensor | schema.Int | schema.Bool | schema.Double:
    if isinstance(value, torch.Tensor):
        order = [int(dim) for dim in dim_order_from_stride(value.stride())]
        dense = value.detach().cpu().permute(order).contiguous() if order else value.detach().cpu().reshape(1)
        data = dense.reshape(-1).view(torch.uint8).numpy().tobytes() if dense.numel() else b""
        return schema.Tensor(to_scalar_type(value.dtype), list(value.shape), data, order)
    if isinstance(value, bool):
        return schema.Bool(value)
    return schema.Int(value) if isinstance(value, int) else schema.Double(value)


def _check_suite(program: program_schema.Program, suite: MethodTestSuite) -> None:
    plans = {plan.name: plan for plan in program.execution_plan}
    if suite.method_name not in plans:
        raise ValueError(f"test suite of '{suite.method_name}': expected one of the program's methods {sorted(plans)}")
    plan = plans[suite.method_name]
    for number, case in enumerate(suite.test_cases):
        where = f"method '{suite.method_name}', test case {number}"
        _check_values(plan, plan.inputs, case.inputs, f"{where}, input")
        if case.expected_outputs:
            _check_values(plan, plan.outputs, case.expected_outputs, f"{where}, expected output")


def _check_values(
    plan: program_schema.ExecutionPlan, indices: Sequence[int], values: Sequence[ConfigValue], where: str
) -> None:
    if len(indices) != len(values):
        raise ValueError(f"{where}s: expected {len(indices)}; found {len(values)}")
    for position, (index, value) in enumerate(zip(indices, values, strict=True)):
        expected = plan.values[index].val
        if isinstance(value, torch.Tensor):
            wanted = (
                expected.scalar_type.name if isinstance(expected, program_schema.Tensor) else type(expected).__name__
            )
            found = to_scalar_type(value.dtype).name
        else:
            wanted, found = type(expected).__name__, _SCALARS[type(value)].__name__
        if wanted != found:
            raise ValueError(f"{where} {position}: expected {wanted}; found {found}")
