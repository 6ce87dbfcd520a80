# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of torchao's `quantize_` operators (`torchao::…_affine`) to operators of backends and kernels.

Weights and scales are bit-identical. Zero points chosen at run time are those of XNNPACK (the candidate with the
smaller error), which can differ from torchao's by one. `quantize_per_token` adds them before it rounds and torchao
afterwards, so that a value halfway between two integers can become the other one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import torch
from torch._ops import OpOverload

from executorch.exir.decompose.operators.package_operators import rules_of_package
from executorch.exir.error import ExportError

_NAMESPACE = "torchao"
_UNKNOWN = "expected blocks that are the whole tensor, rows, or groups of a matrix's rows"


def affine_decompositions() -> dict[OpOverload, Callable[..., object]]:
    """Return decompositions by operator; none without torchao, because then no graph contains such operators."""
    if _NAMESPACE not in sys.modules:
        return {}
    import executorch.exir.operator.quantized  # noqa: F401  # defines quantized_decomposed

    rules: dict[str, Callable[..., object]] = {
        "choose_qparams_affine": _choose,
        "quantize_affine": _quantize,
        "dequantize_affine": _dequantize,
    }
    return {**rules_of_package(_NAMESPACE, rules), torch.ops.aten._int_mm.default: _product}


def _fault(input: torch.Tensor, block_size: Sequence[int], why: str = _UNKNOWN) -> ExportError:
    return ExportError("torchao's operators", None, f"blocks {list(block_size)} of {list(input.shape)}: {why}")


def _are_rows(input: torch.Tensor, block_size: Sequence[int]) -> bool:
    return list(block_size) == [1] * (input.dim() - 1) + [input.shape[-1]]


def _limits(dtype: torch.dtype, quant_min: float | None, quant_max: float | None) -> tuple[int, int]:
    limits = torch.iinfo(dtype)
    return (limits.min if quant_min is None else int(quant_min)), (limits.max if quant_max is None else int(quant_max))


def _choose(
    input: torch.Tensor,
    mapping_type: str,
    block_size: Sequence[int],
    target_dtype: torch.dtype,
    quant_min: float | None = None,
    quant_max: float | None = None,
    eps: float | None = None,
    *options: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    fits = _are_rows(input, block_size) and target_dtype is torch.int8
    if fits and mapping_type == "SYMMETRIC" and _limits(target_dtype, quant_min, quant_max) == (-128, 127):
        return _symmetric_rows(input, eps)
    if not fits or mapping_type != "ASYMMETRIC" or _limits(target_dtype, quant_min, quant_max) != (-128, 127):
        why = (
            f"expected int8 rows from -128 to 127, found {mapping_type} {target_dtype} from {quant_min} to {quant_max}"
        )
        raise _fault(input, block_size, why)
    chosen: tuple[torch.Tensor, torch.Tensor] = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(
        input, torch.int8
    )
    return chosen


def _symmetric_rows(input: torch.Tensor, eps: float | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float32 scales and zero points of 0, as torchao computes them."""
    scale = input.float().abs().amax(-1, keepdim=True) / 127.5
    scale = scale.clamp(min=torch.finfo(torch.float32).eps if eps is None else eps)
    return scale, torch.zeros_like(scale, dtype=torch.int8)


def _product(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Multiply int8 matrices in int32."""
    return torch.mm(one.to(torch.int32), other.to(torch.int32))


def _quantize(
    input: torch.Tensor,
    block_size: Sequence[int],
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    output_dtype: torch.dtype,
    quant_min: float | None = None,
    quant_max: float | None = None,
) -> torch.Tensor:
    ops, limits = torch.ops.quantized_decomposed, _limits(output_dtype, quant_min, quant_max)
    quantized: torch.Tensor
    if _are_rows(input, block_size) and scale.dtype is torch.float32:  # symmetric; asymmetric scales are float64
        quantized = (input * (1.0 / scale)).round().clamp(*limits).to(output_dtype)
    elif _are_rows(input, block_size):
        quantized = ops.quantize_per_token(input, scale, zero_point, *limits, output_dtype)
    elif input.dim() == 2 and block_size[0] == 1:
        quantized = ops.quantize_per_channel_group(input, scale, zero_point, *limits, output_dtype, block_size[1])
    elif list(block_size) == list(input.shape):
        quantized = ops.quantize_per_tensor.tensor(input, scale, zero_point, *limits, output_dtype)
    else:
        raise _fault(input, block_size)
    return quantized


def _dequantize(
    input: torch.Tensor,
    block_size: Sequence[int],
    scale: torch.Tensor,
    zero_point: torch.Tensor | None,
    input_dtype: torch.dtype,
    quant_min: float | None = None,
    quant_max: float | None = None,
    output_dtype: torch.dtype = torch.float32,
) -> torch.Tensor:
    ops, limits = torch.ops.quantized_decomposed, _limits(input_dtype, quant_min, quant_max)
    dequantized: torch.Tensor
    # Scales chosen at run time are float64; weights are float32.
    if _are_rows(input, block_size) and scale.dtype is torch.float64:
        dequantized = ops.dequantize_per_token(input, scale, zero_point, *limits, input_dtype, output_dtype)
    elif input.dim() == 2 and block_size[0] == 1:
        given = (scale, zero_point, *limits, input_dtype, block_size[1], output_dtype)
        dequantized = ops.dequantize_per_channel_group(input, *given)
    elif list(block_size) == list(input.shape) and zero_point is not None:
        dequantized = ops.dequantize_per_tensor.tensor(
            input, scale, zero_point, *limits, input_dtype, out_dtype=output_dtype
        )
    else:
        raise _fault(input, block_size)
    return dequantized
