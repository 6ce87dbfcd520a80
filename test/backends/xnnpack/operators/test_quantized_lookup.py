# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Functions between dequantize and quantize that the runtime computes by tables give eager's integers."""

from collections.abc import Callable

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from models.function_module import Function
from oracle.models.delegated import run
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER, ONE_ROUNDING, TIES, absolute, quanta
from torch.nn import functional as F

pytestmark = needs_xnnpack

ops = torch.ops.quantized_decomposed
Parameters = tuple[float, int, int, int, torch.dtype]
INT8: Parameters = (0.05, 7, -128, 127, torch.int8)
UINT8: Parameters = (0.04, 90, 0, 255, torch.uint8)
NARROW: Parameters = (0.05, 7, -100, 90, torch.int8)


def _integers(x: torch.Tensor, parameters: Parameters) -> torch.Tensor:
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *parameters), *parameters)


def _softsign(x: torch.Tensor) -> torch.Tensor:
    return x / (x.abs() + 1.0)


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "hardsigmoid": F.hardsigmoid,
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softsign": _softsign,
    "scaled sigmoid": lambda x: 3 * torch.sigmoid(x) - 1,
    "square root": lambda x: torch.sqrt(x.abs()),
    "identity": lambda x: F.dropout(x, 0.5, training=False),
}


@pytest.mark.parametrize("of", [INT8, UINT8, NARROW], ids=["int8", "uint8", "narrow"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_every_byte_are_within_a_quantum_of_eager(name: str, of: Parameters) -> None:
    made: Parameters = (0.03, of[1], *of[2:])
    function = FUNCTIONS[name]
    x = torch.arange(-160.0, 160.0) * of[0]

    def call(x: torch.Tensor) -> torch.Tensor:
        return _integers(function(_integers(x, of)), made)

    (output,) = run(Function(call), (x,))
    torch.testing.assert_close(output, call(x), **quanta(made[0]))
    assert float((output != call(x)).float().mean()) < TIES


def test_equal_parameters_keep_every_integer() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        return _integers(F.dropout(_integers(x, INT8), 0.1, training=False), INT8)

    x = torch.arange(-160.0, 160.0) * INT8[0]
    (output,) = run(Function(call), (x,))
    torch.testing.assert_close(output, call(x), **absolute(ONE_ROUNDING))


def test_slices_of_integers_are_dequantized_for_each_reader() -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        first, second = _integers(x, INT8).reshape(2, 3, 8).unbind(0)
        return torch.softmax(first, -1) + torch.exp(second[:, 1:2])

    x = torch.randn(2, 24)
    (output,) = run(Function(call), (x,))
    torch.testing.assert_close(output, call(x), **LAYER)
