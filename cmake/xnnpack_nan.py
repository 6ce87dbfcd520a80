# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""XNNPACK's kernels for x86, made to keep NaN as PyTorch does.

The processor's minimum and maximum give their second operand where either is NaN. Limits that stand second turn a NaN
into a limit: a product with up to four columns gives infinity, everything in 16 bits the lower limit. As first operand
they keep it, at no cost. Where both are data (maxima, pooling), a NaN in the first is put back.
"""

from __future__ import annotations

import re
from pathlib import Path

_LIMITED = (
    *("f16-avgpool", "f16-dwconv", "f16-f32acc-gemm", "f16-f32acc-igemm", "f16-gemm", "f16-igemm", "f16-pavgpool"),
    *("f16-vclamp", "f16-vmulcaddc", "f32-avgpool", "f32-dwconv", "f32-gemm", "f32-igemm", "f32-pavgpool"),
    *("f32-qc8w-gemm", "f32-qc4w-gemm", "f32-vclamp", "f32-vmulcaddc", "f32-vrelu"),
)
"""Folders of kernels that clamp their results."""
_OF_TWO = ("f16-maxpool", "f16-vbinary", "f32-maxpool", "f32-vbinary")
"""Folders of kernels that compare data."""
_LIMIT_SECOND = re.compile(r"(_mm(?:256|512)?_(?:max|min)_ps)\((\w+), (v(?:y_|output_)?(?:min|max|zero))\)")
_COMPARED = re.compile(r"_mm(256|512)?_(max|min)_p[hs]\(")
_HEADER = '#include "executorch/nan_stays.h"\n'

WHAT = f"NaN is kept: {_LIMITED} {_OF_TWO} {_LIMIT_SECOND.pattern} {_COMPARED.pattern} {_HEADER}"
"""What the result depends on, as text."""


def keep_nan(kernels: Path) -> int:
    """Changes the kernels below `kernels` (XNNPACK's src); gives how many limits stand first now."""
    swapped = 0
    for folder in _LIMITED:
        for path in sorted((kernels / folder).rglob("*.c")):
            text, count = _LIMIT_SECOND.subn(r"\1(\3, \2)", path.read_text())
            if count:
                path.write_text(text)
                swapped += count
    for folder in _OF_TWO:
        for path in sorted((kernels / folder).rglob("*.c")):
            text = path.read_text()
            if _COMPARED.search(text):
                path.write_text(_HEADER + text)
    return swapped
