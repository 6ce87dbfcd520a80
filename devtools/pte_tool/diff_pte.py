# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare two `.pte` files: methods, operators, delegates, values, constants and named data."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from executorch.devtools.checked_program import checked_program
from executorch.devtools.pte_tool.differences import (
    ElementDiff,
    EValueDiff,
    ExecutionPlanDiff,
    FieldDiff,
    NamedDataDiff,
    OperatorUsage,
    PTEDiffResult,
    TensorDataDiff,
    TensorInfo,
)
from executorch.devtools.pte_tool.report import format_diff_result
from executorch.devtools.pte_tool.tensor_difference import compare_tensors, describe
from executorch.exir.schema import BackendDelegate, DataLocation, DelegateCall, ExecutionPlan, KernelCall, Tensor
from executorch.exir.serialize import PteFile
from executorch.exir.serialize.regular_file import read_regular_file
from executorch.util.exit_code import exit_code


def diff_pte(
    data_a: bytes, data_b: bytes, path_a: str = "A", path_b: str = "B", max_samples: int = 10
) -> PTEDiffResult:
    """Compare two files. max_samples: maximum number of differing elements to list for each tensor."""
    result = PTEDiffResult(path_a, path_b, len(data_a), len(data_b), data_a == data_b)
    if result.bitwise_equal:
        return result
    files = []
    for path, data in ((path_a, data_a), (path_b, data_b)):
        try:
            files.append(checked_program(data))
        except ValueError as error:
            result.error = f"Deserialization failed: {path}: {error}"
            return result
    a, b = files
    if a.program.version != b.program.version:
        result.version_a, result.version_b = a.program.version, b.program.version
    plans_a, plans_b = a.program.execution_plan, b.program.execution_plan
    for index, (plan_a, plan_b) in enumerate(zip(plans_a, plans_b, strict=False)):
        diff = _compare_plans(index, plan_a, plan_b, a, b, max_samples)
        if diff.has_differences():
            result.plan_diffs.append(diff)
    result.extra_plans_in_a = [plan.name for plan in plans_a[len(plans_b) :]]
    result.extra_plans_in_b = [plan.name for plan in plans_b[len(plans_a) :]]
    result.named_data_diffs = _compare_named_data(_named_data(a), _named_data(b))
    return result


def _named_data(file: PteFile) -> dict[str, bytes]:
    return {key: bytes(blob.data) for key, blob in file.named_data.items()}


def _compare_named_data(a: dict[str, bytes], b: dict[str, bytes]) -> list[NamedDataDiff]:
    differences = []
    for key in sorted({*a, *b}):
        if key not in a or key not in b:
            differences.append(NamedDataDiff(key, "A" if key in a else "B"))
        elif a[key] != b[key]:
            differences.append(NamedDataDiff(key, "", bytes_differ=True))
    return differences


def _compare_plans(
    index: int, a: ExecutionPlan, b: ExecutionPlan, file_a: PteFile, file_b: PteFile, samples: int
) -> ExecutionPlanDiff:
    diff = ExecutionPlanDiff(index)
    if a.name != b.name:
        diff.name_a, diff.name_b = a.name, b.name
    diff.operators_only_in_a, diff.operators_only_in_b = _only_in_either(_operators(a), _operators(b))
    diff.delegates_only_in_a, diff.delegates_only_in_b = _only_in_either(
        [delegate.id for delegate in a.delegates], [delegate.id for delegate in b.delegates]
    )
    diff.delegate_data_diffs = [
        f"{number}: {one.id}"
        for number, (one, other) in enumerate(zip(a.delegates, b.delegates, strict=False))
        if one.id == other.id and _payload(file_a, one) != _payload(file_b, other)
    ]
    if a.non_const_buffer_sizes != b.non_const_buffer_sizes:
        diff.non_const_buffer_sizes_a, diff.non_const_buffer_sizes_b = (
            a.non_const_buffer_sizes,
            b.non_const_buffer_sizes,
        )
    if len(a.values) != len(b.values):
        diff.value_count_a, diff.value_count_b = len(a.values), len(b.values)
    counts = [sum(len(chain.instructions) for chain in plan.chains) for plan in (a, b)]
    if counts[0] != counts[1]:
        diff.instruction_count_a, diff.instruction_count_b = counts
    else:
        diff.instructions_differ = any(
            one.instructions != other.instructions for one, other in zip(a.chains, b.chains, strict=False)
        )
    _compare_values(diff, a, b, file_a, file_b, samples)
    return diff


