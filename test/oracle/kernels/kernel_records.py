# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Arguments for kernels that OpInfo's samples do not end in, and for more dtypes than OpInfo has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from oracle.kernels.aten_calls import kernel_for
from oracle.kernels.opinfo_samples import DTYPES

from executorch.exir.dialects import dim_order_ops  # noqa: F401  (defines torch.ops.dim_order_ops)

INTEGERS_AND_BOOL = DTYPES[4:]
INTEGERS = DTYPES[4:-1]
NUMBERS = DTYPES[:-1]
FLOATS = DTYPES[:4]
WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
ANY = (*DTYPES, *WIDE_UNSIGNED)


@dataclass(frozen=True)
class Record:
    """A kernel, and its arguments for a dtype."""

    kernel: str
    dtypes: Sequence[torch.dtype]
    arguments: Callable[[torch.dtype], tuple[Any, ...]]
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.kernel}-{self.dtypes[0]}"


def functional_of(kernel: str) -> Any:
    """Functional operator of a kernel: ``aten.std.dim`` for ``aten::std.out``. Raises LookupError."""
    namespace, _, name = kernel.partition("::")
    packet = getattr(getattr(torch.ops, namespace), name.partition(".")[0])
    overloads = [getattr(packet, o) for o in packet.overloads()]
    if namespace != "aten":
        return packet.default
    for overload in overloads:
        served = kernel_for(overload)
        if served and served[0] == kernel and not any(a.is_out for a in overload._schema.arguments):
            return overload
    raise LookupError(f"no operator returns what {kernel} writes")


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Small numbers of both signs, where the dtype has them; floats with a fraction."""
    values = torch.randint(-9 if dtype.is_signed else 0, 10, shape or (4, 5)).to(dtype)
    return values * 0.75 if dtype.is_floating_point else values


def _on(kernel: str, dtypes: Sequence[torch.dtype], *rest: Any, **options: Any) -> Record:
    """A record whose first argument is a 4 by 5 tensor."""
    return Record(kernel, dtypes, lambda dtype: (numbers(dtype), *rest), options)


def _of(
    kernel: str, dtypes: Sequence[torch.dtype], arguments: Callable[..., tuple[Any, ...]], **options: Any
) -> Record:
    return Record(kernel, dtypes, arguments, options)


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_NORM = (torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.1, -1.0, 3.0]), torch.zeros(3), torch.ones(3))


def _batch_norm(dtype: torch.dtype) -> list[torch.Tensor]:
    return [numbers(dtype, 2, 3, 4, 2), *(t.to(dtype) for t in _NORM)]


SCALARS = [
    _on("aten::add.Scalar_out", DTYPES, 3),
    _on("aten::add.Scalar_out", NUMBERS, 300, 2),
    _on("aten::sub.Scalar_out", NUMBERS, 3, 2),
    _on("aten::rsub.Scalar_out", NUMBERS, 3, 2),
    _on("aten::mul.Scalar_out", DTYPES, -3),
    _on("aten::mul.Scalar_out", DTYPES, 2.5),
    _on("aten::div.Scalar_out", DTYPES, 3),
    _on("aten::div.Scalar_mode_out", NUMBERS, 3, rounding_mode="floor"),
    _on("aten::div.Scalar_mode_out", NUMBERS, -3, rounding_mode="trunc"),
    _on("aten::floor_divide.Scalar_out", NUMBERS, -3),
    _on("aten::fmod.Scalar_out", NUMBERS, 3),
    _on("aten::remainder.Scalar_out", NUMBERS, -3),
    _on("aten::pow.Tensor_Scalar_out", NUMBERS, 2),
    _on("aten::pow.Tensor_Scalar_out", NUMBERS, 3),
    _of("aten::pow.Scalar_out", NUMBERS, lambda d: (7, numbers(d).abs())),
    _of("aten::remainder.Scalar_Tensor_out", NUMBERS, lambda d: (7, numbers(d).abs() + 1)),
    _on("aten::clamp.out", NUMBERS, -1, 2),
    _on("aten::clamp.out", NUMBERS, None, 1.5),
    _on("aten::clamp_min.out", NUMBERS, 1),
    _on("aten::clamp_max.out", NUMBERS, 1),
    _on("aten::bitwise_and.Scalar_out", INTEGERS_AND_BOOL, 1),
    _on("aten::bitwise_or.Scalar_out", INTEGERS_AND_BOOL, 5),
    _on("aten::bitwise_xor.Scalar_out", INTEGERS_AND_BOOL, 5),
    _on("aten::bitwise_left_shift.Tensor_Scalar_out", INTEGERS, 2),
    _on("aten::bitwise_right_shift.Tensor_Scalar_out", INTEGERS, 1),
    *(_on(f"aten::{name}.Scalar_out", DTYPES, 2) for name in _COMPARISONS),
    *(_on(f"aten::{name}.Scalar_out", NUMBERS, 0.5) for name in _COMPARISONS),
    _on("aten::fill.Tensor_out", DTYPES, torch.tensor(3)),
    _on("aten::fill.Scalar_out", DTYPES, 3),
]

COPIES = [
    _on("aten::alias_copy.out", ANY),
    _on("aten::clone.out", ANY),
    _on("aten::detach_copy.out", ANY),
    _on("aten::lift_fresh_copy.out", ANY),
    _on("aten::narrow_copy.out", ANY, 1, -2, 2),
    _on("aten::view_copy.out", ANY, [2, -1]),
    *(
        _of("aten::view_copy.dtype_out", ANY, lambda d, t=t: (numbers(d, 3, 8), t))
        for t in (torch.uint8, torch.float64)
    ),
    _on("aten::permute_copy.out", ANY, [1, 0]),
    _on("aten::transpose_copy.int_out", ANY, 0, -1),
    _on("aten::t_copy.out", ANY),
    _on("aten::expand_copy.out", ANY, [2, -1, -1]),
    _on("aten::unsqueeze_copy.out", ANY, 1),
    _on("aten::squeeze_copy.dim_out", ANY, 0),
    _on("aten::select_copy.int_out", ANY, 1, -1),
    _on("aten::slice_copy.Tensor_out", ANY, 1, 0, -1, 2),
    _on("aten::diagonal_copy.out", ANY, 1),
    _on("aten::split_copy.Tensor_out", ANY, 2, 1),
    _on("aten::split_with_sizes_copy.out", ANY, [1, 4], 1),
    _on("aten::unbind_copy.int_out", ANY, 1),
    _on("aten::as_strided_copy.out", ANY, [2, 3], [1, 2], 1),
    _on("aten::unfold_copy.out", ANY, 1, 3, 2),
    _of("aten::cat.out", ANY, lambda d: ([numbers(d), numbers(d, 1, 5)],)),
    _of("aten::stack.out", ANY, lambda d: ([numbers(d), numbers(d)], -1)),
    _of("aten::copy.out", DTYPES, lambda d: (numbers(d), numbers(torch.float32, 5))),
    _of("aten::copy_", DTYPES, lambda d: (numbers(d), numbers(torch.int32, 5))),
    _on("dim_order_ops::_to_dim_order_copy.out", ANY, dim_order=[1, 0]),
    _on("dim_order_ops::_clone_dim_order.out", ANY, dim_order=[1, 0]),
    _of("dim_order_ops::_empty_dim_order.out", [torch.float32], lambda d: ([2, 3],), dim_order=[1, 0]),
]

OTHERS = [
    _on("aten::all.dims_out", DTYPES, [0]),
    _on("aten::any.dims_out", DTYPES, [0, 1], True),
    _on("aten::var.out", FLOATS, [1], True),
    _on("aten::std.out", FLOATS, [0], False, True),
    _of("aten::avg_pool1d.out", FLOATS, lambda d: (numbers(d, 2, 3, 9), [3], [2], [1], False, False)),
    _of("aten::adaptive_avg_pool1d.out", FLOATS, lambda d: (numbers(d, 2, 3, 9), [4])),
    _of("aten::col2im.out", FLOATS, lambda d: (numbers(d, 2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])),
    _of("aten::index_put_", DTYPES, lambda d: (numbers(d), [torch.tensor([0, -1])], numbers(d, 5))),
    _of("aten::linear.out", FLOATS, lambda d: (numbers(d, 2, 3, 4), numbers(d, 5, 4), numbers(d, 5))),
    _of("aten::_native_batch_norm_legit.out", FLOATS, lambda d: (*_batch_norm(d), True, 0.25, 1e-3)),
    _of("aten::_native_batch_norm_legit.no_stats_out", FLOATS, lambda d: (*_batch_norm(d)[:3], True, 0.25, 1e-3)),
    _of("aten::_native_batch_norm_legit_no_training.out", FLOATS, lambda d: (*_batch_norm(d), 0.25, 1e-3)),
    _of("aten::upsample_bilinear2d.vec_out", FLOATS, lambda d: (numbers(d, 1, 2, 3, 4), [6, 5], False, None)),
    _of("aten::upsample_nearest2d.vec_out", FLOATS, lambda d: (numbers(d, 1, 2, 3, 4), None, [2.0, 1.5])),
]

RANDOM = [
    _on("aten::rand_like.out", FLOATS),
    _on("aten::bernoulli.float_out", FLOATS, 0.25),
    _on("aten::native_dropout.out", FLOATS, 0.5, True),
    _of("aten::randperm.out", [torch.int64], lambda d: (7,)),
]

EDGES = torch.tensor([-2.0, 0.5, 3.0])
SEARCHES = [
    _of("aten::bucketize.Scalar_out", [torch.float32], lambda d: (0.75, EDGES)),
    _of("aten::searchsorted.Scalar_out", [torch.float32], lambda d: (EDGES, 0.75)),
    _of(
        "aten::_embedding_bag.out",
        FLOATS[:2],
        lambda d: (numbers(d, 6, 4), torch.tensor([0, 5, 2, 2]), torch.tensor([0, 1, 4]), False, 0, False, None, True),
    ),
    _of("aten::_upsample_bicubic2d_aa.out", FLOATS[:2], lambda d: (numbers(d, 1, 2, 7, 8), [3, 5], False)),
]

PLACES = torch.tensor([[0, 4, 1], [2, 2, 3]])
SCATTERS = [
    _of("aten::scatter.src_out", DTYPES, lambda d: (numbers(d), 1, PLACES, numbers(d))),
    _of("aten::scatter.reduce_out", NUMBERS, lambda d: (numbers(d), 1, PLACES, numbers(d)), reduce="add"),
    _on("aten::scatter.value_out", DTYPES, 1, PLACES, 3),
    _on("aten::scatter.value_reduce_out", NUMBERS, 1, PLACES, 3, reduce="multiply"),
]
# Overloads that OpInfo has among many: not every choice of its samples meets them.
RARE = [
    _of("aten::view_as_real_copy.out", [torch.complex64, torch.complex128], lambda d: (numbers(d),)),
    _of("aten::view_as_complex_copy.out", FLOATS[:2], lambda d: (numbers(d, 3, 4, 2),)),
    *(
        _of(f"aten::{name}_pad{rank}d.out", FLOATS, lambda d, n=rank: (numbers(d, 2, *[5] * n), [1, 2] * n))
        for name in ("reflection", "replication")
        for rank in (1, 2, 3)
    ),
    _of("aten::eye.out", [torch.float32], lambda d: (4,)),
    _of("aten::eye.m_out", [torch.float32], lambda d: (4, 6)),
    _of("aten::lerp.Scalar_out", FLOATS, lambda d: (numbers(d), numbers(d), 0.25)),
    _of("aten::lerp.Tensor_out", FLOATS, lambda d: (numbers(d), numbers(d), numbers(d))),
    _of("aten::unique_dim.out", NUMBERS, lambda d: (numbers(d, 4, 1).repeat(2, 3), 0)),
    _on("aten::all.all_out", DTYPES),
    _on("aten::any.all_out", DTYPES),
    _on("aten::prod.out", NUMBERS),
    _on("aten::median.out", NUMBERS),
    _on("aten::nanmedian.out", NUMBERS),
    _of("aten::avg_pool3d.out", FLOATS[:2], lambda d: (numbers(d, 2, 3, 5, 6, 4), [2, 2, 2])),
    _of("aten::masked_fill.Scalar_out", DTYPES, lambda d: (numbers(d), numbers(torch.int8) > 0, 1)),
    _of(
        "aten::masked_fill.Tensor_out",
        DTYPES,
        lambda d: (numbers(d), numbers(torch.int8) > 0, torch.tensor(1, dtype=d)),
    ),
]
RESIZES = [
    *(
        _of(f"aten::{name}{rank}d.out", FLOATS, lambda d, n=rank: (numbers(d, 1, 2, *[5] * n), [3, 7, 4][:n]))
        for name in ("upsample_nearest", "_upsample_nearest_exact")
        for rank in (1, 2, 3)
    ),
    *(
        _of(f"aten::upsample_{name}.out", FLOATS, lambda d, n=rank: (numbers(d, 1, 2, *[5] * n), [3, 7, 4][:n], False))
        for rank, name in enumerate(("linear1d", "bilinear2d", "trilinear3d"), 1)
    ),
    _of("aten::upsample_bicubic2d.out", FLOATS, lambda d: (numbers(d, 1, 2, 7, 8), [9, 5], True)),
]

# Functions whose gradients kernels compute, and the sizes of their inputs.
GRADIENTS: dict[str, tuple[Callable[..., torch.Tensor], list[list[int]]]] = {
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 2)), [[2, 3, 7, 6]]),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (3, 2, 2)), [[2, 3, 7, 6, 4]]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), [[2, 3, 7, 6]]),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (3, 2, 2)), [[2, 3, 7, 6, 4]]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), [[2, 3, 7, 6]]),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, 2, 1), [[2, 3, 5, 6, 4]]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), [[2, 3, 7, 6]]),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, 2), [[2, 3, 5, 6, 4]]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, 2, 1), [[2, 3, 7, 6], [4, 3, 3, 3], [4]]),
    "embedding": (lambda w: F.embedding(torch.tensor([[0, 2], [2, 1]]), w), [[4, 5]]),
    "log_softmax": (lambda x: F.log_softmax(x, 1), [[3, 5]]),
    "softmax": (lambda x: F.softmax(x, 1), [[3, 5]]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, [5], w, b), [[3, 4, 5], [5], [5]]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [[2, 4, 3], [4], [4]]),
    "batch_norm": (
        lambda x, w, b: torch.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, False),
        [[3, 4, 5], [4], [4]],
    ),
}

RECORDS = [*SCALARS, *COPIES, *OTHERS, *RANDOM, *SEARCHES, *SCATTERS, *RARE, *RESIZES]
