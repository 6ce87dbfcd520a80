# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels on several threads give, to the bit, what they give on one."""

import threading

import pytest
import torch
from oracle.xnnpack_runtime import HAS_XNNPACK
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


@pytest.mark.parametrize("case", CASES)
def test_threads_change_no_bit(case: str) -> None:
    model, x = CASES[case]
    program = Runtime.get().load_program(to_edge(torch.export.export(model.eval(), (x,))).to_executorch().buffer)
    alone = program.load_method("forward", threads=1).execute([x])[0]
    with torch.no_grad():
        tolerance = 2e-2 if x.dtype == torch.half else 1e-4
        torch.testing.assert_close(alone, model(x), rtol=tolerance, atol=tolerance)
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
