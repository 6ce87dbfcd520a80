# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls that XNNPACK cannot compute exactly stay outside of delegates, and the lowering report has the reason."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.models.xnnpack_runtime import needs_xnnpack
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack


def _r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _dequantized(x: torch.Tensor, integers: torch.Tensor) -> torch.Tensor:
    """Dequantize integers of elsewhere with the scale that was chosen for x."""
    parameters = torch.ops.quantized_decomposed.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    return torch.ops.quantized_decomposed.dequantize_per_tensor.tensor(integers, *parameters, -128, 127, torch.int8) * 2


REFUSED: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...], str]] = {
    "another power": (lambda x: x**1.4, (_r(3).abs(),), "exponent is 1.4"),
    "log-softmax of one": (lambda x: torch.log_softmax(x, 1), (_r(3, 1),), "expected a static size above 1"),
    "places that are computed": (
        lambda x, places: x[places] * 2,
        (_r(10), torch.arange(10).flip(0)),
        "its indices are computed, expected constants",
    ),
    "gathered places that are computed": (
        lambda x, places: x.gather(0, places) * 2,
        (_r(10), torch.arange(10).flip(0)),
        "its indices are computed, expected constants",
    ),
    "places of dimensions apart": (
        lambda x: x[torch.tensor([1, 0]), :, torch.tensor([0, 2])] * 2,
        (_r(3, 4, 5),),
        "it indexes dimensions that are not neighbors",
    ),
    "integers that another call quantized": (
        _dequantized,
        (_r(3), torch.arange(3, dtype=torch.int8)),
        "a reader is neither a linear layer nor",
    ),
    "integers": (lambda x, y: x + y, (torch.arange(3), torch.arange(3)), "dtype torch.int64"),
    "ceil_mode": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), (_r(1, 2, 6, 6),), "ceil_mode"),
    "dilated windows that begin past the image": (
        lambda x: F.max_pool2d(x, 2, 1, 1, (2, 1)),
        (_r(1, 2, 6, 6),),
        "a window may begin past the image",
    ),
    "dilated windows of volumes": (
        lambda x: F.max_pool3d(x, 2, dilation=2) * 2,
        (_r(1, 2, 4, 4, 4),),
        "it is dilated",
    ),
    "largest of one": (lambda x: x.amax(1) * 2, (_r(3, 1),), "its window has a single element"),
    "more rows than a stride": (
        lambda x: F.conv_transpose2d(x, torch.ones(2, 2, 2, 2), output_padding=(1, 0), dilation=2),
        (_r(1, 2, 3, 3),),
        "output padding is [1, 0], expected less than stride [1, 1]",
    ),
    "a sum of too many": (lambda x: x.cumsum(0) * 2, (_r(5000),), "it sums 5000 elements, expected a static number"),
    "bounds of more dimensions": (
        lambda x, low: torch.clamp(x, low) * 2,
        (_r(3), _r(2, 3)),
        "its bounds have more dimensions",
    ),
    "a vector as weight": (
        lambda x: F.linear(x, torch.arange(4.0)),
        (_r(3, 4),),
        "its constant weight is a vector, expected a matrix",
    ),
    "no elements": (lambda x: x * 2, (_r(0, 3),), "is empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_inexact_call_is_rejected_with_the_reason(name: str) -> None:
    function, inputs, reason = REFUSED[name]
    exported = torch.export.export(Function(function), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    program = lowered.to_executorch()
    assert reason in str(program.verdict)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    torch.testing.assert_close(method.execute(inputs)[0], function(*inputs))


class _Window(nn.Module):
    """A buffer whose last row is the newest input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.rows[2:] = x
        return self.rows * 2


def test_a_part_of_a_buffer_is_written_in_place_outside_of_delegates() -> None:
    lowered = to_edge_transform_and_lower(
        torch.export.export(_Window(), (_r(1, 4),)), partitioner=[XnnpackPartitioner()]
    )
    program = lowered.to_executorch()
    assert "it writes to a buffer" in str(program.verdict)
    method, x = Runtime.get().load_program(program.buffer).load_method("forward"), _r(1, 4)
    torch.testing.assert_close(method.execute((x,))[0], torch.cat([torch.zeros(2, 4), x * 2]))


@pytest.mark.filterwarnings("ignore:.*no upper bound")
def test_nodes_of_unbounded_sizes_are_not_delegated_and_the_reason_is_reported() -> None:
    batch = torch.export.Dim("batch", min=1)
    exported = torch.export.export(Function(lambda x: torch.tanh(x * 2)), (_r(4, 3),), dynamic_shapes=(({0: batch},),))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    assert "has a size without an upper bound" in str(program.verdict)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for size in (1, 1000):
        x = _r(size, 3)
        torch.testing.assert_close(method.execute((x,))[0], torch.tanh(x * 2))


def test_a_dilated_window_inside_the_padding_is_a_run_time_error() -> None:
    images = _r(1, 2, 8, 5)
    shapes = (({2: torch.export.Dim("height", min=1, max=8)},),)
    exported = torch.export.export(Function(lambda x: F.max_pool2d(x, 2, 1, 1, 2)), (images,), dynamic_shapes=shapes)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for height in (8, 2):
        x = images[:, :, :height].clone()
        torch.testing.assert_close(method.execute([x])[0], F.max_pool2d(x, 2, 1, 1, 2))
    with pytest.raises(RuntimeError, match="MaxPooling2d"):
        method.execute([images[:, :, :1].clone()])


def test_products_whose_sizes_are_equal_only_at_run_time_are_not_delegated() -> None:
    def multiply(x: torch.Tensor, *counts: torch.Tensor) -> torch.Tensor:
        n, a, b = (count.item() for count in counts)
        for size, largest in ((n, 5), (a, 5), (b, 4)):
            torch._check(size >= 0)
            torch._check(size <= largest)
        torch._check(2 * n == a + b)
        left, right = x[:, :n].repeat(1, 2), torch.cat([x.t()[:a], x.t()[:b] * 2])
        return left.sin() @ right.cos()

    def call(n: int, a: int) -> tuple[torch.Tensor, ...]:
        return (_r(4, 8), *map(torch.tensor, (n, a, 2 * n - a)))

    exported = torch.export.export(Function(multiply), call(2, 1), strict=False)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    assert "are equal only at run time" in str(program.verdict)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for args in (call(2, 1), call(3, 3), call(1, 0)):
        torch.testing.assert_close(method.execute(args)[0], multiply(*args))
