# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Encode a parametric plan for the runtime as little-endian words of 32 bits.

Version, number of steps, number of tensors, step of the arena's size; the steps (operation, a, b); for each tensor of
arena 1, in the order of values: value, step of its offset, number of sizes (0: static), steps of the sizes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from executorch.exir.emit.state import Ref
from executorch.exir.emit.tensors import is_planned
from executorch.exir.memory.sizes.parametric import PARAMETRIC_ARENA, ParametricPlan
from executorch.exir.tensor import TensorSpec

KEY_PREFIX = "executorch.plan."
"""Prefix of the name of a program's named data with a method's parametric plan; the method's name follows."""

_VERSION = 1


def encode_parametric_plan(plan: ParametricPlan, values: Mapping[TensorSpec, Ref]) -> bytes:
    """Encode a plan. values: spec → value of the method."""
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
