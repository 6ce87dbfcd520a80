# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Memory needs of a program file's methods: the counts of ``runtime/executor/plan/method_layout.h``, and sizes that the
exporter measured.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from executorch.codegen.flatbuffer import FlatbufferError, Table, read_schema, root
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.program_use import PROGRAM_SCHEMA

_STATIC, _UNBOUND, _EXTERNAL = 0, 2, 1
_LISTS = {
    "String": ("strings", None),
    "DoubleList": ("double_lists", None),
    "BoolList": ("bool_lists", None),
    "IntList": ("int_lists", "int_items"),
    "TensorList": ("tensor_lists", "tensor_items"),
    "OptionalTensorList": ("optional_lists", "optional_items"),
}
_FIXED_ARGUMENTS = {"MoveCall": 2, "JumpFalseCall": 1, "FreeCall": 1}


@dataclass(frozen=True)
class MethodMemory:
    """Memory of one method. counts: nonzero fields of ``MethodCounts``; planned: bytes of each planned buffer."""

    name: str
    counts: dict[str, int]
    planned: tuple[int, ...]


def read_method_memory(path: Path) -> list[MethodMemory]:
    """Return the memory of all methods of a ``.pte``. Raises ``CodegenError`` for any other file."""
    try:
        program = root(read_schema(PROGRAM_SCHEMA), path.read_bytes(), "Program")
        return [_of_plan(plan) for plan in program.execution_plan or []]
    except (OSError, FlatbufferError) as e:
        raise CodegenError(f"{path}: not a valid program: {e}") from e


def read_temp_bytes(header: Path) -> int:
    """Maximum temporary memory of a method's kernels, from a header of ``executorch.export.memory_header``.

    Raises ``CodegenError`` for a header without it.
    """
    try:
        sizes = re.findall(r"^#define \w+_TEMP_BYTES (\d+)$", header.read_text(), re.M)
    except OSError as e:
        raise CodegenError(f"{header}: cannot be read: {e}") from e
    if not sizes:
        raise CodegenError(f"{header}: expected a method's TEMP_BYTES, found none")
    return max(map(int, sizes))


def _of_plan(plan: Table) -> MethodMemory:
    counts: Counter[str] = Counter()
    for name in ("values", "inputs", "operators", "delegates"):
        counts[name] = len(getattr(plan, name) or [])
    for value in plan.values or []:
        if value.val is not None:
            _count_value(value.val, counts)
    for chain in plan.chains or []:
        for instruction in chain.instructions or []:
            counts["instructions"] += 1
            counts["arguments"] += _arguments(instruction.instr_args)
    for delegate in plan.delegates or []:
        counts["compile_specs"] += len(delegate.compile_specs or [])
    sizes = plan.non_const_buffer_sizes or [0]
    return MethodMemory(str(plan.name), {name: count for name, count in counts.items() if count}, tuple(sizes[1:]))


def _count_value(value: Table, counts: Counter[str]) -> None:
    if value.kind == "Tensor":
        rank = len(value.sizes or [])
        extra = value.extra_tensor_info
        counts["tensors"] += 1
        counts["dims"] += rank
        counts["changing_dims"] += rank if value.shape_dynamism != _STATIC else 0
        counts["growths"] += value.shape_dynamism == _UNBOUND
        counts["external"] += extra is not None and extra.location == _EXTERNAL
    elif value.kind in _LISTS:
        lists, items = _LISTS[value.kind]
        counts[lists] += 1
        if items is not None:
            counts[items] += len(value.items or [])


def _arguments(call: Table | None) -> int:
    if call is None:
        return 0
    return _FIXED_ARGUMENTS[call.kind] if call.kind in _FIXED_ARGUMENTS else len(call.args or [])
