# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Documented functions on specs and symbolic sizes, and the package's version."""

import re
from typing import Any

import pytest
import torch
from torch.export import Dim, export

from executorch import version
from executorch.exir import tensor as specs
from executorch.exir.error import ExportError, ExportErrorType, InternalError
from executorch.exir.schema import ScalarType
from executorch.exir.sym_util import (
    collect_free_symbols,
    eval_expr,
    eval_shape,
    eval_shape_upper_bound,
    eval_upper_bound,
)


def test_an_offset_is_written_in_two_halves() -> None:
    place = specs.make_allocation_info(1, (3 << 32) + 5)
    assert (place.memory_offset_high, place.memory_offset_low) == (3, 5)
    with pytest.raises(ValueError, match="offset -1"):
        specs.make_allocation_info(1, -1)
    with pytest.raises(specs.AddressSpaceOverflowException, match="64 bits"):
        specs.make_allocation_info(1, 1 << 64)


def test_element_types_and_dtypes_are_inverse() -> None:
    for dtype, number in specs.scalar_type_table.items():
        assert specs.get_scalar_type(number) == dtype
        assert specs.scalar_type_enum(dtype) == number
    assert specs.scalar_type_enum(torch.float32) == ScalarType.FLOAT


def test_a_spec_becomes_a_value_of_the_program() -> None:
    spec = specs.TensorSpec(torch.int8, [2, 3])
    value = specs.make_tensor_value(4, None, spec)
    assert (value.scalar_type, value.sizes, value.dim_order, value.data_buffer_idx) == (1, [2, 3], [0, 1], 4)


def test_a_tensor_that_differs_from_its_spec_is_named() -> None:
    spec = specs.TensorSpec.from_tensor(torch.ones(2, 3))
    specs.check_spec(torch.zeros(2, 3), spec)
    with pytest.raises(InternalError, match=r"dtype: expected torch\.float32, found torch\.int8"):
        specs.check_spec(torch.zeros(2, 3, dtype=torch.int8), spec)


def test_numbers_are_rounded_up_and_unknown_layouts_refused() -> None:
    assert [specs.calculate_aligned_num_bytes(n, 16) for n in (0, 1, 16, 17)] == [0, 16, 16, 32]
    assert specs.layout_enum(torch.strided) == 0
    assert specs.memory_format_enum(torch.preserve_format) == 1
    with pytest.raises(ValueError, match="sparse_csr"):
        specs.layout_enum(torch.sparse_csr)


class _Rows(torch.nn.Module):
    def forward(self, data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return data + 1, data.nonzero()


def _sizes() -> tuple[Any, Any]:
    program = export(_Rows(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    added, found = next(iter(reversed(program.graph.nodes))).args[0]
    return added.meta["val"].shape, found.meta["val"].shape


def test_symbolic_sizes_have_hints_bounds_and_symbols() -> None:
    bounded, by_data = _sizes()
    assert eval_shape(bounded) == [4, 3]
    assert eval_shape_upper_bound(bounded) == [9, 3]
    assert len(collect_free_symbols(bounded)) == 1
    assert eval_expr(by_data[0]) is None
    assert eval_upper_bound(7) == 7


def test_the_version_is_that_of_the_project() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", version.__version__)
    assert version.git_version is None or re.fullmatch(r"[0-9a-f]{40}", version.git_version)


def test_an_export_error_takes_its_code_and_message_by_name() -> None:
    error = ExportError(error_code=ExportErrorType.NOT_SUPPORTED, message="no sparse inputs")
    assert (error.error_code, str(error)) == (ExportErrorType.NOT_SUPPORTED, "[NOT_SUPPORTED] no sparse inputs")
    with pytest.raises(TypeError, match="error_code, message"):
        ExportError()
