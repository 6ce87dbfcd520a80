# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A parametric plan → the bytes that the runtime reads: little-endian words of 32 bits.

version, steps, tensors, the height's step; the steps (operation, a, b); of each tensor of arena 1, in the order of the
values: value, the offset's step, the number of sizes (0: static), the steps of these.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from executorch.exir.emit.state import Ref
from executorch.exir.emit.tensors import is_planned
from executorch.exir.memory.sizes.parametric import PARAMETRIC_ARENA, ParametricPlan
from executorch.exir.tensor import TensorSpec

KEY_PREFIX = "executorch.plan."
"""Named data of a program under this name, followed by a method's, is the method's parametric plan."""

_VERSION = 1


def encode_parametric_plan(plan: ParametricPlan, values: Mapping[TensorSpec, Ref]) -> bytes:
    """values: what the tensors of the method have become."""
    placed = {
        ref.id: spec
        for spec, ref in values.items()
        if is_planned(spec) and spec.mem_id == PARAMETRIC_ARENA and not spec.const
    }
    records: list[int] = []
    for index, spec in sorted(placed.items()):
        sizes = plan.shape_steps(spec)
        records += [index, plan.offset_step(spec), len(sizes), *sizes]
    rows = [number for row in plan.steps.rows for number in row]
    words = [_VERSION, len(plan.steps.rows), len(placed), plan.height, *rows, *records]
    return struct.pack(f"<{len(words)}I", *words)
