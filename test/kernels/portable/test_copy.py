# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies between dtypes and dim orders, operators that write in place, and memory in any order."""

from __future__ import annotations

import itertools

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses
from oracle.kernels.kernel_entry import call_kernel

CLONE = torch._C.parse_schema(
    "dim_order_ops::_clone_dim_order.out"
    "(Tensor self, *, bool non_blocking=False, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)"
)
EMPTY = torch._C.parse_schema(
    "dim_order_ops::_empty_dim_order.out(int[] size, *, int[]? dim_order=None, Tensor(a!) out) -> Tensor(a!)"
)
DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


def to_dim_order(x: torch.Tensor, out: torch.Tensor, dim_order: list[int] | None) -> torch.Tensor:
    for name in ("dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out"):
        call = call_kernel(name, x, out=out, schema=CLONE, dim_order=dim_order)
        assert call.error == 0, call.message
    return call.outputs[0]


@pytest.mark.parametrize("to", DTYPES, ids=str)
def test_values_change_dtype_as_in_eager(to: torch.dtype) -> None:
    for dtype in DTYPES:
        x = torch.tensor([[0, 1, 2], [7, 100, 127]]).to(dtype)
        expected = x.to(to)
        found = to_dim_order(x, torch.empty_like(expected), [0, 1])
        assert torch.equal(found.to(torch.float64), expected.to(torch.float64)), f"{dtype} to {to}"


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 5), (2, 1, 4, 1), (0, 3, 4, 5), (3, 40, 17, 1)], ids=str)
def test_values_move_between_dim_orders(shape: tuple[int, ...]) -> None:
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    orders = ([0, 1, 2, 3], [0, 2, 3, 1], [3, 1, 0, 2])
    for source, target in itertools.product(orders, orders):
        given = x.permute(source).contiguous().permute([source.index(d) for d in range(4)])
        room = torch.zeros(x.permute(target).shape).permute([target.index(d) for d in range(4)])
        assert torch.equal(to_dim_order(given, room, target if min(shape) > 1 else None), x)


def test_an_out_in_another_dim_order_than_requested_is_refused() -> None:
    x = torch.randn(2, 3, 4, 5)
    name = "dim_order_ops::_to_dim_order_copy.out"
    assert "dim_order" in assert_kernel_refuses(
        name, x, out=torch.empty(2, 3, 4, 5), schema=CLONE, dim_order=[0, 2, 3, 1]
    )
    assert "twice" in assert_kernel_refuses(name, x, out=torch.empty(2, 3, 4, 5), schema=CLONE, dim_order=[0, 2, 2, 1])


def test_empty_takes_the_size_it_is_given() -> None:
    call = call_kernel(
        "dim_order_ops::_empty_dim_order.out", [2, 2], out=torch.empty(3, 4), schema=EMPTY, dim_order=[0, 1]
    )
    assert (call.error, tuple(call.outputs[0].shape)) == (0, (2, 2))


def test_a_conjugate_of_a_real_tensor_is_a_copy() -> None:
    x = torch.randn(3)
    assert torch.equal(call_kernel("aten::_conj_physical.out", x, out=torch.empty(3)).outputs[0], x)


def test_copy_broadcasts_its_source() -> None:
    target, source = torch.zeros(2, 3), torch.arange(3)
    assert torch.equal(
        call_kernel("aten::copy.out", target, source, out=torch.empty(2, 3)).outputs[0], source.expand(2, 3) + 0.0
    )
    call = call_kernel("aten::copy_", target, source, out=[])
    assert call.error == 0 and torch.equal(target, source.expand(2, 3) + 0.0)
    assert "broadcast" in assert_kernel_refuses("aten::copy_", target, torch.zeros(4), out=[])


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_writes_in_place(accumulate: bool) -> None:
    x, index = torch.randn(4, 5), [None, torch.tensor([1, -1, 1])]
    values = torch.ones(1, 3) if not accumulate else torch.randn(4, 3)
    expected = torch.ops.aten.index_put(x, index, values, accumulate)
    call = call_kernel("aten::index_put_", x, index, values, accumulate, out=[])
    assert call.error == 0, call.message
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("name", ["aten::add.out", "aten::mul.out", "aten::maximum.out"])
def test_operands_may_lie_in_any_dim_order(name: str) -> None:
    a, b = torch.randn(2, 3, 4, 5), torch.randn(3, 1, 5)
    for first, out in itertools.product((torch.contiguous_format, torch.channels_last), repeat=2):
        call = call_kernel(name, a.to(memory_format=first), b, out=torch.empty_like(a, memory_format=out))
        torch.testing.assert_close(call.outputs[0], getattr(torch, name[6:-4])(a, b))


@pytest.mark.parametrize("dim", [[0], [1], [2, 3], [0, 2], [0, 1, 2, 3]], ids=str)
def test_reductions_read_any_dim_order(dim: list[int]) -> None:
    x = torch.randn(2, 3, 4, 5)
    for name in ("sum.IntList_out", "amax.out", "var.correction_out"):
        options = {"correction": 1} if "var" in name else {}
        function = getattr(torch, name.partition(".")[0])
        output = call_kernel(
            f"aten::{name}",
            x.to(memory_format=torch.channels_last),
            dim,
            out=torch.empty_like(function(x, dim)),
            **options,
        )
        assert output.error == 0, output.message
        torch.testing.assert_close(output.outputs[0], function(x, dim))


@pytest.mark.parametrize("name", ["aten::var.out", "aten::std.out"])
def test_spread_takes_the_older_flag_for_its_correction(name: str) -> None:
    x, function = torch.randn(4, 5), torch.var if "var" in name else torch.std
    for unbiased in (False, True):
        output = call_kernel(name, x, [1], unbiased, True, out=torch.empty(4, 1)).outputs[0]
        torch.testing.assert_close(output, function(x, 1, unbiased=unbiased, keepdim=True))


def test_index_order_does_not_depend_on_memory_order() -> None:
    x = torch.randn(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert torch.equal(
        call_kernel("aten::view_copy.out", last, [6, 20], out=torch.empty(6, 20)).outputs[0], x.view(6, 20)
    )
    assert torch.equal(call_kernel("aten::argmax.out", last, out=torch.tensor(0)).outputs[0], x.argmax())
    mask = x > 0
    output = call_kernel("aten::masked_select.out", last, mask, out=torch.empty(120)).outputs[0]
    assert torch.equal(output, x.masked_select(mask))
    output = call_kernel("aten::nonzero.out", last > 0, out=torch.empty(120, 4, dtype=torch.int64)).outputs[0]
    assert torch.equal(output, mask.nonzero())


def test_results_are_cast_to_the_dtype_of_out() -> None:
    a, b = torch.tensor([200, 3], dtype=torch.uint8), torch.tensor([100, 4], dtype=torch.uint8)
    assert call_kernel("aten::add.out", a, b, out=torch.empty(2)).outputs[0].tolist() == [44, 7]
    assert call_kernel("aten::eq.Tensor_out", a, b, out=torch.empty(2, dtype=torch.float16)).outputs[0].tolist() == [
        0,
        0,
    ]
    message = assert_kernel_refuses("aten::exp.out", torch.ones(2), out=torch.empty(2, dtype=torch.int64))
    assert "float32" in message and "int64" in message
