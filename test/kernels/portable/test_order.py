# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Sorts, order statistics, searches and unique values: special values, every dtype, invalid arguments."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.comparison import mismatch
from oracle.kernels.kernel_entry import call_kernel

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
SPECIAL = [3.0, math.nan, -0.0, math.inf, 0.0, 3.0, -math.inf, 1.5, math.nan, -7.25, 3.0, 1.5]


def _values(dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(0)
    if dtype.is_floating_point:
        return torch.tensor([SPECIAL, SPECIAL[::-1], [5.0] * 12, list(range(12))]).to(dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, (4, 12)).bool()
    extremes = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)
    return torch.cat([torch.randint(0, 5, (4, 10)).to(dtype), extremes.expand(4, 2)], 1)


# Calls with determined indices.
SAME = [
    *((aten.sort.stable, (), {"stable": True, "dim": d, "descending": down}) for d in (0, 1) for down in (0, 1)),
    *((getattr(aten, name).default, (d,), {}) for name in ("cummax", "cummin") for d in (0, -1)),
    (aten.unique_consecutive.default, (True, True), {}),
    (aten.unique_consecutive.default, (True, True, 1), {}),
]


@pytest.mark.parametrize("case", SAME, ids=lambda case: f"{case[0]}{case[1]}{case[2]}")
def test_operators_match_eager_on_special_values(case: tuple[Any, ...]) -> None:
    operator, args, options = case
    for dtype in (*FLOATS, *INTEGERS, torch.bool):
        x = _values(dtype)
        with KernelsAgainstEager() as checked:
            operator(x, *args, **{k: bool(v) if k != "dim" else v for k, v in options.items()})
        assert checked.tested, f"no kernel was found for {operator}"
        assert not checked.faults, "\n".join(checked.faults)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=str)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
def test_one_of_each_line_is_chosen_as_eager_does(dtype: torch.dtype, keepdim: bool, dim: int) -> None:
    names = {
        "aten::kthvalue.values": (2,),
        "aten::mode.values": (),
        "aten::median.dim_values": (),
        "aten::nanmedian.dim_values": (),
    }
    for name, args in names.items():
        # Eager compares NaN with anything as it comes when it looks for the most frequent.
        x = _values(dtype).nan_to_num(9) if name == "aten::mode.values" else _values(dtype)
        function = getattr(torch, name.removeprefix("aten::").partition(".")[0])
        expected = function(x, *args, dim=dim, keepdim=keepdim)
        out = [torch.empty_like(expected[0]), torch.empty_like(expected[1])]
        call = call_kernel(name, x, *args, dim, keepdim, out=out)
        assert call.error == 0, call.message
        # The choice among equal elements is unspecified.
        index = call.outputs[1] if keepdim else call.outputs[1].unsqueeze(dim)
        picked = x.gather(dim, index) if keepdim else x.gather(dim, index).squeeze(dim)
        assert not (fault := mismatch(name, [call.outputs[0], picked], [expected[0]] * 2)), f"{name}: {fault}"


@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=str)
@pytest.mark.parametrize(("largest", "in_order"), list(itertools.product([False, True], repeat=2)))
def test_topk_picks_the_same_equal_elements_as_eager(dtype: torch.dtype, largest: bool, in_order: bool) -> None:
    torch.manual_seed(0)
    lines = [torch.randint(0, values, (3, 400, 2)).to(dtype) for values in (1, 2, 5, 50)]
    if dtype.is_floating_point:
        lines.append(_values(dtype)[:, :, None])
    for x, k in itertools.product(lines, (1, 3, 6, 7, 12, 100, 399, 400)):
        if k <= x.size(1):
            expected = torch.topk(x, k, 1, largest, in_order)
            out = [torch.empty_like(one) for one in expected]
            call = call_kernel("aten::topk.values", x, k, 1, largest, in_order, out=out)
            assert torch.equal(call.outputs[1], expected.indices), f"{k} of {list(x.shape)}"


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_of_all_matches_eager(name: str) -> None:
    for x in (*map(_values, (*FLOATS, *INTEGERS)), torch.empty(0), torch.tensor(math.nan), torch.tensor(3)):
        expected = getattr(torch, name)(x)
        call = call_kernel(f"aten::{name}.out", x, out=torch.empty_like(expected))
        assert not mismatch(f"aten::{name}.out", call.outputs, [expected])


@pytest.mark.parametrize("right", [False, True])
def test_places_in_sequences_match_eager(right: bool) -> None:
    torch.manual_seed(0)
    for dtype in (*FLOATS, *INTEGERS):
        rows = torch.randint(0, 9, (3, 8)).to(dtype)
        values = torch.randint(-1 if dtype.is_signed else 0, 10, (3, 5)).to(dtype)
        if dtype.is_floating_point:
            rows[1, -1], values[1, 2], values[0, 0] = math.nan, math.nan, -math.inf
        sorter = rows.argsort(1)
        with KernelsAgainstEager() as checked:
            aten.searchsorted.Tensor(rows, values, right=right, sorter=sorter)
            aten.searchsorted.Tensor(rows.sort(1).values, values, out_int32=True, right=right)
            aten.searchsorted.Scalar(rows.sort(1).values[0], 4, right=right)
            aten.bucketize.Tensor(values, rows.sort(1).values[0], right=right)
            aten.bucketize.Scalar(4, rows.sort(1).values[0], right=right)
        names = {"aten::searchsorted.Tensor_out", "aten::searchsorted.Scalar_out", "aten::bucketize.Tensor_out"}
        assert checked.tested >= {*names, "aten::bucketize.Scalar_out"}
        assert not checked.faults, "\n".join(checked.faults)


