# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels on several threads give bit-identical results to one thread."""

import threading

import pytest
import torch
from models.function_module import Function
from oracle.models.xnnpack_runtime import HAS_XNNPACK
from oracle.tolerances import LONG_ROWS
from torch import nn

from executorch.exir import to_edge
from executorch.runtime import Runtime

pytestmark = pytest.mark.skipif(not HAS_XNNPACK, reason="the thread pool's workers come with XNNPACK")


class Product(nn.Module):
    """A batch of matrix products."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bmm(x, x.transpose(1, 2))


def image(layout: torch.memory_format, channels: int = 24, size: int = 41) -> torch.Tensor:
    return torch.randn(2, channels, size, size).to(memory_format=layout)


# Sizes that no number of threads or tiles divides; few rows, few columns, many of both; all forms of convolution.
CASES = {
    "linear, many rows": (nn.Linear(257, 301), torch.randn(131, 257)),
    "linear, one row": (nn.Linear(1031, 997), torch.randn(1, 1031)),
    "linear, few columns": (nn.Linear(1031, 5), torch.randn(307, 1031)),
    "batched product": (Product(), torch.randn(3, 101, 67)),
    "half floats": (nn.Linear(257, 301).half(), torch.randn(131, 257).half()),
} | {
    f"{name}, {layout}": (make(), image(layout))
    for layout in (torch.contiguous_format, torch.channels_last)
    for name, make in {
        "convolution": lambda: nn.Conv2d(24, 37, 3, stride=2, padding=1),
        "groups": lambda: nn.Conv2d(24, 36, 3, groups=3),
        "pointwise": lambda: nn.Conv2d(24, 61, 1),
        "depthwise": lambda: nn.Conv2d(24, 24, 5, padding=2, groups=24),
        "depthwise with stride": lambda: nn.Conv2d(24, 48, 3, stride=2, groups=24),
        "transposed": lambda: nn.ConvTranspose2d(24, 19, 4, stride=2),
    }.items()
}


# No matrix products: sizes large enough for several threads, again without a common divisor.
ELEMENTS = torch.randn(3, 211, 881)
ROW, CHANNELS = torch.randn(881), torch.randn(211, 1)
CASES |= {
    name: (Function(function), ELEMENTS)
    for name, function in {
        "same sizes": lambda x: x + x * x,
        "a row for each row": lambda x: x * ROW,
        "a number for each channel": lambda x: x * CHANNELS,
        "a number": lambda x: x * 2.5 - 1,
        # An element beyond 8192 makes its neighbors use another formula too.
        "sine, large and small": lambda x: torch.sin(x * 4000),
        "gelu": nn.functional.gelu,
        "hardswish": nn.functional.hardswish,
        "comparison": lambda x: (x > 0.5).to(torch.int32),
        "integers": lambda x: (x * 100).to(torch.int64) // 7,
        "softmax": lambda x: x.softmax(-1),
        "softmax across": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "layer norm": lambda x: nn.functional.layer_norm(x, [881], ROW, ROW),
        "group norm": lambda x: nn.functional.group_norm(x.reshape(3, 881, 211), 881, ROW, ROW),
        "batch norm": lambda x: nn.functional.batch_norm(
            x.permute(0, 2, 1), ROW, ROW.abs() + 0.5, ROW, ROW, False, 0.1, 1e-5
        ),
        "permutation": lambda x: x.permute(2, 0, 1).contiguous() + 0,
        "transposition": lambda x: x.reshape(633, 881).t().contiguous() + 0,
        "slices": lambda x: torch.cat([x[:, ::2], x[:, 1::3]], 1),
        "sum of rows": lambda x: x.sum(-1),
        "mean of columns": lambda x: x.mean(1),
        "largest of rows": lambda x: x.amax(-1),
    }.items()
}
CASES["sixteen bits"] = (Function(lambda x: (x * 2.5).tanh() + x), ELEMENTS.bfloat16())
CASES["softmax of halves"] = (Function(lambda x: x.softmax(-1)), ELEMENTS.half())
CASES |= {
    f"{name}, {layout}": (make, image(layout, 25, 131))
    for layout in (torch.contiguous_format, torch.channels_last)
    for name, make in {
        "max pool": nn.MaxPool2d(3, 2, 1),
        "average pool": nn.AvgPool2d(3, 2, 1, ceil_mode=True),
        "fitted pool": nn.AdaptiveAvgPool2d((5, 1)),
        "scaled up": nn.Upsample(scale_factor=2, mode="bilinear"),
    }.items()
}


def test_a_fault_of_any_thread_is_an_error() -> None:
    x = torch.ones(400_003, dtype=torch.int64)
    model = Function(lambda y: torch.ones_like(y) // y)
    program = Runtime.get().load_program(to_edge(torch.export.export(model, (x,))).to_executorch().buffer)
    method = program.load_method("forward", threads=3)
    assert torch.equal(method.execute([x])[0], x)
    for place in (0, 200_000, 400_002):
        y = x.clone()
        y[place] = 0
        with pytest.raises(RuntimeError, match="division by zero"):
            method.execute([y])


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES)
def test_threads_change_no_bit(case: str) -> None:
    model, x = CASES[case]
    program = Runtime.get().load_program(to_edge(torch.export.export(model.eval(), (x,))).to_executorch().buffer)
    alone = program.load_method("forward", threads=1).execute([x])[0]
    with torch.no_grad():
        torch.testing.assert_close(alone, model(x), **LONG_ROWS[x.dtype])
    for threads in (2, 3, 5):
        assert torch.equal(program.load_method("forward", threads=threads).execute([x])[0], alone)


def test_methods_divide_one_pool_between_them() -> None:
    model, x = CASES["convolution, torch.contiguous_format"]
    buffer = to_edge(torch.export.export(model.eval(), (x,))).to_executorch().buffer
    methods = [Runtime.get().load_program(buffer).load_method("forward", threads=2) for _ in range(4)]
    expected = methods[0].execute([x])[0].clone()
    equal: list[bool] = []

    def run(index: int) -> None:
        equal.extend(torch.equal(methods[index].execute([x])[0], expected) for _ in range(10))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(methods))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 40
