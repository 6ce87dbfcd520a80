# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators outside of Core ATen end in operators that have kernels."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from models.function_module import Function
from oracle.kernels.kernel_entry import registered_kernels
from oracle.kernels.kernel_records import functional_of
from oracle.models.pipeline import assert_matches_eager

from executorch.exir.decompose.decomposition import decomposition_table
from executorch.exir.dialects.legal_ops import is_legal_in_edge

aten = torch.ops.aten
X = torch.arange(24.0).reshape(2, 3, 4) - 7
VOLUME = torch.arange(144.0).reshape(1, 2, 6, 4, 3).sin()
WINDOW = ([2] * 3, [2] * 3, [0] * 3)  # size, stride, padding
# Graphs of programs have the functional forms of the first two; the others disappear before the edge dialect.
NOT_CALLED_BY_GRAPHS = {"aten::copy_", "aten::index_put_", "aten::detach_copy.out", "aten::lift_fresh_copy.out"}

FUNCTIONS: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "a call for its effect in the body": (lambda x: F.one_hot(x, 5), torch.tensor([[0, 4], [2, 1]])),
    "a transform back": (lambda x: torch.view_as_real(torch.fft.ifft(x).resolve_conj()), X),
    "a conjugate": (lambda x: torch.view_as_real(torch.complex(x, x).conj() * torch.complex(x, -x)), X),
    "a view of a conjugate": (
        lambda x: torch.view_as_real(torch.fft.rfft(x, dim=1) * torch.fft.rfft(x[0], dim=0).conj().view(1, 2, 4)),
        X,
    ),
    "a product of int8 matrices": (lambda x: torch._int_mm(x.to(torch.int8), x.to(torch.int8).t()), X.reshape(4, 6)),
    "arithmetic with complex numbers": (lambda x: torch.view_as_real((x * 2j + (1 - 3j)) / (1 + 1j) - 1j), X),
    "powers of complex numbers": (
        lambda x: torch.view_as_real(
            torch.complex(x, x.sin()) ** (0.5 + 1j) + (x / 4).abs() ** 1j + (1 + 2j) ** (x / 8)
        ),
        X,
    ),
    "complex scalars of other calls": (
        lambda x: (
            torch.view_as_real(torch.full_like(z := torch.complex(x, x.sin()), 2 - 1j).add(z, alpha=1j)),
            torch.view_as_real(z.scatter(1, torch.tensor([[[1, 0]]]), 3j)),
            (z == -7 + 1j) | (z != 2j),
        ),
        X,
    ),
    "sums of complex numbers at one index": (
        lambda x: torch.view_as_real((z := torch.complex(x, x.sin())).index_add(1, torch.tensor([2, 2]), z[:, :2])),
        X,
    ),
    "complex numbers that are not finite": (
        lambda x: torch.view_as_real(torch.nan_to_num(torch.complex(x / x.relu(), 1 / x), nan=2.0, posinf=3.0)),
        X,
    ),
    "a complex convolution": (
        lambda x: torch.view_as_real(F.conv1d(torch.complex(x, x.sin()), torch.complex(x.cos(), x)[:, :, :2])),
        X,
    ),
    "a cubic, smooth downscaling": (lambda x: F.interpolate(x[None], size=(2, 3), mode="bicubic", antialias=True), X),
    "an identity matrix of hundreds of columns": (
        lambda x: x @ torch.eye(4, 300) + torch.eye(300).sum() + torch.eye(300, 2, dtype=torch.int64).sum(),
        X,
    ),
    "adaptive pools of windows of one size": (
        lambda x: (
            *F.adaptive_max_pool2d(x[0], (3, 1), return_indices=True),
            *F.adaptive_max_pool3d(x, (1, 2, 3), return_indices=True),
            F.adaptive_max_pool2d(x[0], (4, 4)),
        ),
        VOLUME,
    ),
    "memory by its strides": (lambda x: x.new_empty_strided((2, 3, 4), (1, 2, 6)).copy_(x) + 1, X),
    "the gradient of a pool": (
        lambda x: (
            aten.avg_pool3d_backward(F.avg_pool3d(x, 2), x, *WINDOW, False, True, None),
            aten.max_pool3d_with_indices_backward(
                F.max_pool3d(x, 2), x, *WINDOW, [1] * 3, False, F.max_pool3d(x, 2, return_indices=True)[1]
            ),
        ),
        VOLUME,
    ),
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_call_that_eager_computes_is_lowered_and_computed(what: str) -> None:
    function, x = FUNCTIONS[what]
    assert_matches_eager(Function(function), (x,))


def test_every_kernel_is_reached_by_an_operator_of_the_edge_dialect() -> None:
    kernels = {name for name in registered_kernels() if name.startswith("aten::")}
    table = decomposition_table()
    unreached = []
    for kernel in sorted(kernels - NOT_CALLED_BY_GRAPHS):
        if kernel.startswith(("aten::sym_", "aten::_local_scalar_dense")):
            continue
        op = functional_of(kernel)
        if not is_legal_in_edge(op) and op not in table:
            unreached.append(kernel)
    assert not unreached