def _compare_values(
    diff: ExecutionPlanDiff, a: ExecutionPlan, b: ExecutionPlan, file_a: PteFile, file_b: PteFile, samples: int
) -> None:
    usages_a, usages_b = _usages(a), _usages(b)
    for index, (held_a, held_b) in enumerate(zip(a.values, b.values, strict=False)):
        one, other = held_a.val, held_b.val
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            info = describe(index, one, usages_a), describe(index, other, usages_b)
            tensors = compare_tensors(one, other, *info, _data(file_a, one), _data(file_b, other), samples)
            if tensors is not None:
                diff.tensor_diffs.append(tensors)
            continue
        same_type = type(one) is type(other)
        fields = _value_fields(one, other) if same_type else []
        if fields or not same_type:
            names = type(one).__name__, type(other).__name__
            used = usages_a.get(index, []), usages_b.get(index, [])
            diff.evalue_diffs.append(EValueDiff(index, *names, not same_type, fields, *used))
    common = min(len(a.values), len(b.values))
    diff.tensors_only_in_a = _tensors_behind(a, common, usages_a)
    diff.tensors_only_in_b = _tensors_behind(b, common, usages_b)


def _tensors_behind(plan: ExecutionPlan, start: int, usages: dict[int, list[OperatorUsage]]) -> list[TensorInfo]:
    values = [value.val for value in plan.values]
    return [describe(i, value, usages) for i, value in enumerate(values) if i >= start and isinstance(value, Tensor)]


def _value_fields(a: Any, b: Any) -> list[FieldDiff]:
    names = [field.name for field in dataclasses.fields(a)]
    return [
        FieldDiff(name, getattr(a, name), getattr(b, name)) for name in names if getattr(a, name) != getattr(b, name)
    ]


def _only_in_either(a: Iterable[str], b: Iterable[str]) -> tuple[list[str], list[str]]:
    counted_a, counted_b = Counter(a), Counter(b)
    return sorted((counted_a - counted_b).elements()), sorted((counted_b - counted_a).elements())


def _operators(plan: ExecutionPlan) -> list[str]:
    return [
        f"{operator.name}.{operator.overload}" if operator.overload else operator.name for operator in plan.operators
    ]


def _usages(plan: ExecutionPlan) -> dict[int, list[OperatorUsage]]:
    """Value index → arguments of calls that use the value."""
    names = _operators(plan)
    usages: dict[int, list[OperatorUsage]] = {}
    for chain in plan.chains:
        for instruction in chain.instructions:
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                name = names[call.op_index]
            elif isinstance(call, DelegateCall):
                name = f"delegate:{plan.delegates[call.delegate_index].id}"
            else:
                continue
            for position, index in enumerate(call.args):
                usages.setdefault(index, []).append(OperatorUsage(name, position))
    return usages


def _payload(file: PteFile, delegate: BackendDelegate) -> bytes | None:
    place = delegate.processed
    if place.location != DataLocation.INLINE or place.index >= len(file.program.backend_delegate_data):
        return None
    return bytes(file.program.backend_delegate_data[place.index].data)


def _data(file: PteFile, tensor: Tensor) -> bytes | None:
    """Bytes of a constant, or the initial bytes of a mutable buffer."""
    extra = tensor.extra_tensor_info
    initial = extra.mutable_data_segments_idx if extra is not None else 0
    constants = file.program.constant_buffer
    if 0 < tensor.data_buffer_idx < len(constants):
        return bytes(constants[tensor.data_buffer_idx].storage)
    if file.mutable_data is not None and 0 < initial < len(file.mutable_data):
        return bytes(file.mutable_data[initial].storage)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code: 1 if a file cannot be read or is not a program."""
    parser = argparse.ArgumentParser(description="Compare two .pte files.")
    parser.add_argument("file_a", type=Path, help="the first file")
    parser.add_argument("file_b", type=Path, help="the second file")
    parser.add_argument("-v", "--verbose", action="store_true", help="also print the sizes of tensors in bytes")
    parser.add_argument(
        "--max-samples", type=int, default=10, metavar="N", help="list at most N elements of each tensor (%(default)s)"
    )
    options = parser.parse_args(arguments)
    return exit_code("diff_pte", lambda: _show(options))


def _show(options: argparse.Namespace) -> int:
    files = [read_regular_file(path) for path in (options.file_a, options.file_b)]
    result = diff_pte(files[0], files[1], str(options.file_a), str(options.file_b), options.max_samples)
    print(format_diff_result(result, options.verbose))
    return 1 if result.error else 0


if __name__ == "__main__":
    sys.exit(main())

__all__ = [
    "EValueDiff",
    "ElementDiff",
    "ExecutionPlanDiff",
    "FieldDiff",
    "NamedDataDiff",
    "OperatorUsage",
    "PTEDiffResult",
    "TensorDataDiff",
    "TensorInfo",
    "diff_pte",
    "format_diff_result",
]
