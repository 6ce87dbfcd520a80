# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write the memory needs of a program as a C and C++ header, for statically sized buffers on a device."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from executorch.exir.error import ExportError
from executorch.exir.scalar_type import element_size
from executorch.exir.schema import ExecutionPlan, Tensor

if TYPE_CHECKING:
    from executorch.exir import ExecutorchProgramManager
    from executorch.exir.report.lowering_report import MethodReport

__all__ = ["memory_header"]

_ABOUT = """\
/* Exact bytes that the methods of a program need; written by executorch.export. PLANNED_BYTES_i: planned buffer i
 * of the HierarchicalAllocator. METHOD_BYTES: method allocator with 8-byte pointers; smaller pointers need less, as
 * MethodMeta::method_allocator_size() reports. TEMP_BYTES: temporary memory of the kernels of the exporting
 * runtime on one thread. */
"""


def memory_header(manager: ExecutorchProgramManager, name: str) -> str:
    """Return the header's text. name: prefix of its macros, converted to an upper-case identifier.

    For each method, `<NAME>_<METHOD>_` and METHOD_BYTES, PLANNED_BUFFERS (count), PLANNED_BYTES_<i>, TEMP_BYTES, and
    INPUT_BYTES_<i>, OUTPUT_BYTES_<i> of tensors; alignments in bytes, and the file's own size.
    Raises ExportError if a method's need is unknown before it runs (delegates, unbounded or data-dependent sizes).
    """
    prefix = _identifier(name)
    values: dict[str, int] = {"PROGRAM_BYTES": len(manager.buffer), "PROGRAM_ALIGNMENT": 16}
    values |= {"METHOD_ALIGNMENT": 8, "PLANNED_ALIGNMENT": 16, "TEMP_ALIGNMENT": 64}
    plans = {plan.name: plan for plan in manager.executorch_program.execution_plan}
    for verdict in manager.verdict.methods:
        of_method = {**_memory(verdict), **_tensors(plans[verdict.name])}
        values |= {f"{_identifier(verdict.name)}_{key}": size for key, size in of_method.items()}
    for method, size in manager.verdict.constant_methods.items():
        values[f"{_identifier(method)}_METHOD_BYTES"] = _known(method, size, manager.verdict.methods[0].note)
    guard = f"{prefix}_MEMORY_H"
    lines = [f"#define {prefix}_{key} {size}" for key, size in values.items()]
    return "\n".join([f"#ifndef {guard}", f"#define {guard}", _ABOUT, *lines, "", f"#endif /* {guard} */", ""])


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()


def _known(method: str, size: int | None, why: str) -> int:
    if size is None:
        raise ExportError("memory header", f"method '{method}'", f"its memory need is unknown: {why}")
    return size


def _memory(method: MethodReport) -> dict[str, int]:
    for obstacles, what in (
        ([delegate.backend for delegate in method.delegates], "delegates allocate memory at load"),
        (method.unbounded, "tensors have unbounded sizes"),
    ):
        if obstacles:
            raise ExportError("memory header", f"method '{method.name}'", f"{what}: {', '.join(obstacles)}")
    sizes = {"METHOD_BYTES": _known(method.name, method.method_allocator_bytes, method.note)}
    buffers = max(method.arenas, default=0)
    sizes["PLANNED_BUFFERS"] = buffers
    # The file counts memories from 1.
    sizes |= {f"PLANNED_BYTES_{i}": method.arenas.get(i + 1, 0) for i in range(buffers)}
    sizes["TEMP_BYTES"] = _known(method.name, method.temp_peak.bytes, method.temp_peak.note)
    return sizes


def _tensors(plan: ExecutionPlan) -> dict[str, int]:
    """Return macro name → bytes of an input or output tensor; the upper bound for dynamic sizes."""
    tensors = {}
    for kind, indices in (("INPUT", plan.inputs), ("OUTPUT", plan.outputs)):
        for position, index in enumerate(indices):
            value = plan.values[index].val
            if isinstance(value, Tensor):
                tensors[f"{kind}_BYTES_{position}"] = math.prod(value.sizes, start=element_size(value.scalar_type))
    return tensors
