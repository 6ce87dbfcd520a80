# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fourier transforms of all kinds of lengths, and operators on complex tensors, match eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.kernels.dense_memory import dense
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import FFT

aten = torch.ops.aten
# Powers, products of small primes, primes and their multiples (Bluestein's transform), of even and odd length.
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 22, 30, 49, 64, 97, 101, 128, 210, 256, 343, 400, 1009, 2048, 5000)
PARTS = {torch.float32: torch.complex64, torch.float64: torch.complex128}
COMPLEX = tuple(PARTS.values())


def _assert_close(name: str, args: tuple[Any, ...], expected: torch.Tensor) -> None:
    out = torch.full(expected.shape, 77, dtype=expected.dtype)
    call = call_kernel(name, *(dense(a) if isinstance(a, torch.Tensor) else a for a in args), out=out)
    assert call.error == 0, call.message
    spread = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    tolerance = FFT.get(expected.dtype, 0) * spread
    torch.testing.assert_close(call.outputs[0], expected, rtol=0, atol=tolerance, check_stride=False)


@pytest.mark.parametrize("n", LENGTHS)
def test_lines_of_every_length_are_transformed_as_eager_does(n: int) -> None:
    torch.manual_seed(n)
    for (real, paired), lines in zip([*PARTS.items()] * 3, (1, 2, 7, 8, 9, 19), strict=True):
        x, z = torch.randn(lines, n, dtype=real), torch.randn(lines, n, dtype=paired)
        half = torch.randn(lines, n // 2 + 1, dtype=paired)
        for onesided in (True, False):
            _assert_close("aten::_fft_r2c.out", (x, [1], 0, onesided), aten._fft_r2c(x, [1], 0, onesided))
        for flag in (True, False):
            _assert_close("aten::_fft_c2c.out", (z, [1], 1, flag), aten._fft_c2c(z, [1], 1, flag))
        _assert_close("aten::_fft_c2r.out", (half, [1], 2, n), aten._fft_c2r(half, [1], 2, n))


@pytest.mark.parametrize("dims", [[0], [1, 3], [3, 0, 2], [0, 1, 2, 3], []], ids=str)
@pytest.mark.parametrize("normalization", [0, 1, 2])
def test_several_dimensions_are_transformed_as_eager_does(dims: list[int], normalization: int) -> None:
    torch.manual_seed(0)
    z = torch.randn(3, 4, 5, 6, dtype=torch.complex64)
    _assert_close("aten::_fft_c2c.out", (z, dims, normalization, True), aten._fft_c2c(z, dims, normalization, True))
    if not dims:
        return
    x = z.real.contiguous()
    for onesided in (True, False):
        spectrum = aten._fft_r2c(x, dims, normalization, onesided)
        _assert_close("aten::_fft_r2c.out", (x, dims, normalization, onesided), spectrum)
    spectrum, size = aten._fft_r2c(x, dims, normalization, True).contiguous(), x.shape[dims[-1]]
    expected = aten._fft_c2r(spectrum, dims, normalization, size)
    _assert_close("aten::_fft_c2r.out", (spectrum, dims, normalization, size), expected)


def test_memory_of_any_dim_order_is_transformed() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    _assert_close("aten::_fft_r2c.out", (x, [2], 0, True), aten._fft_r2c(x, [2], 0, True))


@pytest.mark.parametrize(
    ("name", "args", "out"),
    [
        ("aten::_fft_r2c.out", (torch.ones(4, dtype=torch.float16), [0], 0, True), torch.ones(3, dtype=torch.cfloat)),
        ("aten::_fft_r2c.out", (torch.ones(4), [1], 0, True), torch.ones(3, dtype=torch.cfloat)),
        ("aten::_fft_r2c.out", (torch.ones(4), [0, 0], 0, True), torch.ones(3, dtype=torch.cfloat)),
        ("aten::_fft_r2c.out", (torch.ones(4), [], 0, True), torch.ones(4, dtype=torch.cfloat)),
        ("aten::_fft_r2c.out", (torch.ones(4), [0], 3, True), torch.ones(3, dtype=torch.cfloat)),
        ("aten::_fft_r2c.out", (torch.ones(0), [0], 0, True), torch.ones(1, dtype=torch.cfloat)),
        ("aten::_fft_c2r.out", (torch.ones(3, dtype=torch.cfloat), [0], 0, 9), torch.ones(9)),
        ("aten::_fft_c2r.out", (torch.ones(3, dtype=torch.cfloat), [0], 0, -1), torch.ones(9)),
        ("aten::_fft_c2r.out", (torch.ones((), dtype=torch.cfloat), [0], 0, 1), torch.ones(())),
        ("aten::_fft_c2c.out", (torch.ones(4), [0], 0, True), torch.ones(4)),
        ("aten::view_as_complex_copy.out", (torch.ones(4, 3),), torch.ones(4, dtype=torch.cfloat)),
        ("aten::view_as_real_copy.out", (torch.ones(4),), torch.ones(4, 2)),
        ("aten::complex.out", (torch.ones(4), torch.ones(3)), torch.ones(4, dtype=torch.cfloat)),
    ],
)
def test_arguments_without_a_transform_are_refused(name: str, args: tuple[Any, ...], out: torch.Tensor) -> None:
    assert call_kernel(name, *args, out=out).error != 0


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_numbers_are_made_taken_apart_and_moved(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    z = torch.randn(3, 4, 5, dtype=dtype)
    real, imaginary = z.real.contiguous(), z.imag.contiguous()
    _assert_close("aten::view_as_real_copy.out", (z,), torch.view_as_real(z))
    _assert_close("aten::view_as_complex_copy.out", (torch.view_as_real(z).clone(),), z)
    _assert_close("aten::complex.out", (real, imaginary[:, :1]), torch.complex(real, imaginary[:, :1].expand_as(real)))
    _assert_close("aten::_conj_physical.out", (z,), torch.conj_physical(z))
    _assert_close("aten::permute_copy.out", (z, [2, 0, 1]), z.permute(2, 0, 1).contiguous())
    _assert_close("aten::slice_copy.Tensor_out", (z, 1, 0, 4, 2), z[:, 0:4:2].contiguous())
    _assert_close("aten::cat.out", ([z, z], 1), torch.cat([z, z], 1))
    _assert_close("aten::gather.out", (z, 0, torch.tensor([[[2, 0]]])), z.gather(0, torch.tensor([[[2, 0]]])))
    _assert_close("aten::full.out", ([2, 3], 1.5), torch.full((2, 3), 1.5, dtype=dtype))


@pytest.mark.parametrize("to", [*COMPLEX, torch.float32, torch.int32], ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_complex_numbers_are_converted_as_eager_does(to: torch.dtype) -> None:
    for dtype in (*COMPLEX, torch.float64, torch.int16):
        x = (torch.randn(5, dtype=torch.complex128) * 9).to(dtype)
        _assert_close("aten::_to_copy.out", (x,), x.to(to))
