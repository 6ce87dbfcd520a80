# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Depthwise convolutions several points at once: what is changed in XNNPACK's sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "depthwise convolutions of several points at once: backends/xnnpack/xnnpack_additions/depthwise_rows.h says why"
_SETTINGS = "xnnpack/src/configs/dwconv-config.c"
_OPERATOR = "xnnpack/src/operators/convolution-nhwc.c"
_TAPS = "points that windows do not have are zeros: backends/xnnpack/xnnpack_additions/filled_taps.h says why"
_SOURCES = tuple(f"src/executorch/depthwise_{name}.cc" for name in ("bands", "large", "rows"))
_SIZES = ("input", "output", "kernel", "stride", "dilation")
_ROWS = "rows of windows follow from each other: backends/xnnpack/xnnpack_additions/depthwise_table.h says why"
_BANDS = "rows of points in bands: backends/xnnpack/xnnpack_additions/depthwise_bands.h says why"
_LARGE = "windows of more points than XNNPACK has kernels for: backends/xnnpack/xnnpack_additions/depthwise_large.h"
_TABLE_ARGUMENTS = "".join(
    f"        {line},\n"
    for line in (
        "/*output_y_start=*/0, /*output_y_end=*/convolution_op->output_height",
        "convolution_op->indirection_buffer",
        "convolution_op->input",
        "convolution_op->input_pixel_stride << log2_input_element_size",
        "convolution_op->zero_buffer",
        *(f"convolution_op->{of}_height, convolution_op->{of}_width" for of in _SIZES),
        "convolution_op->padding_top, convolution_op->padding_left",
    )
)


def _kernel(points: str, theirs: str, ours: str) -> Change:
    """points: of the window, and the channels that weights are packed for; then the ends of the kernels' names."""
    indent = "        " if theirs == "avx512f" else "      "
    at = f"{indent}{'  ' if points.startswith('25') else ''}"
    number = 3 if points.startswith("25") else 2
    assigned = f"f32_dwconv_config[{number}].minmax.unipass = (xnn_dwconv_unipass_ukernel_fn)"
    old = f"{at}{assigned} xnn_f32_dwconv_minmax_ukernel_{points}__{theirs};\n"
    new = f"{at}{assigned} executorch_f32_depthwise_{points}_{ours};\n"
    return Change(_SETTINGS, old, f"#if XNN_ARCH_X86_64\n{new}#else\n{old}#endif\n", _WHY)


