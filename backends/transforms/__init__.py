# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes shared by several backends, one per file; those on permutes, views and quantization in a folder each.

Their documented import paths are all `executorch.backends.transforms.NAME`: the modules of the folders are registered
under them. Nothing inside the project imports these paths.
"""

import sys

from executorch.backends.transforms.addmm_mm_to_linear import apply_addmm_mm_to_linear_transform, get_shape
from executorch.backends.transforms.permutes import (
    fuse_cascaded_transpose_or_permute_ops,
    fuse_transpose_or_permute_op_pairs_pass,
    permute_pass_utils,
    postpone_permute_below_squeeze_view,
    remove_permutes_around_elementwise_ops,
    replace_nop_transpose_or_permute_with_view,
)
from executorch.backends.transforms.quantized import duplicate_dynamic_quant_chain, quantize_fused_convbn_bias_pass
from executorch.backends.transforms.views import (
    fuse_cascaded_view_ops,
    fuse_view_copy,
    view_copy_to_squeeze_unsqueeze,
)

__all__ = ["apply_addmm_mm_to_linear_transform", "get_shape"]

for _module in (
    duplicate_dynamic_quant_chain,
    fuse_cascaded_transpose_or_permute_ops,
    fuse_cascaded_view_ops,
    fuse_transpose_or_permute_op_pairs_pass,
    fuse_view_copy,
    permute_pass_utils,
    postpone_permute_below_squeeze_view,
    quantize_fused_convbn_bias_pass,
    remove_permutes_around_elementwise_ops,
    replace_nop_transpose_or_permute_with_view,
    view_copy_to_squeeze_unsqueeze,
):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
