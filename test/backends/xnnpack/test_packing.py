# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights packed by several threads: the same bits for any number of threads, and correct for any layer size."""

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import MODEL
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

# Each has more weights than one thread packs alone.
LAYERS = {
    "linear, whole panels": lambda: (nn.Linear(512, 1024), (3, 512)),
    "linear, odd sizes": lambda: (nn.Linear(571, 1003, bias=False), (2, 571)),
    "pointwise convolution": lambda: (nn.Conv2d(513, 577, 1), (1, 513, 3, 5)),
    "convolution of distant points": lambda: (nn.Conv2d(130, 203, 5, stride=2, dilation=2), (1, 130, 17, 19)),
    "convolution in groups": lambda: (nn.Conv2d(258, 306, 3, stride=2, groups=2), (1, 258, 9, 11)),
    "transposed convolution": lambda: (nn.ConvTranspose2d(130, 131, 5, stride=2), (1, 130, 6, 7)),
    "convolution of tiles": lambda: (nn.Conv2d(131, 141, 3, padding=1), (1, 131, 20, 21)),
    "convolution of few tiles": lambda: (nn.Conv2d(131, 259, 3, padding=1), (1, 131, 5, 6)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_any_number_of_threads_packs_the_same(name: str) -> None:
    torch.manual_seed(0)
    layer, shape = LAYERS[name]()
    inputs = (torch.randn(shape),)
    exported = torch.export.export(layer.eval(), inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
    expected = layer(*inputs)
    results = []
    for threads in (1, 2, 3, 7):
        # Packed weights are freed with the last method that uses them.
        method = Runtime.get().load_program(program).load_method("forward", threads=threads)
        results.append(method.execute(inputs)[0].clone())
        del method
    torch.testing.assert_close(results[0], expected, **MODEL)
    for result in results[1:]:
        assert torch.equal(result, results[0])
