# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights that a cache has, and memory that it gives for others: what is changed in XNNPACK's sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "cached weights are not packed again: backends/xnnpack/xnnpack_additions/cached_weights.h"
_ZEROED = "a cache gives memory of zeros (weights_session.cpp), where not all of it is packed into (packing.h)"
_NOT_ASKED = "XNNPACK gives depthwise convolutions no cache: their weights were packed for each method and each start"
_CONVOLUTION = "xnnpack/src/operators/convolution-nhwc.c"
_TRANSPOSED = "xnnpack/src/operators/deconvolution-nhwc.c"
_LINEAR = "xnnpack/src/operators/fully-connected-nc.c"
_MEMORY = "xnnpack/src/operator-utils.c"


def _with_cache(indent: str, flags: str, following: str) -> Change:
    """A call that creates a depthwise convolution; following: what tells it from the others of its file."""
    begin = f"{indent}node->flags | XNN_FLAG_DEPTHWISE_CONVOLUTION{flags},\n"
    nothing = f"{indent}NULL,\n"
    end = f"{indent}&opdata->operator_objects[0]);\n{following}"
    return Change(
        "xnnpack/src/subgraph/depthwise-convolution-2d.c",
        f"{begin}{2 * nothing}{end}",
        f"{begin}{indent}code_cache,\n{indent}weights_cache,\n{end}",
        _NOT_ASKED,
    )


