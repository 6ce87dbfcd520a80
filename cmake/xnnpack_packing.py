# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""How XNNPACK's weights are packed while a model is loaded: what is changed in its sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "weights are packed by all threads: backends/xnnpack/xnnpack_additions/packing.h says why"
_RUNTIME = "xnnpack/src/runtime.c"
_CREATE = (
    "      status = node->create(node, runtime->values, runtime->num_values, runtime->opdata + i, code_cache, "
    "weights_cache);\n"
)

_THEIRS = "(xnn_packw_gemm_goi_ukernel_fn) xnn_x32_packw_gemm_goi_ukernel_x32__avx512f_u4_prfm;\n"

PACKING = (
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(OPERATOR_SRCS\n",
        "SET(OPERATOR_SRCS\n  src/executorch/packing.c\n",
        _WHY,
    ),
    Change(_RUNTIME, '#include "xnnpack.h"\n', '#include "executorch/packing.h"\n#include "xnnpack.h"\n', _WHY),
    Change(
        _RUNTIME,
        _CREATE,
        f"      executorch_pack_with(threadpool);\n{_CREATE}      executorch_pack_with(NULL);\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/reference/packing.cc",
        '#include "xnnpack/pack.h"',
        '#include "executorch/pack_convolution.h"\n#include "xnnpack/pack.h"',
        _WHY,
    ),
    Change(
        "xnnpack/src/reference/packing.cc",
        "void xnn_pack_f32_conv_goki_w(",
        "static void executorch_pack_f32_conv_one_by_one(",
        _WHY,
    ),
    Change(
        "xnnpack/src/configs/gemm-config.c",
        '#include "xnnpack/gemm.h"',
        '#include "executorch/packing.h"\n#include "xnnpack/gemm.h"',
        _WHY,
    ),
    Change(
        "xnnpack/src/configs/gemm-config.c",
        f"        f32_gemm_config.pack_gemm_goi = {_THEIRS}",
        f"        f32_gemm_config.pack_gemm_goi =\n#if XNN_ARCH_X86_64\n"
        "            (xnn_packw_gemm_goi_ukernel_fn) executorch_pack_f32_goi;\n"
        f"#else\n            {_THEIRS}#endif\n",
        _WHY,
    ),
)
