# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels on quantized tensors give the bits of torch's Python reference, for random and extreme numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel, registered_kernels
from oracle.tolerances import MIXED_PRODUCTS

from executorch.exir.operator.quantized import NAMESPACE, packed

INTEGERS = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
EXTREMES = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-45, 3.4e38, -3.4e38, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 127.5)
SIZES = (2, 16, 3, 5)
decomposed = torch.ops.quantized_decomposed
_checked: set[str] = set()


def check(name: str, *args: Any, **kwargs: Any) -> None:
    """Assert that the kernel `name` ("quantize_per_token.out") gives the reference's result."""
    _checked.add(f"{NAMESPACE}::{name}")
    operator, _, overload = name.partition(".")
    functional = {"out": "default"}.get(overload, overload.removesuffix("_out").lower())
    expected = getattr(getattr(decomposed, operator), functional)(*args, **kwargs)
    results = list(expected) if isinstance(expected, tuple) else [expected]
    schema = getattr(getattr(decomposed, operator), overload)._schema
    names = [entry.name for entry in schema.arguments if not entry.is_out]
    values = [*args, *(kwargs.get(key) for key in names[len(args) :])]
    call = call_kernel(f"{NAMESPACE}::{name}", *values, out=[torch.full_like(result, 7) for result in results])
    assert not call.error, call.message
    for found, wanted in zip(call.outputs, results, strict=True):
        assert found.dtype is wanted.dtype and found.shape == wanted.shape
        assert torch.equal(found.nan_to_num(nan=-77.0), wanted.nan_to_num(nan=-77.0)), _difference(found, wanted)


def _difference(found: torch.Tensor, wanted: torch.Tensor) -> str:
    places = (found != wanted).nonzero()
    shown = [(tuple(at.tolist()), found[tuple(at)].item(), wanted[tuple(at)].item()) for at in places[:5]]
    return f"{len(places)} of {found.numel()} differ: {shown}"


def numbers(dtype: torch.dtype, layout: torch.memory_format = torch.contiguous_format) -> torch.Tensor:
    made = torch.randn(SIZES, generator=torch.Generator().manual_seed(0)) * 40
    made.view(-1)[: len(EXTREMES)] = torch.tensor(EXTREMES)
    made[1, :, 0, 0] = torch.arange(16) + 0.5
    return made.to(dtype).to(memory_format=layout)


def integers(dtype: torch.dtype, sizes: tuple[int, ...] = SIZES) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    made = torch.randint(limits.min, limits.max + 1, sizes, generator=torch.Generator().manual_seed(1))
    made.view(-1)[:2] = torch.tensor([limits.min, limits.max])
    return made.to(dtype)


