# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where XNNPACK's convolutions are computed by Winograd's algorithm: what is changed in its sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "convolutions with fewer multiplications: backends/xnnpack/xnnpack_additions/winograd.h says why"
_OPERATOR = "xnnpack/src/operators/convolution-nhwc.c"
_ONLY_HERE = "#if XNN_ARCH_X86_64\n{}#endif\n"


def _instead(of: str, what: str) -> Change:
    """Before XNNPACK does something to an operator, ours do `what` where it is to be computed so."""
    ours = f"      if (convolution_op->flags & EXECUTORCH_FLAG_WINOGRAD) {{\n        return {what};\n      }}\n"
    case = "    case xnn_microkernel_type_igemm:\n"
    theirs = f"      return {of}("
    return Change(_OPERATOR, f"{case}{theirs}", f"{case}{_ONLY_HERE.format(ours)}{theirs}", _WHY)


WINOGRAD = (
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(OPERATOR_SRCS\n",
        "SET(OPERATOR_SRCS\n  src/executorch/winograd.c\n",
        _WHY,
    ),
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(REFERENCE_SRCS\n",
        "SET_PROPERTY(SOURCE src/executorch/winograd_transforms.cc src/executorch/winograd_weights.cc PROPERTY "
        'COMPILE_FLAGS "-std=c++17 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast")\n'
        "SET(REFERENCE_SRCS\n  src/executorch/winograd_transforms.cc\n  src/executorch/winograd_weights.cc\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/xnnpack/operator.h",
        '#include "xnnpack.h"\n',
        '#include "executorch/winograd.h"\n#include "xnnpack.h"\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/xnnpack/operator.h",
        "    struct argmax_pooling_context argmax_pooling;\n",
        "    struct argmax_pooling_context argmax_pooling;\n    struct executorch_winograd winograd;\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph/convolution-2d.c",
        "static enum xnn_status create_convolution_operator(\n",
        "#if !XNN_ARCH_X86_64\n#define executorch_winograd_flag(node, input) 0\n#endif\n\n"
        "static enum xnn_status create_convolution_operator(\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph/convolution-2d.c",
        *(
            f"              node->flags{ours},\n"
            "              code_cache,\n"
            "              weights_cache,\n"
            "              &opdata->operator_objects[0]);\n"
            "            break;\n"
            "          case xnn_datatype_qcint8:\n"
            "            status = xnn_create_convolution2d_nhwc_qd8_f32_qc8w("
            for ours in ("", " | executorch_winograd_flag(node, &values[input_id])")
        ),
        _WHY,
    ),
    Change(
        _OPERATOR,
        "  size_t zero_size = 0;\n  switch (ukernel_type) {\n",
        "  size_t zero_size = 0;\n"
        + _ONLY_HERE.format(
            "  status = executorch_create_winograd(\n"
            "      convolution_op, &flags, group_input_channels, group_output_channels, kernel, bias);\n"
            "  if (status != xnn_status_success) {\n    goto error;\n  }\n"
            "  if (flags & EXECUTORCH_FLAG_WINOGRAD) {\n"
            "    memcpy(&convolution_op->params, gemm_params, gemm_params_size);\n"
            "    zero_size = XNN_EXTRA_BYTES;\n"
            "  } else\n"
        )
        + "  switch (ukernel_type) {\n",
        _WHY,
    ),
    _instead(
        "reshape_igemm", "executorch_reshape_winograd(convolution_op, workspace_size, workspace_alignment, num_threads)"
    ),
    _instead("setup_igemm", "executorch_setup_winograd(convolution_op, workspace)"),
)
