# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""TensorSpec describes a tensor as torch does, and a ViewSpec a part of another one's memory."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from executorch.exir.schema import TensorShapeDynamism
from executorch.exir.tensor import (
    TensorSpec,
    ViewSpec,
    contiguous_stride_from_shape,
    dim_order_from_stride,
    stride_from_dim_order,
)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_dim_orders_and_strides_are_equivalent(sizes: list[int], chance: object) -> None:
    order = list(range(len(sizes)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    tensor = torch.empty([sizes[dim] for dim in order]).permute(*(order.index(dim) for dim in range(len(sizes))))
    assert list(tensor.shape) == sizes
    strides = stride_from_dim_order(sizes, order)
    assert [step for step, size in zip(strides, sizes, strict=True) if size > 1] == [
        step for step, size in zip(tensor.stride(), sizes, strict=True) if size > 1
    ]
    if 1 not in sizes:
        assert list(dim_order_from_stride(tensor.stride())) == order


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 4), (2, 3, 4)])
def test_contiguous_strides_are_those_of_torch(shape: tuple[int, ...]) -> None:
    assert contiguous_stride_from_shape(shape) == torch.empty(shape).stride()


@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
@pytest.mark.parametrize("strides", [(0, 1), (10, 10, 0, 1)])
def test_a_stride_of_zero_is_refused(strides: tuple[int, ...], kind: type[Exception]) -> None:
    with pytest.raises(kind, match="stride of 0"):
        dim_order_from_stride(strides)


def test_symbolic_strides_are_ordered_by_divisibility() -> None:
    shape_env = ShapeEnv()
    a, b = shape_env.create_unbacked_symint(), shape_env.create_unbacked_symint()
    assert dim_order_from_stride((1, a)) == (1, 0)
    assert dim_order_from_stride((a, 1)) == (0, 1)
    assert dim_order_from_stride((1, a, 2 * a)) == (2, 1, 0)
    assert dim_order_from_stride((2 * a, 1, a)) == (0, 2, 1)
    for unrelated in ((a, b), (a, a)):
        assert dim_order_from_stride(unrelated) == (0, 1)


def test_a_spec_describes_its_tensor() -> None:
    tensor = torch.empty(2, 3, 4, 5, dtype=torch.float16).to(memory_format=torch.channels_last)
    spec = TensorSpec.from_tensor(tensor)
    assert (spec.dtype, spec.shape, spec.stride) == (torch.float16, [2, 3, 4, 5], tensor.stride())
    assert spec.dim_order == (0, 2, 3, 1) and not spec.const and spec.storage is None
    assert spec.nbytes() == tensor.nbytes and spec.is_static_shape_tensor and not spec.is_dynamic_shape_tensor


def test_allocated_memory_is_aligned() -> None:
    spec = TensorSpec(torch.int8, [17])
    assert (spec.allocated_memory, spec.realign(64), spec.allocated_memory) == (32, 64, 64)


def test_a_constant_keeps_only_its_own_bytes() -> None:
    spec = TensorSpec.from_tensor(torch.arange(10)[2:4], const=True)
    assert spec.storage is not None and spec.storage.nbytes() == spec.nbytes() == 16


def test_reading_a_dynamic_spec_does_not_specialize_its_size() -> None:
    exported = export(torch.nn.ReLU(), (torch.randn(3, 4),), dynamic_shapes={"input": {0: Dim("n", min=2, max=8)}})
    value = next(node.meta["val"] for node in exported.graph.nodes if node.op == "placeholder")
    spec = TensorSpec.from_tensor(value)
    assert spec.shape_dynamism is TensorShapeDynamism.DYNAMIC_BOUND and spec.is_upper_bound_tensor
    assert isinstance(spec.shape[0], torch.SymInt)
    assert not value.shape[0].node.expr.is_number
    torch.testing.assert_close(exported.module()(torch.ones(7, 4)), torch.ones(7, 4))


def test_a_view_shares_the_plan_of_its_base() -> None:
    base = TensorSpec(torch.float32, [4, 6])
    view = ViewSpec(base, [2, 6], byte_offset=48)
    within = ViewSpec(view, [6], byte_offset=24)
    view.lifetime, view.mem_id, base.mem_offset = [1, 5], 2, 128
    assert (base.lifetime, base.mem_id) == ([1, 5], 2)
    assert (view.mem_offset, within.mem_offset, within.base) == (176, 200, base)
    base.const = True
    assert view.const and within.const


def test_a_view_outside_of_its_base_is_refused() -> None:
    base = TensorSpec(torch.float32, [4])
    with pytest.raises(ValueError, match="8 bytes at 12 are not inside of the base's 16 bytes"):
        ViewSpec(base, [2], byte_offset=12)
    with pytest.raises(ValueError, match="not inside"):
        ViewSpec(ViewSpec(base, [2], byte_offset=8), [2], byte_offset=4)
