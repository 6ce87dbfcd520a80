# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random test cases of methods, and a small program with two methods to run them."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from executorch.devtools.bundled_program.config import (
    MethodInputType,
    MethodOutputType,
    MethodTestCase,
    MethodTestSuite,
)
from executorch.exir import ExecutorchProgramManager, to_edge

DEFAULT_INT_INPUT = 2
"""Integer input of all test cases: export fixes an integer input to its value."""


class SampleModel(torch.nn.Module):
    """Model with methods `encode` and `decode`, which take two int32 tensors of sizes [2, 2] and an integer."""

    a: torch.Tensor
    b: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.full((2, 2), 3, dtype=torch.int32))
        self.register_buffer("b", torch.full((2, 2), 2, dtype=torch.int32))
        self.method_names = ["encode", "decode"]

    def encode(self, x: torch.Tensor, q: torch.Tensor, a: int = DEFAULT_INT_INPUT) -> torch.Tensor:
        return torch.add(self.a * x, self.b, alpha=a) + q

    def decode(self, x: torch.Tensor, q: torch.Tensor, a: int = DEFAULT_INT_INPUT) -> torch.Tensor:
        return torch.add(x * q, self.b, alpha=a)


class StatefulWrapperModule(torch.nn.Module):
    """Module whose `forward` calls a method of another module; it has that module's parameters and buffers."""

    def __init__(self, base_mod: torch.nn.Module, method: Callable[..., Any]) -> None:
        super().__init__()
        self.base = base_mod
        self.fn = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def _random_tensors(sizes: Iterable[Sequence[int]], dtype: torch.dtype) -> list[torch.Tensor]:
    return [(torch.rand(*size) - 0.5).to(dtype) for size in sizes]


def get_rand_input_values(
    n_tensors: int,
    sizes: list[list[int]],
    n_int: int,
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
    n_method_test_suites: int,
) -> list[list[MethodInputType]]:
    """Random inputs for each method and test case: `n_tensors` tensors, then `n_int` integers."""
    return [
        [
            [*_random_tensors(sizes[:n_tensors], dtype), *[DEFAULT_INT_INPUT] * n_int]
            for _ in range(n_sets_per_plan_test)
        ]
        for _ in range(n_method_test_suites)
    ]


def get_rand_output_values(
    n_tensors: int,
    sizes: list[list[int]],
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
    n_method_test_suites: int,
) -> list[list[MethodOutputType]]:
    """Random expected outputs for each method and test case."""
    return [
        [_random_tensors(sizes[:n_tensors], dtype) for _ in range(n_sets_per_plan_test)]
        for _ in range(n_method_test_suites)
    ]


def get_rand_method_names(n_method_test_suites: int) -> list[str]:
    """Distinct random names of five letters."""
    names: set[str] = set()
    while len(names) < n_method_test_suites:
        names.add("".join(random.choices(string.ascii_letters, k=5)))
    return list(names)


def get_random_test_suites(
    n_model_inputs: int,
    model_input_sizes: list[list[int]],
    n_model_outputs: int,
    model_output_sizes: list[list[int]],
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
    n_method_test_suites: int,
) -> tuple[list[str], list[list[MethodInputType]], list[list[MethodOutputType]], list[MethodTestSuite]]:
    """Random method names, inputs and expected outputs, and test suites built from them."""
    names = get_rand_method_names(n_method_test_suites)
    inputs = get_rand_input_values(
        n_model_inputs, model_input_sizes, 1, dtype, n_sets_per_plan_test, n_method_test_suites
    )
    outputs = get_rand_output_values(
        n_model_outputs, model_output_sizes, dtype, n_sets_per_plan_test, n_method_test_suites
    )
    suites = [
        MethodTestSuite(name, [MethodTestCase(*case) for case in zip(given, expected, strict=True)])
        for name, given, expected in zip(names, inputs, outputs, strict=True)
    ]
    return names, inputs, outputs, suites


def get_random_test_suites_with_eager_model(
    eager_model: torch.nn.Module,
    method_names: list[str],
    n_model_inputs: int,
    model_input_sizes: list[list[int]],
    dtype: torch.dtype,
    n_sets_per_plan_test: int,
) -> tuple[list[list[MethodInputType]], list[MethodTestSuite]]:
    """Random inputs of the methods of an eager model, and test suites that expect the model's outputs."""
    inputs = get_rand_input_values(n_model_inputs, model_input_sizes, 1, dtype, n_sets_per_plan_test, len(method_names))
    suites = [
        MethodTestSuite(name, [MethodTestCase(case, getattr(eager_model, name)(*case)) for case in given])
        for name, given in zip(method_names, inputs, strict=True)
    ]
    return inputs, suites


def get_common_executorch_program() -> tuple[ExecutorchProgramManager, list[MethodTestSuite]]:
    """The program of `SampleModel`, and ten test cases for each of its methods."""
    model = SampleModel()
    inputs = (*_random_tensors([[2, 2], [2, 2]], torch.int32), DEFAULT_INT_INPUT)
    methods = {
        name: torch.export.export(StatefulWrapperModule(model, getattr(model, name)), inputs)
        for name in model.method_names
    }
    _, suites = get_random_test_suites_with_eager_model(
        model, model.method_names, 2, [[2, 2], [2, 2]], torch.int32, n_sets_per_plan_test=10
    )
    return to_edge(methods).to_executorch(), suites
