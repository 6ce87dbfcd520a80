# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Legal operators of Core ATen and Edge: those that PyTorch tags as core, and the list `LEGAL_BESIDES_CORE`."""

from __future__ import annotations

from functools import cache

import torch
from torch._ops import OpOverload

from executorch.exir.operator.convert import is_functional

# Legal operators without the core tag: PyTorch does not decompose them to core operators, or only to slower ones.
LEGAL_BESIDES_CORE = frozenset(
    {
        "aten::_adaptive_avg_pool3d_backward",
        "aten::_conj_physical",
        "aten::_fft_c2c",
        "aten::_linalg_det",
        "aten::_linalg_eigh",
        "aten::_linalg_slogdet",
        "aten::_linalg_solve_ex",
        "aten::_linalg_svd",
        "aten::_unique2",
        "aten::_upsample_bicubic2d_aa",
        "aten::_upsample_bilinear2d_aa",
        "aten::adaptive_max_pool2d",
        "aten::adaptive_max_pool2d_backward",
        "aten::adaptive_max_pool3d",
        "aten::adaptive_max_pool3d_backward",
        "aten::addmv",
        "aten::angle",
        "aten::as_strided_scatter",
        "aten::avg_pool3d_backward",
        "aten::bernoulli",
        "aten::bincount",
        "aten::bitwise_left_shift.Tensor",
        "aten::bitwise_left_shift.Tensor_Scalar",
        "aten::bitwise_right_shift.Tensor",
        "aten::bitwise_right_shift.Tensor_Scalar",
        "aten::bucketize.Scalar",
        "aten::bucketize.Tensor",
        "aten::complex",
        "aten::copysign.Tensor",
        "aten::cummax",
        "aten::cummin",
        "aten::cumprod",
        "aten::diagonal_scatter",
        "aten::digamma",
        "aten::erfc",
        "aten::erfinv",
        "aten::exp2",
        "aten::floor_divide",
        "aten::fmax",
        "aten::fmin",
        "aten::gcd",
        "aten::geqrf",
        "aten::glu",
        "aten::grid_sampler_3d",
        "aten::histc",
        "aten::hypot",
        "aten::i0",
        "aten::igamma",
        "aten::igammac",
        "aten::kthvalue",
        "aten::lcm",
        "aten::lgamma",
        "aten::linalg_cholesky_ex",
        "aten::linalg_eig",
        "aten::linalg_householder_product",
        "aten::linalg_inv_ex",
        "aten::linalg_lu",
        "aten::linalg_lu_factor_ex",
        "aten::linalg_lu_solve",
        "aten::linalg_matrix_exp",
        "aten::linalg_qr",
        "aten::linalg_solve_triangular",
        "aten::logcumsumexp",
        "aten::logit",
        "aten::lu_unpack",
        "aten::masked_select",
        "aten::max",
        "aten::max_pool3d_with_indices_backward",
        "aten::median",
        "aten::median.dim",
        "aten::min",
        "aten::mode",
        "aten::multinomial",
        "aten::nanmedian",
        "aten::nanmedian.dim",
        "aten::narrow",
        "aten::nextafter",
        "aten::nonzero_static",
        "aten::ormqr",
        "aten::pixel_unshuffle",
        "aten::polygamma",
        "aten::rand_like",
        "aten::randint",
        "aten::randint.low",
        "aten::randint_like",
        "aten::randint_like.low_dtype",
        "aten::randn_like",
        "aten::remainder.Scalar_Tensor",
        "aten::repeat_interleave.Tensor",
        "aten::roll",
        "aten::round.decimals",
        "aten::scatter.reduce",
        "aten::scatter.value_reduce",
        "aten::searchsorted.Scalar",
        "aten::searchsorted.Tensor",
        "aten::signbit",
        "aten::sort.stable",
        "aten::special_airy_ai",
        "aten::special_bessel_j0",
        "aten::special_bessel_j1",
        "aten::special_bessel_y0",
        "aten::special_bessel_y1",
        "aten::special_erfcx",
        "aten::special_i0e",
        "aten::special_i1",
        "aten::special_i1e",
        "aten::special_modified_bessel_i0",
        "aten::special_modified_bessel_i1",
        "aten::special_modified_bessel_k0",
        "aten::special_modified_bessel_k1",
        "aten::special_ndtri",
        "aten::special_scaled_modified_bessel_k0",
        "aten::special_scaled_modified_bessel_k1",
        "aten::special_zeta",
        "aten::split.Tensor",
        "aten::stack",
        "aten::t",
        "aten::transpose.int",
        "aten::tril",
        "aten::triu",
        "aten::unbind.int",
        "aten::unfold",
        "aten::unique_consecutive",
        "aten::unique_dim",
        "aten::upsample_bicubic2d",
        "aten::upsample_bilinear2d",
        "aten::upsample_trilinear3d",
        "aten::var_mean.correction",
        "aten::view.dtype",
        "aten::view_as_complex",
        "aten::view_as_real",
    }
)


def _without_copy(name: str) -> str:
    base, _, overload = name.partition(".")
    return base.removesuffix("_copy") + (f".{overload}" if overload else "")


@cache
def is_core_aten(op: OpOverload) -> bool:
    """Return whether `op`, or the view that it copies, has the core tag."""
    if torch.Tag.core in op.tags:
        return True
    view = _without_copy(op.name())
    if view == op.name():
        return False
    packet = getattr(torch.ops.aten, view.split("::")[1].split(".")[0], None)
    base = getattr(packet, op._overloadname, None) if packet is not None else None
    return isinstance(base, OpOverload) and torch.Tag.core in base.tags


@cache
def is_legal_in_edge(op: OpOverload) -> bool:
    """Return whether `op` is legal in Edge: Core ATen, the list above, or a functional custom operator."""
    if op.namespace in ("aten", "prims"):
        return is_core_aten(op) or op.name() in LEGAL_BESIDES_CORE or _without_copy(op.name()) in LEGAL_BESIDES_CORE
    return is_functional(op)