DEPTHWISE = (
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(REFERENCE_SRCS\n",
        f"SET_PROPERTY(SOURCE {' '.join(_SOURCES)} PROPERTY COMPILE_FLAGS "
        '"-std=c++17 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi")\n'
        f"SET(REFERENCE_SRCS\n  {' '.join(_SOURCES)}\n",
        _WHY,
    ),
    Change(
        _SETTINGS,
        '#include "xnnpack/dwconv.h"',
        '#include "executorch/depthwise_rows.h"\n#include "xnnpack/dwconv.h"',
        _WHY,
    ),
    _kernel("9p16c", "avx512f", "avx512"),
    _kernel("25p16c", "avx512f", "avx512"),
    _kernel("9p16c", "fma3", "fma3"),
    _kernel("25p8c", "fma3", "fma3"),
    Change(
        _OPERATOR,
        '#include "xnnpack/operator.h"\n',
        '#include "executorch/depthwise_large_operator.h"\n#include "executorch/depthwise_table.h"\n'
        '#include "executorch/filled_taps.h"\n#include "xnnpack/operator.h"\n',
        _TAPS,
    ),
    Change(
        _OPERATOR,
        "  if (any_padding || tf_same_padding) {\n    convolution_op->zero_size",
        "  if (any_padding || tf_same_padding ||\n"
        "      executorch_fills_taps(convolution_op, operator_type, ukernel_type, kernel_size)) {\n"
        "    convolution_op->zero_size",
        _TAPS,
    ),
    Change(
        _OPERATOR,
        "  const size_t step_height = kernel_size + (output_width - 1) * step_width * kernel_height;\n"
        "  const struct xnn_ukernel_dwconv dwconv_ukernel",
        "  const bool fills_taps = executorch_fills_taps(\n"
        "      convolution_op, convolution_op->type, convolution_op->ukernel.type, kernel_size) &&\n"
        "      !(convolution_op->flags & XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER);\n"
        "  const size_t step_height = fills_taps ? output_width * convolution_op->ukernel.dwconv.tile_size :\n"
        "      kernel_size + (output_width - 1) * step_width * kernel_height;\n"
        "  const struct xnn_ukernel_dwconv dwconv_ukernel",
        _TAPS,
    ),
    Change(
        _OPERATOR,
        f"      xnn_indirection_init_dwconv2d(\n{_TABLE_ARGUMENTS}        step_height, step_width, tile_size);\n",
        "      const size_t pixel_bytes = convolution_op->input_pixel_stride << log2_input_element_size;\n"
        "      const struct executorch_depthwise_table table = {step_height, step_width, tile_size};\n"
        "      if (fills_taps) {\n"
        "        executorch_point_at_windows(convolution_op, pixel_bytes);\n"
        "      } else {\n"
        "        executorch_fill_depthwise_table(convolution_op, pixel_bytes, &table);\n"
        "      }\n",
        _ROWS,
    ),
    Change(
        _OPERATOR,
        "(kernel_height * step_width - extra_input_advanced) * sizeof(void*)",
        "(fills_taps ? tile_size : kernel_height * step_width - extra_input_advanced) * sizeof(void*)",
        _TAPS,
    ),
    Change(
        "xnnpack/src/operator-run.c",
        '#include "xnnpack/operator.h"\n',
        '#include "executorch/band_tasks.h"\n#include "xnnpack/operator.h"\n',
        _BANDS,
    ),
    Change(
        "xnnpack/src/operator-run.c",
        "        pthreadpool_parallelize_2d(\n",
        "        executorch_parallelize_2d(\n",
        _BANDS,
    ),
    Change("xnnpack/src/xnnpack/operator.h", "  uint8_t primary_tile;\n", "  uint32_t primary_tile;\n", _LARGE),
    Change(
        "xnnpack/src/xnnpack/config-types.h",
        "this is the tile size for first pass.\n  uint8_t primary_tile;\n",
        "this is the tile size for first pass.\n  uint32_t primary_tile;\n",
        _LARGE,
    ),
    Change(_OPERATOR, "  const uint8_t primary_tile = ", "  const uint32_t primary_tile = ", _LARGE),
    Change(
        _OPERATOR,
        "  enum xnn_microkernel_type ukernel_type = xnn_microkernel_type_default;\n",
        "  struct xnn_dwconv_config large_windows;\n"
        "  const struct xnn_dwconv_config* const larger = executorch_find_large_windows(\n"
        "      operator_type, kernel_size, dwconv_ukernel, groups, group_input_channels, group_output_channels, "
        "&large_windows);\n"
        "  if (larger != NULL) {\n"
        "    dwconv_ukernel = larger;\n"
        "    dwconv_params = gemm_params;\n"
        "    dwconv_params_size = gemm_params_size;\n"
        "  }\n"
        "  enum xnn_microkernel_type ukernel_type = xnn_microkernel_type_default;\n",
        _LARGE,
    ),
    Change(
        _OPERATOR,
        "  } else if (group_input_channels == 1 && group_output_channels == 1 && dwconv_ukernel != NULL) {\n",
        "  } else if (larger != NULL || (group_input_channels == 1 && group_output_channels == 1 && "
        "dwconv_ukernel != NULL)) {\n",
        _LARGE,
    ),
    Change(
        _OPERATOR,
        "          kernel_height, kernel_width,\n          groups, kernel, bias, flags,\n",
        "          kernel_height, kernel_width,\n          groups * group_output_channels, kernel, bias, flags,\n",
        _LARGE,
    ),
    Change(
        _OPERATOR,
        "  const size_t groups = convolution_op->groups;\n  int32_t extra_input_advanced",
        "  const size_t groups = convolution_op->groups * convolution_op->group_output_channels;\n"
        "  int32_t extra_input_advanced",
        _LARGE,
    ),
    Change(
        _OPERATOR,
        "&convolution_op->params, sizeof(convolution_op->context.dwconv.dwconv.params));\n",
        "&convolution_op->params, sizeof(convolution_op->context.dwconv.dwconv.params));\n"
        "  executorch_tell_of_windows(convolution_op, kernel_size);\n",
        _LARGE,
    ),
    Change(
        "xnnpack/src/xnnpack/compute.h",
        '#include "xnnpack/microfnptr.h"\n',
        '#include "executorch/depthwise_large.h"\n#include "xnnpack/microfnptr.h"\n',
        _LARGE,
    ),
    Change(
        "xnnpack/src/xnnpack/compute.h",
        "    union xnn_f32_minmax_params f32;\n  } params;\n  union {\n    xnn_dwconv_unipass",
        "    union xnn_f32_minmax_params f32;\n    struct executorch_windows executorch;\n  } params;\n"
        "  union {\n    xnn_dwconv_unipass",
        _LARGE,
    ),
)
