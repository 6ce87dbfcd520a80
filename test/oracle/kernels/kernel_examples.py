# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Example calls of operators that OpInfo's samples never call, or never with all of their tensor arguments."""

from __future__ import annotations

import torch
from oracle.kernels.tables.kernel_dtypes import Example

from executorch.exir.dialects import grouped_ops, recurrent_ops  # noqa: F401  # grouped_ops defines grouped::…

aten, dim_order_ops = torch.ops.aten, torch.ops.dim_order_ops
IMAGE, LINE, VOLUME, CHANNELS = torch.ones(1, 4, 4, 4), torch.ones(1, 4, 6), torch.ones(1, 4, 4, 4, 4), torch.ones(4)
POOLED_IMAGE, POOLED_VOLUME = torch.ones(1, 4, 2, 2), torch.ones(1, 4, 2, 2, 2)
COMPLEX = torch.ones(3, 4, dtype=torch.complex64)
MATRIX, MASK, INDEX = torch.ones(3, 4), torch.ones(3, 4, dtype=torch.bool), torch.zeros(2, dtype=torch.int64)
INTEGERS = torch.ones(3, 4, dtype=torch.int64)
STEPS, STATE = torch.ones(2, 1, 3), torch.ones(1, 1, 4)
EXAMPLES = [
    Example(aten._conj_physical.default, (MATRIX,)),
    Example(aten._native_batch_norm_legit.default, (IMAGE, *[CHANNELS] * 4, True, 0.1, 1e-5)),
    Example(aten._native_batch_norm_legit.no_stats, (IMAGE, CHANNELS, CHANNELS, True, 0.1, 1e-5)),
    Example(aten._native_batch_norm_legit_no_training.default, (IMAGE, *[CHANNELS] * 4, 0.1, 1e-5)),
    Example(aten._upsample_nearest_exact2d.default, (IMAGE, [6, 6])),
    Example(aten._upsample_nearest_exact3d.default, (VOLUME, [6, 6, 6])),
    Example(aten.adaptive_avg_pool1d.default, (LINE, [2])),
    Example(aten.avg_pool1d.default, (LINE, [2])),
    Example(aten.bincount.default, (INDEX,)),
    Example(aten.bincount.default, (INDEX, torch.ones(2))),
    Example(aten.clamp.Tensor, (MATRIX, MATRIX, MATRIX)),
    Example(aten.clamp_max.default, (MATRIX, 1)),
    Example(aten.col2im.default, (torch.ones(1, 4, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])),
    Example(
        aten.convolution.default,
        (IMAGE, torch.ones(2, 4, 3, 3), torch.ones(2), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ),
    Example(aten.copy.default, (MATRIX, MATRIX)),
    Example(aten.copy_.default, (MATRIX, MATRIX)),
    Example(aten.fill.Tensor, (MATRIX, torch.tensor(1.0))),
    Example(aten.index.Tensor, (MATRIX, [INDEX])),
    Example(aten.index.Tensor, (MATRIX, [MASK])),
    Example(aten.index_put.default, (MATRIX, [INDEX], torch.ones(2, 4))),
    Example(aten.index_put.default, (MATRIX, [MASK], torch.ones(12))),
    Example(aten.index_put_.default, (MATRIX, [MASK], torch.ones(12))),
    Example(aten.index_put_.default, (MATRIX, [INDEX], torch.ones(2, 4))),
    Example(aten.im2col.default, (IMAGE, [2, 2], [1, 1], [0, 0], [1, 1])),
    Example(aten.linear.default, (MATRIX, torch.ones(2, 4), torch.ones(2))),
    Example(aten.pow.Scalar, (2, MATRIX)),
    Example(aten.reflection_pad2d.default, (IMAGE, [1, 1, 1, 1])),
    Example(aten.reflection_pad3d.default, (VOLUME, [1] * 6)),
    Example(aten.remainder.Scalar_Tensor, (7, MATRIX)),
    Example(aten.replication_pad3d.default, (VOLUME, [1] * 6)),
    Example(aten.flip.default, (MATRIX, [0])),
    Example(aten.index_select.default, (MATRIX, 0, INDEX)),
    Example(aten.scatter.value, (MATRIX, 1, torch.zeros(3, 1, dtype=torch.int64), 1)),
    Example(aten.slice_scatter.default, (MATRIX, torch.ones(1, 4), 0, 0, 1)),
    Example(aten.std.dim, (MATRIX, [0])),
    Example(aten.upsample_bilinear2d.vec, (IMAGE, [6, 6], False, None)),
    Example(aten.upsample_nearest2d.vec, (IMAGE, [6, 6], None)),
    Example(aten.upsample_nearest3d.default, (VOLUME, [6, 6, 6])),
    Example(aten.var.dim, (MATRIX, [0])),
    *(
        Example(
            getattr(torch.ops.recurrent, name).default,
            (
                STEPS,
                [STATE] * 2 if name == "lstm" else STATE,
                [torch.ones(4 * gates, 3), torch.ones(4 * gates, 4)],
                *(False, 1, False, False),
            ),
        )
        for name, gates in zip(recurrent_ops.LAYERS, (4, 3, 1, 1), strict=True)
    ),
    Example(torch.ops.grouped.grouped_mm.default, (MATRIX, torch.ones(2, 4, 5), torch.tensor([1, 3]), False)),
    Example(dim_order_ops._clone_dim_order.default, (IMAGE,)),
    Example(dim_order_ops._empty_dim_order.default, ([2, 2],)),
    Example(dim_order_ops._to_dim_order_copy.default, (IMAGE,)),
    *(Example(getattr(aten, f"bitwise_{name}").Scalar, (INTEGERS, 1)) for name in ("and", "or", "xor")),
    *(Example(getattr(aten, f"bitwise_{name}_shift").Tensor_Scalar, (INTEGERS, 1)) for name in ("left", "right")),
    *(Example(getattr(aten, name).Scalar, (MATRIX, 1)) for name in ("floor_divide", "fmod", "gt")),
    Example(aten._adaptive_avg_pool2d_backward.default, (POOLED_IMAGE, IMAGE)),
    Example(aten._adaptive_avg_pool3d_backward.default, (POOLED_VOLUME, VOLUME)),
    Example(aten.adaptive_max_pool2d_backward.default, (POOLED_IMAGE, IMAGE, POOLED_IMAGE.long())),
    Example(aten.adaptive_max_pool3d_backward.default, (POOLED_VOLUME, VOLUME, POOLED_VOLUME.long())),
    Example(aten.avg_pool2d_backward.default, (POOLED_IMAGE, IMAGE, [2] * 2, [2] * 2, [0] * 2, False, True, None)),
    Example(aten.avg_pool3d_backward.default, (POOLED_VOLUME, VOLUME, [2] * 3, [2] * 3, [0] * 3, False, True, None)),
    Example(
        aten.max_pool2d_with_indices_backward.default,
        (POOLED_IMAGE, IMAGE, [2] * 2, [2] * 2, [0] * 2, [1] * 2, False, POOLED_IMAGE.long()),
    ),
    Example(
        aten.max_pool3d_with_indices_backward.default,
        (POOLED_VOLUME, VOLUME, [2] * 3, [2] * 3, [0] * 3, [1] * 3, False, POOLED_VOLUME.long()),
    ),
    Example(aten.grid_sampler_3d.default, (VOLUME, torch.zeros(1, 2, 2, 2, 3), 0, 0, False)),
    *(
        Example(getattr(aten, name).default, (IMAGE, [6, 6], False))
        for name in ("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "upsample_bicubic2d", "upsample_bilinear2d")
    ),
    Example(aten.div.Scalar_mode, (MATRIX, 2), {"rounding_mode": "trunc"}),
    # Complex numbers and transforms.
    Example(aten._fft_c2c.default, (COMPLEX, [1], 0, True)),
    Example(aten._fft_c2r.default, (COMPLEX, [1], 0, 6)),
    Example(aten._fft_r2c.default, (MATRIX, [1], 0, True)),
    Example(aten.complex.default, (MATRIX, MATRIX)),
    Example(aten.view_as_complex_copy.default, (torch.ones(3, 2),)),
    Example(aten.view_as_real_copy.default, (COMPLEX,)),
    Example(aten.view_copy.dtype, (torch.ones(2, 16), torch.float32)),
    # Random numbers, and memory that nothing is written to.
    Example(aten.bernoulli.default, (MATRIX,)),
    Example(aten.bernoulli.p, (MATRIX, 0.5)),
    Example(aten.empty_strided.default, ([2, 3], [3, 1])),
    Example(aten.multinomial.default, (MATRIX, 2, True)),
    Example(aten.native_dropout.default, (MATRIX, 0.5, True)),
    Example(aten.rand.default, ([2, 3],)),
    Example(aten.rand_like.default, (MATRIX,)),
    Example(aten.randint.default, (9, [2, 3])),
    Example(aten.randint.low, (1, 9, [2, 3])),
    Example(aten.randint_like.default, (MATRIX, 9)),
    Example(aten.randint_like.low_dtype, (MATRIX, 1, 9)),
    Example(aten.randn.default, ([2, 3],)),
    Example(aten.randn_like.default, (MATRIX,)),
    Example(aten.randperm.default, (5,)),
    # Order, and what is equal.
    Example(aten._unique2.default, (MATRIX, True, True, True)),
    *(Example(aten.bucketize.Tensor, (MATRIX, torch.ones(4)), {"out_int32": narrow}) for narrow in (False, True)),
    *(Example(aten.bucketize.Scalar, (1, torch.ones(4)), {"out_int32": narrow}) for narrow in (False, True)),
    *(Example(aten.searchsorted.Tensor, (MATRIX, MATRIX), {"out_int32": narrow}) for narrow in (False, True)),
    *(Example(aten.searchsorted.Scalar, (torch.ones(4), 1), {"out_int32": narrow}) for narrow in (False, True)),
    *(Example(getattr(aten, name).default, (MATRIX, 0)) for name in ("cummax", "cummin", "unique_dim")),
    *(Example(getattr(aten, name).default, (MATRIX,)) for name in ("median", "nanmedian", "unique_consecutive")),
    *(Example(getattr(aten, name).dim, (MATRIX, 0)) for name in ("median", "nanmedian")),
    Example(aten.kthvalue.default, (MATRIX, 2)),
    Example(aten.mode.default, (MATRIX,)),
    # Indices.
    Example(aten._embedding_bag.default, (MATRIX, INDEX, INDEX[:1])),
    Example(aten.embedding_dense_backward.default, (torch.ones(2, 4), INDEX, 3, -1, False)),
    Example(aten.scatter.reduce, (MATRIX, 1, INTEGERS, MATRIX), {"reduce": "add"}),
    Example(aten.scatter.value_reduce, (MATRIX, 1, INTEGERS, 2), {"reduce": "add"}),
]
