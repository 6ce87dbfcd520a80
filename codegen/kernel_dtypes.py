# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dtypes for which each kernel and each source file of kernels/ is compiled in a selective build: only those that its
own operators use in the programs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from executorch.codegen.library_yaml import KernelRow
from executorch.codegen.selection import Selection
from executorch.codegen.source_table import NAMESPACE, TABLE, reached, read_table

CALLED = {
    "clamp_out": ("hardtanh_out",),
    "clamp_min_out": ("clamp_out", "hardtanh_out"),
    "clamp_max_out": ("clamp_out", "hardtanh_out"),
    "polygamma_out": ("digamma_out",),
    "pow_tensor_scalar_out": ("mul_out", "reciprocal_out", "rsqrt_out", "sqrt_out"),
    "round_decimals_out": ("round_out",),
}
"""Pointwise kernel → kernels to which it forwards its tensors, which must support its dtypes too."""

_PORTABLE = f"{NAMESPACE}portable::"


def kernel_dtypes(rows: Iterable[KernelRow], selection: Selection) -> Mapping[str, frozenset[str]]:
    """Kernel (``add_out``) or source below kernels/ (``portable/gemm/gemm.cpp``) → dtypes, if fewer than
    ``selection.compiled_dtypes``. Kernels and sources that are absent support all of these.

    Args:
        rows: all rows of our libraries, portable and quantized.
        selection: with dtypes.
    """
    table = read_table(TABLE)
    kernels: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if not selection.include_all and row.schema.qualified_name not in selection.operators:
            continue
        dtypes = selection.dtypes_of(row.schema.qualified_name)
        kernel = row.function.removeprefix(_PORTABLE)
        for name in (kernel, *CALLED.get(kernel, ())):
            kernels[name] |= dtypes
        source = table["kernels"].get(row.function.removeprefix(NAMESPACE)) if table is not None else None
        if table is None or source is None:
            table = None  # the references of that kernel are unknown
            continue
        for name in reached(table, [source]):
            sources[name] |= dtypes
    restrictions = kernels if table is None else kernels | sources
    compiled = selection.compiled_dtypes
    return {name: frozenset(dtypes) for name, dtypes in sorted(restrictions.items()) if dtypes < compiled}
