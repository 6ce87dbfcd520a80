# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Depthwise convolutions several points at once: what is changed in XNNPACK's sources, and why."""

from __future__ import annotations

from xnnpack_change import Change

_WHY = "depthwise convolutions of several points at once: backends/xnnpack/xnnpack_additions/depthwise_rows.h says why"
_SETTINGS = "xnnpack/src/configs/dwconv-config.c"


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
        'SET_PROPERTY(SOURCE src/executorch/depthwise_rows.cc PROPERTY COMPILE_FLAGS "-std=c++17 -O3 -fno-math-errno '
        '-fno-trapping-math -ffp-contract=fast")\nSET(REFERENCE_SRCS\n  src/executorch/depthwise_rows.cc\n',
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
)