def limits_of(dtype: torch.dtype) -> Iterator[tuple[int, int]]:
    limits = torch.iinfo(dtype)
    yield limits.min, limits.max
    yield max(limits.min, -7), 100


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_conversions_per_tensor_match_the_reference(dtype: torch.dtype, layout: torch.memory_format) -> None:
    # In the reference, the conversion of NaN to int32 is undefined.
    given = numbers if dtype is not torch.int32 else lambda *args: numbers(*args).nan_to_num(nan=1.0)
    for floating, (quant_min, quant_max) in itertools.product(FLOATS, limits_of(dtype)):
        for scale, zero in ((0.1, 3), (1.0, 0), (1e-30, 5), (3e38, 0), (0.37, quant_max)):
            x = given(floating, layout)
            check("quantize_per_tensor.out", x, scale, zero, quant_min, quant_max, dtype)
    one, zero = torch.tensor([0.07]), torch.tensor([4])
    x, bounds = given(torch.float32, layout), (torch.tensor(0), torch.tensor(90))
    check("quantize_per_tensor.Tensor_out", x, one, zero, 0, 90, dtype)
    check("quantize_per_tensor.Tensor2_out", x, one, zero, *bounds, dtype)
    q = integers(dtype).to(memory_format=layout)
    for wanted in (None, torch.float64, *FLOATS):
        for real, whole in ((0.1, 3), (1e-30, 100), (7e4, 0), (0.45, 10946), (2**-12, 65535), (1e22, -1079885149)):
            check("dequantize_per_tensor.out", q, real, whole, 0, 1, dtype, out_dtype=wanted)
        check("dequantize_per_tensor.Tensor_out", q, one, zero, 0, 90, dtype, out_dtype=wanted)
        check("dequantize_per_tensor.Tensor2_out", q, one, zero, *bounds, dtype, out_dtype=wanted)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_conversions_per_channel_match_the_reference(dtype: torch.dtype, layout: torch.memory_format) -> None:
    x = numbers(torch.float32, layout).nan_to_num(nan=1.0)
    q = integers(dtype).to(memory_format=layout)
    for axis, wide in itertools.product(range(4), (torch.float32, torch.float64)):
        scales = torch.rand(SIZES[axis], dtype=wide, generator=torch.Generator().manual_seed(axis)) + 0.01
        for whole in (torch.int64, torch.int32, torch.float32):
            zeros = torch.arange(SIZES[axis]).to(whole)
            for quant_min, quant_max in limits_of(dtype):
                check("quantize_per_channel.out", x, scales, zeros, axis, quant_min, quant_max, dtype)
                if dtype is not torch.uint16:  # torch takes nothing off uint16
                    check("dequantize_per_channel.out", q, scales, zeros, axis, quant_min, quant_max, dtype)
        for wanted in (None, torch.float64, *FLOATS):
            check("dequantize_per_channel.out", q, scales, None, axis, 0, 9, dtype, out_dtype=wanted)
    half = numbers(torch.float16, layout).nan_to_num(nan=1.0)
    check("quantize_per_channel.out", half, torch.full((16,), 0.3), torch.zeros(16).long(), 1, 0, 100, dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("floating", [torch.float64, *FLOATS], ids=str)
def test_conversions_per_row_and_group_match_the_reference(dtype: torch.dtype, floating: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    x = (torch.randn(6, 32, generator=generator) * 9).to(floating)
    x[0, :2] = torch.tensor([math.inf, 0.5])
    q = integers(dtype, (6, 32))
    for wide, whole in itertools.product((torch.float64, torch.float32, torch.float16), (torch.int64, torch.float32)):
        scales = (torch.rand(6, 1, generator=generator) + 0.05).to(wide)
        zeros = torch.arange(6)[:, None].to(whole)
        if torch.iinfo(dtype).max < 65504:  # the largest float16
            check("quantize_per_token.out", x, scales, zeros, *next(limits_of(dtype)), dtype)
        check("quantize_per_token.out", x, scales, zeros, 0, 100, dtype)
        by_group = (torch.rand(6, 4, generator=generator) + 0.05).to(wide)
        ones = torch.ones(6, 4).to(whole)
        check("quantize_per_channel_group.out", x, by_group, ones, 0, 15, dtype, 8)
        if dtype is not torch.uint16:  # torch takes nothing off uint16
            check("dequantize_per_token.out", q, scales, zeros, 0, 9, dtype, floating)
            check("dequantize_per_channel_group.out", q, by_group, ones, 0, 15, dtype, 8, floating)
            check("dequantize_per_channel_group.out", q, by_group, None, 0, 15, dtype, 8, floating)


@pytest.mark.parametrize("floating", FLOATS, ids=str)
def test_chosen_parameters_match_the_reference(floating: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    cases = [torch.randn(3, 40, generator=generator), torch.rand(3, 40, generator=generator) + 5, -torch.ones(2, 3)]
    cases += [torch.zeros(2, 2), torch.tensor([[1e-30, 2.0]]), torch.tensor([[math.inf, 1.0]]), torch.tensor(3.0)]
    cases += [torch.tensor([[-math.inf, 1.0]]), torch.full((1, 7), 6e4), torch.randn(300, generator=generator)]
    for x in (case.to(floating) for case in cases):
        for dtype, (quant_min, quant_max) in (
            (integers, limits) for integers in INTEGERS[:4] for limits in limits_of(integers)
        ):
            check("choose_qparams.Tensor_out", x, quant_min, quant_max, 1e-7, dtype)
            check("choose_qparams_symmetric.Tensor_out", x, quant_min, quant_max, 2**-12, dtype)
        if x.dim():
            check("choose_qparams_per_token.out", x, torch.int8)
            check("choose_qparams_per_token_asymmetric.out", x, torch.int8)
    check(
        "choose_qparams_per_token_asymmetric.out", torch.tensor([[math.nan, 1.0], [2.0, 3.0]]).to(floating), torch.int8
    )


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("scaled", FLOATS, ids=str)
def test_embeddings_match_the_reference(bits: int, scaled: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(4)
    quant_min, quant_max = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    table = torch.randint(quant_min, quant_max + 1, (11, 24), generator=generator).to(torch.int8)
    name = {2: "embedding_2bit", 4: "embedding_4bit", 8: "embedding_byte"}[bits]
    for groups, has_zeros, index in itertools.product((0, 1, 3), (False, True), (torch.int64, torch.int32)):
        shape = (11, groups) if groups else (11,)
        scales = (torch.rand(shape, generator=generator) + 0.01).to(scaled)
        zeros = torch.randint(-3, 4, shape, generator=generator).to(scaled) if has_zeros else None
        indices = torch.tensor([[0, 10, 3], [3, 7, 1]], dtype=index)
        check(f"{name}.out", packed(table, bits), scales, zeros, quant_min, quant_max, indices)
        for dtype in FLOATS:
            check(f"{name}.dtype_out", packed(table, bits), scales, zeros, quant_min, quant_max, indices, dtype=dtype)


def test_a_row_outside_of_the_table_is_refused() -> None:
    table, out = torch.zeros(3, 4, dtype=torch.int8), torch.zeros(1, 4)
    call = call_kernel(
        f"{NAMESPACE}::embedding_byte.out", table, torch.ones(3), None, -128, 127, torch.tensor([3]), out=[out]
    )
    assert call.error and "index 3 is outside" in call.message


@pytest.mark.parametrize("name", ["mixed_linear", "mixed_mm"])
def test_products_with_integers_are_near(name: str) -> None:
    _checked.add(f"{NAMESPACE}::{name}.out")
    generator = torch.Generator().manual_seed(5)
    for dtype, groups, has_zeros in itertools.product(FLOATS, (0, 4), (False, True)):
        x = torch.randn(5, 32, generator=generator).to(dtype)
        weight = integers(torch.int8, (20, 32) if name == "mixed_linear" else (32, 20))
        shape = (len(weight), groups) if groups else (len(weight),)
        scales = torch.rand(shape, generator=generator)
        zeros = torch.randint(-3, 4, shape, generator=generator).float() if has_zeros else None
        extra = (None,) if name == "mixed_linear" else ()
        wanted = getattr(decomposed, name)(x, weight, scales, zeros)
        call = call_kernel(f"{NAMESPACE}::{name}.out", x, weight, scales, zeros, *extra, out=[torch.zeros_like(wanted)])
        assert not call.error, call.message
        assert torch.allclose(call.outputs[0], wanted, **MIXED_PRODUCTS[dtype])


@pytest.mark.parametrize("dtype", INTEGERS[:4], ids=str)
def test_sums_match_the_reference(dtype: torch.dtype) -> None:
    a, b = integers(dtype, (4, 1, 300)), integers(dtype, (3, 300)).flip(0)
    limits = torch.iinfo(dtype)
    bounds = limits.min, limits.max
    check("add.out", a, 0.03, 3, *bounds, b, 0.011, -2, *bounds, 0.05, 1, *bounds)
    check("add.out", a, 0.03, 3, *bounds, a, 0.03, 3, *bounds, 1e-4, 1, 0, 100)


BAD: dict[str, tuple[str, tuple[Any, ...], torch.Tensor, str]] = {
    "a scale of 0": (
        "quantize_per_tensor.out",
        (torch.ones(2), 0.0, 0, -128, 127, torch.int8),
        torch.zeros(2, dtype=torch.int8),
        "scale must not be 0",
    ),
    "limits beyond the dtype": (
        "quantize_per_tensor.out",
        (torch.ones(2), 1.0, 0, -129, 127, torch.int8),
        torch.zeros(2, dtype=torch.int8),
        "must be from -128 to 127, found -129",
    ),
    "integers to quantize": (
        "quantize_per_tensor.out",
        (torch.ones(2, dtype=torch.int32), 1.0, 0, -128, 127, torch.int8),
        torch.zeros(2, dtype=torch.int8),
        "input must be of a floating dtype",
    ),
    "too few scales": (
        "quantize_per_channel.out",
        (torch.ones(2, 3), torch.ones(2), torch.zeros(2).long(), 1, -128, 127, torch.int8),
        torch.zeros(2, 3, dtype=torch.int8),
        "one element for each of 3 channels",
    ),
    "groups that do not fit": (
        "dequantize_per_channel_group.out",
        (torch.ones(2, 6).to(torch.int8), torch.ones(2, 2), None, -8, 7, torch.int8, 4, torch.float32),
        torch.zeros(2, 6),
        "cannot be divided into groups of 4",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_are_refused(name: str) -> None:
    kernel, args, out, why = BAD[name]
    call = call_kernel(f"{NAMESPACE}::{kernel}", *args, out=[out])
    assert call.error and why in call.message


def test_every_registered_kernel_is_compared_with_the_reference(request: pytest.FixtureRequest) -> None:
    if request.config.option.keyword or any("::" in argument for argument in request.config.args):
        pytest.skip("needs all tests of this file in one process")
    assert {name for name in registered_kernels() if name.startswith(f"{NAMESPACE}::")} == _checked