CACHED_WEIGHTS = (
    Change(
        _MEMORY,
        "  memset(weights_ptr, padding_byte, aligned_weights_size);",
        "  if (padding_byte != EXECUTORCH_NO_PADDING && (!use_weights_cache(op) || padding_byte != 0)) {\n"
        "    memset(weights_ptr, padding_byte, aligned_weights_size);\n"
        "  }",
        _ZEROED,
    ),
    Change(
        _MEMORY,
        "    weights_ptr = op->weights_cache->reserve_space(",
        "    executorch_overwrite_next(padding_byte == EXECUTORCH_NO_PADDING);\n"
        "    weights_ptr = op->weights_cache->reserve_space(",
        _ZEROED,
    ),
    Change(
        _MEMORY,
        '#include "xnnpack.h"',
        '#include "executorch/packing.h"\n#include "xnnpack.h"',
        _ZEROED,
    ),
    Change(
        _LINEAR,
        "        fully_connected_op, aligned_total_weights_size, packed_weights_padding_byte);",
        "        fully_connected_op, aligned_total_weights_size,\n"
        "        flags & XNN_FLAG_TRANSPOSE_WEIGHTS\n"
        "            ? packed_weights_padding_byte\n"
        "            : executorch_padding_of((void*) pack_gemm_goi_w, packed_weights_padding_byte));",
        _ZEROED,
    ),
    Change(
        _LINEAR,
        '#include "xnnpack.h"',
        '#include "executorch/packing.h"\n#include "xnnpack.h"',
        _ZEROED,
    ),
    Change(
        _CONVOLUTION,
        "    weights_ptr = xnn_get_pointer_to_write_weights(convolution_op, aligned_total_weights_size,\n"
        "                                                   packed_weights_padding_byte);\n",
        "    const bool is_product = ukernel_type == xnn_microkernel_type_gemm;\n"
        "    weights_ptr = xnn_get_pointer_to_write_weights(\n"
        "        convolution_op, aligned_total_weights_size,\n"
        "        is_product ? executorch_padding_of((void*) pack_gemm_goi_w, packed_weights_padding_byte)\n"
        "                   : packed_weights_padding_byte);\n",
        _ZEROED,
    ),
    Change(
        _CONVOLUTION,
        '#include "xnnpack.h"',
        '#include "executorch/cached_weights.h"\n#include "executorch/packing.h"\n'
        '#include "executorch/windows_table.h"\n#include "executorch/zeros_of_images.h"\n#include "xnnpack.h"',
        _WHY,
    ),
    Change(
        _CONVOLUTION,
        "  void* weights_ptr = xnn_get_pointer_to_write_weights(\n"
        "      convolution_op, aligned_total_weights_size, packed_weights_padding_byte);\n"
        "  if (weights_ptr == NULL) {\n"
        '    xnn_log_error("failed to reserve or allocated %zu bytes for %s operator dwconv packed weights",',
        "  uint32_t cache_seed = primary_tile ^ dwconv_ukernel->middle_tile ^ dwconv_ukernel->last_tile ^ kernel_height"
        " ^ kernel_width ^ groups ^ dwconv_ukernel->channel_tile ^ dwconv_ukernel->channel_subtile "
        "^ dwconv_ukernel->channel_round ^ extra_weights_bytes;\n"
        "  if (flags & XNN_FLAG_DEPTHWISE_CONVOLUTION) {\n"
        "    cache_seed = ~cache_seed;\n"
        "  }\n"
        "  void* const cached = executorch_cached_weights(convolution_op, cache_seed, kernel, bias);\n"
        "  void* weights_ptr = cached != NULL ? cached : xnn_get_pointer_to_write_weights(\n"
        "      convolution_op, aligned_total_weights_size, packed_weights_padding_byte);\n"
        "  if (weights_ptr == NULL) {\n"
        '    xnn_log_error("failed to reserve or allocated %zu bytes for %s operator dwconv packed weights",',
        _WHY,
    ),
    Change(
        _CONVOLUTION,
        "  if (flags & XNN_FLAG_DEPTHWISE_CONVOLUTION) {\n    pack_dwconv_hwg_w(",
        "  if (cached != NULL) {\n"
        "    scale_params = NULL;\n"
        "  } else if (flags & XNN_FLAG_DEPTHWISE_CONVOLUTION) {\n"
        "    pack_dwconv_hwg_w(",
        _WHY,
    ),
    Change(
        _CONVOLUTION,
        "  uint32_t cache_seed = primary_tile ^ dwconv_ukernel->middle_tile ^ dwconv_ukernel->last_tile ^ kernel_height"
        " ^ kernel_width\n      ^ groups ^ dwconv_ukernel->channel_tile ^ dwconv_ukernel->channel_subtile "
        "^ dwconv_ukernel->channel_round ^ extra_weights_bytes;\n"
        "  if (flags & XNN_FLAG_DEPTHWISE_CONVOLUTION) {\n"
        "    cache_seed = ~cache_seed;\n"
        "  }\n"
        "  if (use_weights_cache(convolution_op)) {",
        "  if (use_weights_cache(convolution_op)) {",
        _WHY,
    ),
    Change(
        _TRANSPOSED,
        '#include "xnnpack.h"',
        '#include "executorch/cached_weights.h"\n#include "executorch/zeros_of_images.h"\n#include "xnnpack.h"',
        _WHY,
    ),
    Change(
        _TRANSPOSED,
        "  void* weights_ptr = xnn_get_pointer_to_write_weights(\n"
        "      deconvolution_op, aligned_total_weights_size, packed_weights_padding_byte);",
        "  const uint32_t cache_seed =\n"
        "      groups ^ group_input_channels ^ group_output_channels ^ kernel_size ^ nr ^ kr ^ sr ^ ukernel_type;\n"
        "  void* const cached = executorch_cached_weights(deconvolution_op, cache_seed, kernel, bias);\n"
        "  void* weights_ptr = cached != NULL ? cached : xnn_get_pointer_to_write_weights(\n"
        "      deconvolution_op, aligned_total_weights_size, packed_weights_padding_byte);",
        _WHY,
    ),
    Change(
        _TRANSPOSED,
        "  switch (ukernel_type) {\n    case xnn_microkernel_type_igemm:\n      pack_conv_goki_w(",
        "  if (cached != NULL) {\n"
        "    scale_params = kernel_scale_params = NULL;\n"
        "    if (ukernel_type == xnn_microkernel_type_subconv2d) {\n"
        "      executorch_place_parts(\n"
        "          deconvolution_op->subconvolution_buffer, weights_ptr, kernel_height, kernel_width,\n"
        "          stride_height, stride_width, (size_t) k_stride << log2_filter_element_size,\n"
        "          bias_element_size + extra_weights_bytes, n_stride);\n"
        "    }\n"
        "  } else switch (ukernel_type) {\n    case xnn_microkernel_type_igemm:\n      pack_conv_goki_w(",
        _WHY,
    ),
    Change(
        _TRANSPOSED,
        "    cache_key.seed = groups ^ group_input_channels ^ group_output_channels ^ kernel_size ^ nr ^ kr ^ sr "
        "^ ukernel_type;",
        "    cache_key.seed = cache_seed;",
        _WHY,
    ),
    _with_cache(14 * " ", "", "            break;\n          case xnn_datatype_fp16:"),
    _with_cache(14 * " ", " | XNN_FLAG_FP32_STATIC_WEIGHTS", ""),
    _with_cache(10 * " ", "", "        break;\n      }\n      case xnn_datatype_qcint8:"),
    _with_cache(10 * " ", "", "        break;\n      }\n      case xnn_datatype_quint8:"),
    _with_cache(10 * " ", "", "        break;\n      }\n      default:"),
)
