# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The dim-order operators: what they compute, and the layout of their fake tensors."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from executorch.exir.dialects import dim_order_ops  # noqa: F401
from executorch.exir.dim_order_utils import get_dim_order, get_memory_format

OPS = torch.ops.dim_order_ops


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 3, 1]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16])
def test_a_copy_has_the_values_and_the_dim_order(order, dtype):
    x = torch.arange(24).reshape(1, 2, 3, 4)
    found = OPS._to_dim_order_copy(x, dtype=dtype, dim_order=order)
    assert list(found.dim_order()) == order
    assert found.dtype == dtype
    torch.testing.assert_close(found, x.to(dtype))
    with FakeTensorMode() as mode:
        fake = OPS._to_dim_order_copy(mode.from_tensor(x), dtype=dtype, dim_order=order)
    assert fake.stride() == found.stride() and fake.dtype == dtype and fake.device == x.device


def test_a_missing_dim_order_keeps_the_inputs():
    x = torch.randn(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert OPS._clone_dim_order(x).stride() == x.stride()


def test_out_variants_write_to_out():
    x, out = torch.randn(2, 3), torch.empty(0)
    assert OPS._to_dim_order_copy.out(x, out=out) is out
    torch.testing.assert_close(out, x)
    assert OPS._empty_dim_order.out([2, 2], out=torch.empty(0)).shape == (2, 2)


def test_a_dim_order_that_is_not_a_permutation_is_refused():
    with pytest.raises(ValueError, match="not a permutation"):
        OPS._to_dim_order_copy(torch.ones(2, 2), dim_order=[0, 0])


def test_memory_formats_and_dim_orders_are_converted_both_ways():
    assert get_dim_order(torch.channels_last, 4) == [0, 2, 3, 1]
    assert get_dim_order(torch.contiguous_format, 3) == [0, 1, 2]
    assert get_dim_order(torch.preserve_format, 3) is None
    assert get_memory_format([0, 2, 3, 1]) == torch.channels_last
    with pytest.raises(ValueError, match="4 dimensions"):
        get_dim_order(torch.channels_last, 3)
    with pytest.raises(ValueError, match="neither"):
        get_memory_format([1, 0])
