# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A depthwise convolution alone runs on images in channels-first layout; beside other layers, XNNPACK runs it."""

import pytest
import torch
from models.function_module import Function
from oracle.models.delegated import check, run
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

# Batch, channels, height, width; kernel, stride, padding, dilation.
WINDOWS = {
    "3x3": ((1, 3, 5, 115), 3, 1, 1, 1),
    "3x3, no padding": ((2, 3, 11, 41), 3, 1, 0, 1),
    "3x3, wide padding": ((1, 2, 7, 48), 3, 1, 2, 1),
    "3x3, one row": ((1, 2, 1, 40), 3, 1, 1, 1),
    "batch, one column": ((2, 3, 9, 96), (3, 1), 1, (1, 0), 1),
    "one row": ((1, 2, 1, 101), (1, 7), 1, (0, 2), 1),
    "stride 2": ((1, 4, 11, 98), 3, 2, 1, 1),
    "stride 3 and 2, no padding": ((2, 2, 13, 117), (2, 4), (3, 2), 0, 1),
    "stride beyond the kernel": ((1, 2, 9, 131), 1, 4, 0, 1),
    "dilated, strided": ((1, 2, 20, 123), 3, 2, 2, (3, 2)),
    "few results": ((1, 2, 3, 97), 3, 1, 0, (1, 47)),
    "a narrow image": ((1, 3, 6, 6), 3, 1, 0, 1),
    "7x7": ((1, 2, 14, 100), 7, 1, 3, 1),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_all_kinds_match_eager(name: str) -> None:
    (batch, channels, height, width), kernel, stride, padding, dilation = WINDOWS[name]
    layer = nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels, bias=name != "stride 2")
    check(nn.Sequential(layer, nn.ReLU6()), (torch.randn(batch, channels, height, width),), LAYER)


def test_nan_and_infinity_reach_only_the_windows_that_contain_them() -> None:
    image = torch.randn(1, 2, 6, 100)
    image[0, 0, 2, 9], image[0, 1, 0, 0] = torch.nan, torch.inf
    weight = torch.randn(2, 1, 3, 3)
    module = Function(lambda x: F.relu(F.conv2d(x, weight, padding=1, groups=2)))
    torch.testing.assert_close(run(module, (image,))[0], module(image), **LAYER, equal_nan=True)


def test_dynamic_sizes_and_several_threads_match_eager() -> None:
    layer = nn.Conv2d(5, 5, 3, padding=1, groups=5).eval()
    sizes = {0: torch.export.Dim("n", max=4), 2: torch.export.Dim("h", max=40), 3: torch.export.Dim("w", max=120)}
    exported = torch.export.export(layer, (torch.randn(2, 5, 20, 100),), dynamic_shapes=(sizes,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    before = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(3)
    try:
        method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
        for shape in ((2, 5, 20, 100), (4, 5, 40, 7), (1, 5, 3, 119), (1, 5, 3, 39)):
            image = torch.randn(shape)
            torch.testing.assert_close(method.execute([image])[0], layer(image), **LAYER)
    finally:
        portable_lib._unsafe_reset_threadpool(before)