def test_places_of_values_of_another_dtype_match_eager() -> None:
    torch.manual_seed(0)
    dtypes = (*FLOATS, *INTEGERS, torch.bool)
    for of_sequence, of_values in itertools.permutations(dtypes, 2):
        rows = (torch.rand(3, 8) * 9).to(of_sequence).sort(1).values
        values = (torch.rand(3, 5) * 10).to(of_values)
        with KernelsAgainstEager() as checked:
            aten.searchsorted.Tensor(rows, values)
            aten.searchsorted.Tensor(rows, values.t().contiguous().t(), sorter=rows.argsort(1))
            aten.bucketize.Tensor(values, rows[0], right=True)
            aten.bucketize.Tensor(torch.tensor(2.6).to(of_values), rows[0])  # a zero-dim tensor promotes as a number
            aten.bucketize.Tensor(values[:0], rows[0])
            aten.bucketize.Tensor(values, rows[0, :0])
        assert checked.tested >= {"aten::searchsorted.Tensor_out", "aten::bucketize.Tensor_out"}
        assert not checked.faults, "\n".join(checked.faults)


def test_unique_values_match_eager() -> None:
    for dtype in (*FLOATS, *INTEGERS, torch.bool):
        x = _values(dtype)[[0, 2, 3], :8]  # eager's order of several NaN is unspecified
        for flags in ((True, True, True), (True, True, False), (False, False, True), (True, False, False)):
            with KernelsAgainstEager() as checked:
                aten._unique2(x, *flags)
            assert checked.tested == {"aten::_unique2.out"}
            assert not checked.faults, "\n".join(checked.faults)


def test_slices_are_distinguished_as_eager_does() -> None:
    for dtype in (torch.float32, torch.int16, torch.bool):
        x = torch.tensor([[1, 0, 1, 0], [1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=dtype)
        for dim in (0, 1, -1):
            with KernelsAgainstEager() as checked:
                aten.unique_dim(x, dim)
            assert checked.tested == {"aten::unique_dim.out"}
            assert not checked.faults, "\n".join(checked.faults)


LONG = torch.empty(4, dtype=torch.int64)
WILD = [
    ("aten::kthvalue.values", (torch.ones(4), 5), [torch.empty(()), LONG[0]]),
    ("aten::kthvalue.values", (torch.ones(4), 0), [torch.empty(()), LONG[0]]),
    ("aten::median.dim_values", (torch.ones(2, 0), 1), [torch.empty(2), LONG[:2]]),
    ("aten::mode.values", (torch.ones(4, dtype=torch.cfloat), 0), [torch.empty((), dtype=torch.cfloat), LONG[0]]),
    ("aten::topk.values", (torch.ones(4), 5), [torch.empty(5), torch.empty(5, dtype=torch.int64)]),
    ("aten::cummax.out", (torch.ones(4), 1), [torch.empty(4), LONG]),
    ("aten::searchsorted.Tensor_out", (torch.ones(2, 3), torch.ones(3, 2)), torch.empty(3, 2, dtype=torch.int64)),
    ("aten::searchsorted.Tensor_out", (torch.ones(3), torch.ones(4, dtype=torch.complex64)), LONG),
    ("aten::bucketize.Tensor_out", (torch.ones(4), torch.ones(2, 2)), LONG),
    ("aten::unique_dim.out", (torch.ones(4), 1), [torch.empty(4), LONG, LONG]),
    ("aten::unique_dim.out", (torch.ones(4, 0), 0), [torch.empty(4, 0), LONG, LONG]),
    ("aten::unique_consecutive.out", (torch.ones(4, 0), True, True, 0), [torch.empty(4, 0), LONG, LONG]),
]


@pytest.mark.parametrize(("name", "args", "out"), WILD)
def test_invalid_arguments_are_refused(name: str, args: tuple[Any, ...], out: Any) -> None:
    assert call_kernel(name, *args, out=out).error != 0


@pytest.mark.parametrize("sorter", [[0, 1, 3], [0, -1, 2], [1 << 40, 0, 1]], ids=str)
def test_an_invalid_sorter_is_refused(sorter: list[int]) -> None:
    args = (torch.ones(3), torch.ones(4), False, False, None, torch.tensor(sorter))
    assert call_kernel("aten::searchsorted.Tensor_out", *args, out=torch.empty(4, dtype=torch.int64)).error != 0
