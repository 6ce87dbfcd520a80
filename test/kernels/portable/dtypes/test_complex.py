# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Complex tensors: every kernel matches eager on torch's samples, or is listed here."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses, assert_matches
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.kernel_entry import call_kernel
from oracle.kernels.kernel_records import functional_of
from oracle.kernels.opinfo_samples import OPERATORS

DTYPES = (torch.complex64, torch.complex128, torch.complex32)
REAL_ONLY = ("aten::im2col", "aten::logcumsumexp", "aten::randn", "aten::index_put")
"""Kernels that refuse complex numbers, which eager takes; index_put where it accumulates."""
LAZY = ("svd_lowrank", "pca_lowrank")
"""Functions whose eager results are lazily conjugated views; programs hold no such views."""


def _samples(op: Any, dtype: torch.dtype) -> list[Any]:
    torch.manual_seed(0)
    return list(itertools.islice(op.sample_inputs_func(op, "cpu", dtype, False), 8))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_kernels_match_eager_on_complex_samples(dtype: torch.dtype) -> None:
    faults: list[str] = []
    tested: set[str] = set()
    for op in (op for op in OPERATORS if dtype in op.dtypes and op.name not in LAZY):
        for sample in _samples(op, dtype):
            with torch.no_grad(), KernelsAgainstEager(decompose=True) as checked:
                op(sample.input, *sample.args, **sample.kwargs)
            faults += [fault for fault in checked.faults if not fault.startswith(REAL_ONLY)]
            tested |= checked.tested
    assert not faults, "\n".join(faults)
    assert {"aten::add.out", "aten::cat.out"} <= tested


Z, W = torch.randn(3, 4, dtype=torch.complex64), torch.randn(4, 2, dtype=torch.complex64)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add.out", (Z, Z[0]), {"alpha": 2.5}),
    ("add.Scalar_out", (Z, 3), {}),
    ("rsub.Scalar_out", (Z, 2, 3), {}),
    ("mul.out", (Z, torch.randn(4)), {}),
    ("div.out", (Z, Z[0]), {}),
    ("eq.Tensor_out", (Z, Z), {}),
    ("where.self_out", (torch.rand(3, 4) > 0.5, Z, Z[0]), {}),
    ("abs.out", (Z,), {}),
    ("angle.out", (Z,), {}),
    ("sum.IntList_out", (Z, [0]), {}),
    ("mean.out", (Z, [1], True), {}),
    ("prod.int_out", (Z, 1), {}),
    ("var.correction_out", (Z, [1]), {}),
    ("any.all_out", (Z,), {}),
    ("cumsum.out", (Z, 0), {}),
    ("cumprod.out", (Z, 1), {}),
    ("mm.out", (Z, W), {}),
    ("mm.out", (Z[:, :0], W[:0]), {}),
    ("addmm.out", (W[0], Z, W), {"beta": 2, "alpha": 0.5}),
    ("bmm.out", (Z[None], W[None]), {}),
    ("mv.out", (Z, W[:, 0]), {}),
    ("dot.out", (Z[0], W[:, 0]), {}),
    ("linear.out", (torch.randn(2, 3, 4, dtype=torch.complex64), W.t(), W[0]), {}),
    ("scatter_add.out", (Z, 0, torch.zeros(1, 4, dtype=torch.int64), Z), {}),
    ("nonzero.out", (Z,), {}),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_kernel_computes_complex_numbers(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    name, args, options = call
    checked = KernelsAgainstEager()
    checked.call(f"aten::{name}", functional_of(f"aten::{name}"), args, options)
    assert checked.tested and not checked.faults, checked.faults


@pytest.mark.filterwarnings("ignore")
def test_complex32_is_copied_and_added() -> None:
    half = Z.to(torch.complex32)
    checked = KernelsAgainstEager()
    for name, args in (("clone.out", (half,)), ("add.out", (half, half)), ("cat.out", ([half, half],))):
        checked.call(f"aten::{name}", functional_of(f"aten::{name}"), args, {})
    assert checked.tested and not checked.faults, checked.faults


def test_quotients_by_zero_infinity_and_nan_match_eager() -> None:
    parts = (0.0, -0.0, 1.5, -2.0, float("inf"), float("-inf"), float("nan"))
    numbers = torch.tensor([complex(*pair) for pair in itertools.product(parts, repeat=2)], dtype=torch.complex128)
    for name, args in (("div.out", (numbers[:, None].contiguous(), numbers)), ("reciprocal.out", (numbers,))):
        wanted = functional_of(f"aten::{name}")(*args)
        found = call_kernel(f"aten::{name}", *args, out=[torch.zeros_like(wanted)]).outputs[0]
        assert_matches(torch.view_as_real(found), torch.view_as_real(wanted), name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "x"), [("mul.out", torch.tensor([6e4, 0.1]).half()), ("abs.out", None)])
def test_results_are_rounded_to_their_own_dtype_before_a_wider_out(name: str, x: torch.Tensor | None) -> None:
    y = torch.tensor([3 + 2j, 0.1 + 0.3j]).to(torch.complex32)
    args = (y,) if x is None else (x, y)
    out = torch.zeros(2, dtype=torch.float64 if x is None else torch.complex64)
    wanted = out.clone()
    functional = getattr(torch, name.removesuffix(".out"))
    functional(*args, out=wanted)
    call = call_kernel(f"aten::{name}", *args, out=[out])
    assert call.error == 0, call.message
    assert_matches(call.outputs[0], wanted, name)


def test_an_order_of_complex_numbers_is_refused() -> None:
    assert "complex64" in assert_kernel_refuses("aten::lt.Tensor_out", Z, Z, out=torch.empty(3, 4, dtype=torch.bool))
    assert "complex64" in assert_kernel_refuses("aten::maximum.out", Z, Z, out=Z.clone())
    assert "complex64" in assert_kernel_refuses("aten::add.out", Z, Z, out=torch.empty(3, 4))
