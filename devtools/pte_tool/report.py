# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Format the differences between two `.pte` files as text."""

from __future__ import annotations

from collections.abc import Iterator

from executorch.devtools.pte_tool.differences import (
    EValueDiff,
    ExecutionPlanDiff,
    OperatorUsage,
    PTEDiffResult,
    TensorDataDiff,
    TensorInfo,
)


def format_diff_result(result: PTEDiffResult, verbose: bool = False) -> str:
    """Format a result. verbose: include sizes of tensors in bytes."""
    return "\n".join(_result(result, verbose))


def _result(result: PTEDiffResult, verbose: bool) -> Iterator[str]:
    sizes = _size(result.size_a), _size(result.size_b)
    yield f"Comparing: {result.path_a} ({sizes[0]}) vs {result.path_b} ({sizes[1]})"
    yield "Status: bitwise equal" if result.bitwise_equal else "Status: NOT bitwise equal"
    if result.error:
        yield f"Error: {result.error}"
    if result.version_a is not None:
        yield f"Version: {result.version_a} vs {result.version_b}"
    for plan in result.plan_diffs:
        yield from _plan(plan, verbose)
    for side, names in (("A", result.extra_plans_in_a), ("B", result.extra_plans_in_b)):
        if names:
            yield f"\nExtra plans in {side}: {', '.join(names)}"
    if result.named_data_diffs:
        yield "\nNamed data differences:"
        for diff in result.named_data_diffs:
            yield f"  {diff.key!r}: {f'only in {diff.only_in}' if diff.only_in else 'contents differ'}"


def _plan(diff: ExecutionPlanDiff, verbose: bool) -> Iterator[str]:
    renamed = f" (name differs: {diff.name_a!r} vs {diff.name_b!r})" if diff.name_a is not None else ""
    yield f"\nPlan {diff.plan_index}{renamed}:"
    for title, names in (
        ("Operators only in A", diff.operators_only_in_a),
        ("Operators only in B", diff.operators_only_in_b),
        ("Delegates only in A", diff.delegates_only_in_a),
        ("Delegates only in B", diff.delegates_only_in_b),
        ("Delegates whose payloads differ", diff.delegate_data_diffs),
    ):
        if names:
            yield f"  {title}: {', '.join(names)}"
    for title, one, other in (
        ("non_const_buffer_sizes", diff.non_const_buffer_sizes_a, diff.non_const_buffer_sizes_b),
        ("Value count", diff.value_count_a, diff.value_count_b),
        ("Instruction count", diff.instruction_count_a, diff.instruction_count_b),
    ):
        if one is not None:
            yield f"  {title}: {one} vs {other}"
    if diff.instructions_differ:
        yield "  Instructions differ"
    if diff.tensor_diffs:
        yield f"  Differing tensors ({len(diff.tensor_diffs)}):"
        for tensor in diff.tensor_diffs:
            yield from _tensor(tensor, verbose)
    if diff.evalue_diffs:
        yield f"  Differing values ({len(diff.evalue_diffs)}):"
        for value in diff.evalue_diffs:
            yield from _value(value)
    for side, tensors in (("A", diff.tensors_only_in_a), ("B", diff.tensors_only_in_b)):
        if tensors:
            yield f"  Tensors only in {side} ({len(tensors)}):"
            yield from (f"    {_info(tensor)}" for tensor in tensors)


def _tensor(diff: TensorDataDiff, verbose: bool) -> Iterator[str]:
    yield f"    {_info(diff.tensor_a)}"
    if verbose:
        yield f"      byte sizes: {diff.byte_size_a} vs {diff.byte_size_b}"
    yield from _usages("used", diff.tensor_a.operator_usages or diff.tensor_b.operator_usages)
    for metadata_diff in diff.metadata_diffs:
        yield f"      {metadata_diff.field_name}: {metadata_diff.value_a} vs {metadata_diff.value_b}"
    if not diff.num_differing:
        return
    yield f"      {diff.num_differing} / {diff.num_elements} elements differ"
    yield f"      max_abs_diff={diff.max_abs_diff:.6g}  mean_abs_diff={diff.mean_abs_diff:.6g}"
    if diff.element_diffs:
        yield "      first differences:"
    for element in diff.element_diffs:
        place = ",".join(map(str, element.multi_index))
        distance = abs(element.value_a - element.value_b)
        yield f"        [{place}]: {element.value_a} vs {element.value_b} (diff={distance:.6g})"
    if diff.num_differing > len(diff.element_diffs):
        yield f"        ... and {diff.num_differing - len(diff.element_diffs)} more"


def _value(diff: EValueDiff) -> Iterator[str]:
    types = f"type: {diff.type_a} vs {diff.type_b}" if diff.type_mismatch else diff.type_a
    yield f"    [idx={diff.evalue_index}]  {types}"
    for field_diff in diff.field_diffs:
        yield f"      {field_diff.field_name}: {field_diff.value_a} vs {field_diff.value_b}"
    yield from _usages("used in A", diff.operator_usages_a)
    if diff.operator_usages_b != diff.operator_usages_a:
        yield from _usages("used in B", diff.operator_usages_b)


def _usages(verb: str, usages: list[OperatorUsage]) -> Iterator[str]:
    yield from (f"      {verb} as arg {usage.arg_index} of {usage.name}" for usage in usages)


def _info(info: TensorInfo) -> str:
    kind = "CT" if info.data_buffer_idx > 0 else "T"
    name = f'  "{info.fqn}"' if info.fqn else ""
    return f"[idx={info.evalue_index}]  {kind} {info.scalar_type.name.lower()}[{','.join(map(str, info.sizes))}]{name}"


def _size(count: int) -> str:
    if count >= 1 << 20:
        return f"{count / (1 << 20):.1f} MB"
    return f"{count / 1024:.1f} KB" if count >= 1024 else f"{count} B"
