# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The documented tool that shows planned memory in Chrome's trace viewer (docs: "Memory Planning Inspection").

The viewer shows bytes as seconds, arenas as processes and steps as threads.
"""

from __future__ import annotations

import json
from typing import Any

from executorch.exir import ExecutorchProgramManager
from executorch.exir.memory.plan import PlannedTensor


def generate_memory_trace(
    executorch_program_manager: ExecutorchProgramManager,
    chrome_trace_filename: str,
    enable_memory_offsets: bool = False,
    method_name: str = "forward",
    ommit_metadata: bool = False,
) -> None:
    """Write the tensors that are alive at each step of a method as a JSON file for chrome://tracing.

    enable_memory_offsets: a tensor begins at its offset in the arena; without it, at the end of the previous one.
    ommit_metadata: leaves out operator, module path and bytes. Raises KeyError for an unknown method, and for one that
    was not planned by a MemoryPlanningPass, naming those that were.
    """
    plans = executorch_program_manager.memory_plans
    if method_name not in plans:
        raise KeyError(f"no memory plan of a method '{method_name}', found {sorted(plans)}")
    plan = plans[method_name]
    events: list[dict[str, Any]] = []
    for step in range(plan.steps + 1):
        ends: dict[int, int] = {}
        for tensor in plan.tensors:
            if tensor.first <= step <= tensor.last:
                start = tensor.offset if enable_memory_offsets else ends.get(tensor.mem_id, 0)
                ends[tensor.mem_id] = start + tensor.size
                events.append(_event(tensor, step, start, not ommit_metadata))
    with open(chrome_trace_filename, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file, indent=4)


def _event(tensor: PlannedTensor, step: int, start: int, described: bool) -> dict[str, Any]:
    event: dict[str, Any] = {
        "name": tensor.name,
        "cat": "memory_allocation",
        "ph": "X",
        "ts": start,
        "dur": tensor.size,
        "pid": tensor.mem_id,
        "tid": step,
    }
    if described:
        event["args"] = {
            "op_name": tensor.operator,
            "Memory ID": tensor.mem_id,
            "fqn": tensor.module,
            "bytes": tensor.size,
        }
    return event
