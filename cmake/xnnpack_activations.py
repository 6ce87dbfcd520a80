# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where XNNPACK's nodes compute the activation behind them: what is changed in its sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "activations become parts of what is before them: backends/xnnpack/xnnpack_additions/activated_tiles.h says why"

ACTIVATIONS = (
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(REFERENCE_SRCS\n",
        'SET_PROPERTY(SOURCE src/executorch/silu.cc PROPERTY COMPILE_FLAGS "-std=c++17 -O3 -fno-math-errno '
        '-fno-trapping-math -ffp-contract=fast")\nSET(REFERENCE_SRCS\n  src/executorch/silu.cc\n',
        _WHY,
    ),
    Change(
        "xnnpack/include/xnnpack.h",
        "  xnn_unary_sign,\n};",
        "  xnn_unary_sign,\n  executorch_unary_silu,\n};",
        _WHY,
    ),
    Change(
        "xnnpack/src/xnnpack/subgraph.h",
        "struct xnn_node {\n",
        "// Of a node that computes an activation, too.\n"
        "struct executorch_activation {\n"
        "  void (*function)(void);\n"
        "  void (*kernel)(void);\n"
        "  xnn_reshape_operator_fn reshape;\n"
        "};\n\n"
        "struct xnn_node {\n"
        "  struct executorch_activation executorch_activation;\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/xnnpack/subgraph.h",
        "struct xnn_operator_data {\n",
        "struct xnn_operator_data {\n  struct executorch_activation executorch_activation;\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/runtime.c",
        "    runtime->opdata[i].type = node->type;\n",
        "    runtime->opdata[i].type = node->type;\n"
        "    runtime->opdata[i].executorch_activation = node->executorch_activation;\n",
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        '#include "xnnpack/params.h"\n',
        '#if XNN_ARCH_X86_64\n#include "executorch/activated_tiles.h"\n#endif\n#include "xnnpack/params.h"\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        "      if (is_clamp(consumer) && has_clamp(producer)) {\n",
        "#if XNN_ARCH_X86_64\n"
        "      if (executorch_fuse_silu(subgraph, value, consumer_id) ||\n"
        "          executorch_fuse_activation(subgraph, value, consumer_id)) {\n"
        "        continue;\n"
        "      }\n"
        "#endif\n"
        "      if (is_clamp(consumer) && has_clamp(producer) && producer->executorch_activation.function == NULL) {\n",
        _WHY,
    ),
)
