# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data model of the differences between two `.pte` files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from executorch.exir.scalar_type import ScalarType


@dataclass
class OperatorUsage:
    """Use of a value as an argument of an operator or delegate call."""

    name: str
    arg_index: int


@dataclass
class TensorInfo:
    """A tensor of a method."""

    evalue_index: int
    scalar_type: ScalarType
    sizes: list[int]
    fqn: str | None
    data_buffer_idx: int
    operator_usages: list[OperatorUsage] = field(default_factory=list)


@dataclass
class FieldDiff:
    """Two values of one field."""

    field_name: str
    value_a: Any
    value_b: Any


@dataclass
class ElementDiff:
    """Two values of one element."""

    flat_index: int
    multi_index: tuple[int, ...]
    value_a: float
    value_b: float


@dataclass
class TensorDataDiff:
    """Two tensors at one index. Statistics cover the elements that both have; the mean covers the differing ones."""

    tensor_a: TensorInfo
    tensor_b: TensorInfo
    byte_size_a: int
    byte_size_b: int
    bytes_differ: bool
    metadata_diffs: list[FieldDiff] = field(default_factory=list)
    num_elements: int = 0
    num_differing: int = 0
    max_abs_diff: float = 0.0
    mean_abs_diff: float = 0.0
    element_diffs: list[ElementDiff] = field(default_factory=list)


@dataclass
class EValueDiff:
    """Two values at one index, at least one of which is not a tensor."""

    evalue_index: int
    type_a: str
    type_b: str
    type_mismatch: bool = False
    field_diffs: list[FieldDiff] = field(default_factory=list)
    operator_usages_a: list[OperatorUsage] = field(default_factory=list)
    operator_usages_b: list[OperatorUsage] = field(default_factory=list)


@dataclass
class ExecutionPlanDiff:
    """Two methods at one index. Fields of a kind are None where the two are equal."""

    plan_index: int
    name_a: str | None = None
    name_b: str | None = None
    operators_only_in_a: list[str] = field(default_factory=list)
    operators_only_in_b: list[str] = field(default_factory=list)
    delegates_only_in_a: list[str] = field(default_factory=list)
    delegates_only_in_b: list[str] = field(default_factory=list)
    delegate_data_diffs: list[str] = field(default_factory=list, kw_only=True)
    non_const_buffer_sizes_a: list[int] | None = None
    non_const_buffer_sizes_b: list[int] | None = None
    value_count_a: int | None = None
    value_count_b: int | None = None
    instruction_count_a: int | None = None
    instruction_count_b: int | None = None
    instructions_differ: bool = field(default=False, kw_only=True)
    tensor_diffs: list[TensorDataDiff] = field(default_factory=list)
    evalue_diffs: list[EValueDiff] = field(default_factory=list)
    tensors_only_in_a: list[TensorInfo] = field(default_factory=list)
    tensors_only_in_b: list[TensorInfo] = field(default_factory=list)

    def has_differences(self) -> bool:
        """Return whether any field except the index reports a difference."""
        return any(value not in (None, False, []) for name, value in vars(self).items() if name != "plan_index")


@dataclass
class NamedDataDiff:
    """Named data that only one file has (`only_in` "A" or "B"), or that differs (`only_in` empty)."""

    key: str
    only_in: str
    bytes_differ: bool = False


@dataclass
class PTEDiffResult:
    """All differences between two files; `error` says why a file could not be read."""

    path_a: str
    path_b: str
    size_a: int
    size_b: int
    bitwise_equal: bool
    version_a: int | None = None
    version_b: int | None = None
    plan_diffs: list[ExecutionPlanDiff] = field(default_factory=list)
    extra_plans_in_a: list[str] = field(default_factory=list)
    extra_plans_in_b: list[str] = field(default_factory=list)
    named_data_diffs: list[NamedDataDiff] = field(default_factory=list)
    error: str | None = None
