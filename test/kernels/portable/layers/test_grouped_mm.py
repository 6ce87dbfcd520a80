# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products of groups of rows against eager, in float64 where eager rounds."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import LONG_SUMS, MODEL

from executorch.exir.dialects import grouped_ops  # noqa: F401  # defines grouped::grouped_mm

KERNEL = "grouped::grouped_mm.out"
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("ends", [[3, 3, 10], [0, 0, 0], [10, 10, 10], [1, 2, 7]], ids=str)
def test_groups_of_any_length_match_eager(dtype: torch.dtype, transposed: bool, ends: list[int]) -> None:
    torch.manual_seed(0)
    rows = torch.randn(10, 7, dtype=torch.float64)
    weights = torch.randn(3, *((5, 7) if transposed else (7, 5)), dtype=torch.float64)
    for index in (torch.int32, torch.int64):
        given = (rows.to(dtype), weights.to(dtype), torch.tensor(ends, dtype=index), transposed)
        call = call_kernel(KERNEL, *given, out=torch.full((10, 5), 77, dtype=dtype))
        assert call.error == 0, call.message
        expected = torch.ops.grouped.grouped_mm(given[0].double(), given[1].double(), *given[2:]).to(dtype)
        rtol, atol = LONG_SUMS[dtype]
        torch.testing.assert_close(call.outputs[0], expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("sizes", [(0, 4, 5, 2), (6, 0, 5, 2), (6, 4, 0, 2), (6, 4, 5, 0), (40, 65, 130, 3)], ids=str)
def test_sizes_of_zero_and_beyond_a_block_match_eager(sizes: tuple[int, ...]) -> None:
    rows, inner, columns, groups = sizes
    given = (torch.randn(rows, inner), torch.randn(groups, inner, columns))
    ends = torch.arange(1, groups + 1) * rows // max(groups, 1)
    call = call_kernel(KERNEL, *given, ends, False, out=torch.full((rows, columns), 77.0))
    assert call.error == 0, call.message
    torch.testing.assert_close(call.outputs[0], torch.ops.grouped.grouped_mm(*given, ends, False), **MODEL)


ROWS, WEIGHTS, ENDS = torch.randn(4, 3), torch.randn(2, 3, 5), torch.tensor([1, 4])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((ROWS, WEIGHTS, torch.tensor([3, 2]), False), "group 1 ends at row 2, expected 3 to 4"),
        ((ROWS, WEIGHTS, torch.tensor([3, 5]), False), "group 1 ends at row 5, expected 3 to 4"),
        ((ROWS, WEIGHTS, torch.tensor([-1, 4]), False), "group 0 ends at row -1, expected 0 to 4"),
        ((ROWS, WEIGHTS, torch.tensor([4]), False), "offs"),
        ((ROWS, WEIGHTS, torch.tensor([1.0, 4.0]), False), "offs"),
        ((ROWS, WEIGHTS, ENDS, True), "inner sizes"),
        ((ROWS, WEIGHTS[0], ENDS, False), "mat2 must have 3 dimensions"),
        ((ROWS[0], WEIGHTS, ENDS, False), "self must have 2 dimensions"),
        ((ROWS.double(), WEIGHTS, ENDS, False), "dtype"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_that_do_not_fit_are_refused(given: tuple[torch.Tensor, ...], words: str) -> None:
    call = call_kernel(KERNEL, *given, out=torch.empty(4, 5))
    assert call.error != 0 and words in call.message
