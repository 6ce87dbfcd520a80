# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Decompositions of operators outside Core ATen that torch.export does not decompose.

For many of them, PyTorch has decompositions that its default table to Core ATen omits. This table adds those that
lead to operators of the Edge dialect, and decompositions of this project for others that models use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch._refs.linalg
from torch._decomp import global_decomposition_table
from torch._ops import OpOverload
from torch._prims_common import type_to_dtype

from executorch.exir.decompose.element_writes import select_scatter
from executorch.exir.decompose.operators.complex_numbers import COMPLEX_DECOMPOSITIONS, nan_to_num
from executorch.exir.decompose.operators.fake_quantization import FAKE_QUANTIZATION_DECOMPOSITIONS
from executorch.exir.decompose.operators.float_parts import frexp
from executorch.exir.decompose.operators.fractional_pooling import FRACTIONAL_POOLING_DECOMPOSITIONS
from executorch.exir.decompose.operators.histograms import HISTOGRAM_DECOMPOSITIONS
from executorch.exir.decompose.operators.integer_scalars import INTEGER_SCALAR_DECOMPOSITIONS
from executorch.exir.decompose.operators.linear_algebra import LINEAR_ALGEBRA_DECOMPOSITIONS
from executorch.exir.decompose.operators.polynomials import POLYNOMIAL_DECOMPOSITIONS
from executorch.exir.decompose.operators.randomness import RANDOM_DECOMPOSITIONS
from executorch.exir.decompose.operators.training_mode import batch_norm_by_the_batch
from executorch.exir.decompose.operators.windows import WINDOW_DECOMPOSITIONS

_aten = torch.ops.aten
Scalar = int | float | bool
Decomposition = Callable[..., object]


def _addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    return self * beta + torch.bmm(batch1, batch2).sum(0) * alpha


