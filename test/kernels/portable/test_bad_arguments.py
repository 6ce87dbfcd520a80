# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels refuse invalid arguments with a message, and never access other memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses

X = torch.arange(12.0).reshape(3, 4)
BIG = 2**62


def index(*values: int) -> torch.Tensor:
    return torch.tensor(values)


# Small index tensors that select 2^64 elements together, and operands without elements, of as many pairs with 1 for 0.
MANY = (
    torch.zeros([1] * 16),
    [torch.zeros([16 if i == d else 1 for i in range(16)], dtype=torch.int64) for d in range(16)],
)
SPREAD = (torch.empty(0, 2**30, 1, 2**12), torch.empty(0, 1, 2**30, 1))

# kernel, arguments, a word of the message
REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("add.out", (X, torch.ones(5)), "broadcast"),
    ("bitwise_and.Tensor_out", (X, X), "integers"),
    ("where.self_out", (X, X, X), "condition"),
    ("clamp.out", (X, None, None), "neither"),
    ("gelu.out", (X,), "approximate"),
    ("sum.IntList_out", (X, [2]), "dim"),
    ("sum.IntList_out", (X, [0, 0]), "twice"),
    ("sum.IntList_out", (X, [-3]), "dim"),
    ("amax.out", (torch.empty(0, 3), [0]), "zero elements"),
    ("view_copy.out", (X, [5, -1]), "view"),
    ("view_copy.out", (X, [BIG, BIG]), "view"),
    ("view_copy.out", (X, [-1, -1]), "view"),
    ("permute_copy.out", (X, [0, 0]), "twice"),
    ("permute_copy.out", (X, [0]), "dims"),
    ("expand_copy.out", (X, [3, 5]), "expand"),
    ("select_copy.int_out", (X, 0, 3), "index"),
    ("select_copy.int_out", (X, 0, -BIG), "index"),
    ("slice_copy.Tensor_out", (X, 0, 0, 3, 0), "step"),
    ("narrow_copy.out", (X, 0, 2, 2), "reach"),
    ("as_strided_copy.out", (X, [3, 4], [4, 2]), "reaches"),
    ("as_strided_copy.out", (X, [BIG, BIG], [BIG, BIG]), "reaches"),
    ("as_strided_copy.out", (X, [2], [-1]), "negative"),
    ("as_strided_copy.out", (X, [2], [1], 13), "storage_offset"),
    ("unfold_copy.out", (X, 1, 5, 1), "size"),
    ("repeat.out", (X, [BIG, BIG]), "range"),
    ("repeat.out", (X, [2]), "repeats"),
    ("cat.out", ([X, torch.ones(2, 3)], 0), "fit"),
    ("cat.out", ([], 0), "none"),
    ("stack.out", ([X, torch.ones(3, 3)],), "shape"),
    ("pixel_shuffle.out", (torch.ones(1, 3, 2, 2), 2), "multiple"),
    ("pixel_shuffle.out", (torch.ones(1, 4, 2, 2), 0), "factor"),
    ("full.out", ([-1, 2], 0), "range"),
    ("full.out", ([BIG, 2], 0), "range"),
    ("gather.out", (X, 0, torch.full((1, 4), 3)), "index"),
    ("gather.out", (X, 0, torch.full((1, 4), -1)), "index"),
    ("gather.out", (X, 0, torch.zeros(1, 5, dtype=torch.int64)), "fit"),
    ("gather.out", (X, 0, torch.zeros(1, 4)), "int64"),
    ("scatter.value_out", (X, 1, torch.full((3, 1), 4), 1.0), "index"),
    ("masked_scatter.out", (X, torch.ones(3, 4, dtype=torch.uint8), X), "bool"),
    ("roll.out", (torch.tensor(1.0), [0], [0]), "rank 0"),
    ("upsample_nearest2d.out", (torch.ones(1, 1, 2, 2), [-(2**63), 2]), "output_size"),
    ("upsample_bilinear2d.out", (torch.ones(1, 1, 2, 2), [BIG, BIG], False), "output_size"),
    ("avg_pool2d.out", (torch.ones(1, 1, 2, 2), [2, 2], [1, 1], [2**63 - 1, 0]), "padding"),
    ("avg_pool2d.out", (torch.ones(1, 1, 2, 2), [2, 2], [-(2**63), 1]), "stride"),
    ("scatter.src_out", (X, 1, torch.zeros(3, 4, dtype=torch.int64), torch.ones(3, 3)), "fit"),
    ("scatter_reduce.two_out", (X, 1, torch.zeros(3, 4, dtype=torch.int64), X, "median"), "reduce"),
    ("index_select.out", (X, 0, index(0, 3)), "index"),
    ("embedding.out", (X, index(0, 3)), "index"),
    ("embedding.out", (X, index(-1)), "index"),
    ("index.Tensor_out", (X, [index(3)]), "index"),
    ("index.Tensor_out", (X, [None, index(-5)]), "index"),
    ("index.Tensor_out", (X, [index(0), index(0), index(0)]), "too many"),
    ("index.Tensor_out", (X, [torch.ones(4, dtype=torch.bool)]), "mask"),
    ("index.Tensor_out", MANY, "counted"),
    ("index_put.out", (*MANY, X[0, 0]), "counted"),
    ("masked_select.out", (SPREAD[0], SPREAD[1].bool()), "counted"),
    ("add.out", SPREAD, "cannot be resized"),
    ("index_put.out", (X, [index(0)], torch.ones(5)), "broadcast"),
    ("masked_scatter.out", (X, X >= 0, torch.ones(3)), "source"),
    ("topk.values", (X, 5), "k must"),
    ("select_scatter.out", (X, torch.ones(3), 0, 1), "src"),
    ("tril.out", (torch.ones(3),), "rank"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}{case[2]}")
