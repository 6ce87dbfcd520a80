# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A convolution net on XNNPACK: one delegate, and its run time compared with portable kernels."""

import time

import torch
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Method, Runtime


def block(inputs: int, outputs: int) -> nn.Sequential:
    """A depthwise separable convolution."""
    depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
    pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
    return nn.Sequential(depthwise, nn.BatchNorm2d(inputs), nn.ReLU6(), pointwise, nn.BatchNorm2d(outputs), nn.ReLU6())


def milliseconds(method: Method, inputs: tuple[torch.Tensor, ...]) -> float:
    """The fastest of a few calls."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        method.execute(inputs)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    """Print the delegated operators, the largest difference from eager, and times."""
    torch.manual_seed(0)
    features = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU6(), block(16, 32), block(32, 64))
    model = nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).eval()
    inputs = (torch.randn(1, 3, 112, 112),)
    exported = torch.export.export(model, inputs)

    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    print(get_delegation_info(lowered.exported_program().graph_module).get_summary())
    runtime = Runtime.get()
    if not runtime.backend_registry.is_available("XnnpackBackend"):
        raise SystemExit("this runtime was built without XNNPACK: see the warning of the build")
    delegated = runtime.load_program(lowered.to_executorch().buffer).load_method("forward")
    portable = runtime.load_program(to_edge(exported).to_executorch().buffer).load_method("forward")

    difference = (delegated.execute(inputs)[0] - model(*inputs)).abs().max()
    print(f"largest difference from eager: {difference:.1e}")
    print(f"XNNPACK {milliseconds(delegated, inputs):.2f} ms, our own kernels {milliseconds(portable, inputs):.2f} ms")


if __name__ == "__main__":
    main()
