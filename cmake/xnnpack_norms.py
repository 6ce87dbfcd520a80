# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Where XNNPACK's nodes become layer norms: what is changed in its sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "compositions become layer norms: backends/xnnpack/xnnpack_additions/fused_row_norm.h says why"

NORMS = (
    Change(
        "xnnpack/CMakeLists.txt",
        "SET(REFERENCE_SRCS\n",
        'SET_PROPERTY(SOURCE src/executorch/row_norm.cc PROPERTY COMPILE_FLAGS "-std=c++17 -O3 -fno-math-errno '
        '-fno-trapping-math -ffp-contract=fast")\nSET(REFERENCE_SRCS\n  src/executorch/row_norm.cc\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        '#include "xnnpack/node-type.h"\n',
        '#include "executorch/fused_row_norm.h"\n#include "xnnpack/node-type.h"\n',
        _WHY,
    ),
    Change(
        "xnnpack/src/subgraph.c",
        "  // Fuse Nodes where possible\n",
        "  executorch_fuse_norms(subgraph);\n  // Fuse Nodes where possible\n",
        _WHY,
    ),
)