def test_a_kernel_refuses(case: tuple[str, tuple[Any, ...], str]) -> None:
    name, arguments, word = case
    options = {"approximate": "relu"} if name == "gelu.out" else {}
    out: Any = torch.empty(3, 4)
    if name.startswith("bitwise"):
        out = out.int()
    elif name == "index_put.out":
        out = torch.empty_like(arguments[0])
    elif name == "topk.values":
        out = [out, torch.empty(3, 4, dtype=torch.int64)]
    assert word in assert_kernel_refuses(f"aten::{name}", *arguments, out=out, **options)


# Numbers count as lists of one: kernel, arguments, out
NUMBERS: list[tuple[str, tuple[Any, ...], torch.Tensor]] = [
    ("scatter_add.out", (X[0], 0, index(0, 1, 2), X[0, 0]), X[1]),
    ("scatter.src_out", (X[0], 0, torch.tensor(0), torch.empty(0)), X[1]),
    ("scatter_reduce.two_out", (X[0, 0], 0, index(0, 0), X[0, 0], "sum"), X[1, 1]),
    ("gather.out", (torch.empty(0), 0, torch.tensor(0)), X[1, 1]),
]


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: case[0])
def test_an_index_and_a_number_must_fit_as_lists_do(case: tuple[str, tuple[Any, ...], torch.Tensor]) -> None:
    name, arguments, out = case
    message = assert_kernel_refuses(f"aten::{name}", *arguments, out=out.clone())
    assert "fit" in message or "outside" in message


@pytest.mark.parametrize("name", ["remainder.Tensor_out", "fmod.Tensor_out", "floor_divide.out"])
def test_integers_are_not_divided_by_zero(name: str) -> None:
    x = torch.tensor([1, -(2**63)])
    out = torch.empty(2, dtype=torch.int64)
    assert "zero" in assert_kernel_refuses(f"aten::{name}", x, torch.tensor([0, 1]), out=out)


def test_an_out_without_room_is_refused() -> None:
    assert "resized" in assert_kernel_refuses("aten::add.out", X, X, out=torch.empty(3, 3))
    assert "resized" in assert_kernel_refuses("aten::add.out", X, X, out=torch.empty(12))


def test_outputs_must_be_as_many_as_the_parts() -> None:
    assert "outputs" in assert_kernel_refuses("aten::split_copy.Tensor_out", X, 2, 1, out=[[torch.empty(3, 2)]])
    parts = [torch.empty(3, 2), torch.empty(3, 2)]
    assert "split_sizes" in assert_kernel_refuses("aten::split_with_sizes_copy.out", X, [2, 3], 1, out=[parts])
    assert "left" in assert_kernel_refuses("aten::split_with_sizes_copy.out", X, [2, 1], 1, out=[parts])


def test_indices_that_are_overwritten_while_they_are_used_are_refused() -> None:
    """A damaged program may place the output over the indices, so a kernel checks each index when it uses it."""
    huge = torch.full((4,), 1e30, dtype=torch.float64)
    places = torch.zeros(200, dtype=torch.int64)
    out = places.view(torch.float64)[1:101]
    assert "outside" in assert_kernel_refuses("aten::gather.out", huge, 0, places[:100], out=out)
    places = torch.zeros(200, dtype=torch.int64)
    out = places.view(torch.float64)[1:101]
    assert "outside" in assert_kernel_refuses("aten::index_select.out", huge, 0, places[:100], out=out)
    places = torch.ones(100, dtype=torch.int64)
    same = places.view(torch.float64)
    arguments = (same.clone(), 0, places, huge[:1].expand(100).contiguous())
    assert "outside" in assert_kernel_refuses("aten::scatter.src_out", *arguments, out=same)