def _index_reduce(
    self: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    shape = [-1 if d == dim % max(source.dim(), 1) else 1 for d in range(source.dim())]
    places = index.reshape(shape).expand(source.shape)
    return torch.scatter_reduce(self, dim, places, source, reduce, include_self=include_self)


def _put(self: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False) -> torch.Tensor:
    flat = torch.index_put(self.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return flat.reshape(self.shape)


def _conv_tbc(self: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pad: int = 0) -> torch.Tensor:
    """Compute a convolution of [time, batch, channels]; weight: [window, in, out]."""
    planes = torch.conv1d(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return planes.permute(2, 0, 1)


def _embedding_renorm(self: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float) -> torch.Tensor:
    """Scale down the rows at `indices` whose norm exceeds max_norm."""
    norms = torch.linalg.vector_norm(self, norm_type, dim=1, keepdim=True)
    used = torch.index_put(
        torch.zeros([self.shape[0]], dtype=torch.bool),
        [indices.reshape(-1)],
        torch.ones([], dtype=torch.bool),
    ).unsqueeze(1)
    return torch.where(torch.logical_and(used, norms > max_norm), self * (max_norm / (norms + 1e-7)), self)


def _rrelu(
    self: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return leaky relu with random slopes in training mode, else with the mean of both limits as slope."""
    if not training:
        return torch.nn.functional.leaky_relu(self, (lower + upper) / 2), torch.clone(noise)
    slopes = torch.where(self <= 0, torch.rand_like(self) * (upper - lower) + lower, 1.0)
    return self * slopes, slopes


def _empty_permuted(size: list[int], physical_layout: list[int], **kind: Any) -> torch.Tensor:
    inverse = [physical_layout.index(dim) for dim in range(len(size))]
    dense: torch.Tensor = torch.empty([size[dim] for dim in physical_layout], **kind)
    return dense.permute(inverse)


def _new_empty_strided(
    self: torch.Tensor, size: list[int], stride: list[int], *, dtype: torch.dtype | None = None, **_: object
) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype or self.dtype)


def _take(self: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    taken: torch.Tensor = _aten.index.Tensor(self.reshape(-1), [index.reshape(-1)]).reshape(index.shape)
    return taken


def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> torch.Tensor:
    for dim in expand1:
        i1 = i1.unsqueeze(dim)
    for dim in expand2:
        i2 = i2.unsqueeze(dim)
    for dim in expand3:
        i3 = i3.unsqueeze(dim)
    return (i1 * i2 * i3).sum(sumdim)


def _scalar_tensor(s: Scalar, *, dtype: torch.dtype | None = None, device: object = None) -> torch.Tensor:
    """Decompose the primitive that PyTorch's decompositions (for example of xlogy) call for a scalar."""
    return torch.scalar_tensor(s, dtype=dtype or type_to_dtype(type(s)))


def _with_tensor_for_scalar(operator: Callable[..., torch.Tensor]) -> Decomposition:
    """Return a decomposition of a Scalar overload: the scalar becomes a tensor of the promoted dtype."""

    def decomposition(self: torch.Tensor | Scalar, other: torch.Tensor | Scalar) -> torch.Tensor:
        dtype = torch.result_type(self, other)
        first, second = (
            value if isinstance(value, torch.Tensor) else torch.scalar_tensor(value, dtype=dtype)
            for value in (self, other)
        )
        return operator(first, second)

    return decomposition


# Overloads with a decomposition in PyTorch.
_DECOMPOSED_BY_PYTORCH = (
    "_addmm_activation.default",
    "alpha_dropout.default",
    "dist.default",
    "tril_indices.default",
    "triu_indices.default",
)
_OWN: dict[OpOverload, Decomposition] = {
    _aten._native_batch_norm_legit_functional.default: batch_norm_by_the_batch,
    _aten.addbmm.default: _addbmm,
    _aten.bitwise_and.Scalar_Tensor: lambda self, other: torch.bitwise_and(other, self),
    _aten.bitwise_left_shift.Scalar_Tensor: _with_tensor_for_scalar(torch.bitwise_left_shift),
    _aten.bitwise_or.Scalar_Tensor: lambda self, other: torch.bitwise_or(other, self),
    _aten.bitwise_right_shift.Scalar_Tensor: _with_tensor_for_scalar(torch.bitwise_right_shift),
    _aten.bitwise_xor.Scalar_Tensor: lambda self, other: torch.bitwise_xor(other, self),
    _aten._int_mm.default: lambda self, mat2: torch.mm(self.to(torch.int32), mat2.to(torch.int32)),
    _aten._is_all_true.default: torch.all,
    _aten._is_any_true.default: torch.any,
    _aten.conv_tbc.default: _conv_tbc,
    _aten.copysign.Scalar: _with_tensor_for_scalar(torch.copysign),
    _aten.embedding_renorm.default: _embedding_renorm,
    _aten._embedding_bag_forward_only.default: _aten._embedding_bag,
    _aten._trilinear.default: _trilinear,
    _aten.empty_permuted.default: _empty_permuted,
    _aten.frexp.Tensor: frexp,
    _aten.index_reduce.default: _index_reduce,
    _aten.ldexp.Tensor: lambda self, other: self * torch.pow(2.0, other),
    _aten.new_empty_strided.default: _new_empty_strided,
    _aten.put.default: _put,
    _aten.__lshift__.Scalar: lambda self, other: torch.bitwise_left_shift(self, other),
    _aten.__lshift__.Tensor: lambda self, other: torch.bitwise_left_shift(self, other),
    _aten.__rshift__.Scalar: lambda self, other: torch.bitwise_right_shift(self, other),
    _aten.__rshift__.Tensor: lambda self, other: torch.bitwise_right_shift(self, other),
    _aten.rrelu_with_noise_functional.default: _rrelu,
    _aten.special_zeta.other_scalar: _with_tensor_for_scalar(torch.special.zeta),
    _aten.special_zeta.self_scalar: _with_tensor_for_scalar(torch.special.zeta),
    torch.ops.prims.scalar_tensor.default: _scalar_tensor,
    _aten.linalg_vector_norm.default: torch._refs.linalg.vector_norm,
    **FAKE_QUANTIZATION_DECOMPOSITIONS,
    **FRACTIONAL_POOLING_DECOMPOSITIONS,
    **HISTOGRAM_DECOMPOSITIONS,
    **LINEAR_ALGEBRA_DECOMPOSITIONS,
    **POLYNOMIAL_DECOMPOSITIONS,
    **WINDOW_DECOMPOSITIONS,
}


def _fill(self: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Repeat the value; PyTorch's decomposition copies it to `self`, whose elements nothing reads."""
    return value.to(self.dtype).expand(self.shape).clone()


def _adaptive_max_pool(pool: Callable[..., object]) -> Decomposition:
    """Pool windows of one size where the operand's sizes are multiples of the result's."""

    def decomposition(self: torch.Tensor, output_size: list[int]) -> object:
        sizes = list(zip(self.shape[-len(output_size) :], output_size, strict=True))
        if not all(isinstance(size, int) and wanted > 0 and size % wanted == 0 for size, wanted in sizes):
            return NotImplemented
        window = [size // wanted for size, wanted in sizes]
        return pool(self, window, window)

    return decomposition


def _eye(n: int, m: int | None = None, *, dtype: torch.dtype | None = None, **_: object) -> torch.Tensor:
    """Compare positions in int64. PyTorch's decomposition counts up to 65,535 of them in uint16, which kernels lack."""
    is_diagonal = torch.arange(n).unsqueeze(-1) == torch.arange(n if m is None else m)
    return is_diagonal.to(dtype or torch.get_default_dtype())


# Replacements of PyTorch's decompositions that refuse arguments of eager (a 0-dimensional index, booleans), that
# compute more than they must, that use dtypes without kernels, or that take scalars which eager refuses.
REPLACED_DECOMPOSITIONS: dict[OpOverload, Decomposition] = {
    _aten.adaptive_max_pool2d.default: _adaptive_max_pool(_aten.max_pool2d_with_indices),
    _aten.adaptive_max_pool3d.default: _adaptive_max_pool(_aten.max_pool3d_with_indices),
    _aten.clamp_max.Tensor: torch.minimum,
    _aten.clamp_min.Tensor: torch.maximum,
    _aten.eye.default: _eye,
    _aten.eye.m: _eye,
    _aten.fill.Tensor: _fill,
    _aten.nan_to_num.default: nan_to_num,
    _aten.take.default: _take,
    _aten.select_scatter.default: select_scatter,
    **INTEGER_SCALAR_DECOMPOSITIONS,
}


@cache
def extra_decompositions() -> dict[OpOverload, Decomposition]:
    """Return decompositions by operator. None of these operators is legal in the Edge dialect."""
    known = global_decomposition_table["post_autograd"]
    overloads = (name.split(".") for name in _DECOMPOSED_BY_PYTORCH)
    chosen = [getattr(getattr(_aten, name), overload) for name, overload in overloads]
    return {**{op: known[op] for op in chosen}, **_OWN, **RANDOM_DECOMPOSITIONS, **COMPLEX_DECOMPOSITIONS}
