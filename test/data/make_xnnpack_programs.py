# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Makes test/data/xnnpack: programs for the C++ tests of the XNNPACK backend.

    python test/data/make_xnnpack_programs.py

two_sizes.pte: one net with convolutions of three kinds and a linear layer, as methods "small" (1, 3, 8, 8) and "large"
(1, 3, 16, 16) → (1, 5). For inputs of ones, without padding, both return the numbers that this prints.
four_bits.pte: a linear layer with 4-bit weights and an operand quantized at run time, (1, 24) → (1, 8). The engine's
4-bit products need a multiple of 32 inputs, so that XNNPACK alone computes this layer.
"""

from pathlib import Path

import torch
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerAxis

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

FOLDER = Path(__file__).parent / "xnnpack"


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, groups=8),
        nn.Conv2d(8, 16, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 5),
    ).eval()
    sizes = {"small": 8, "large": 16}
    exported = {name: torch.export.export(model, (torch.ones(1, 3, size, size),)) for name, size in sizes.items()}
    partitioners = {name: [XnnpackPartitioner()] for name in sizes}
    program = to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "two_sizes.pte").write_bytes(program.buffer)
    four_bits = nn.Sequential(nn.Linear(24, 8)).eval()
    quantize_(four_bits, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerAxis(0)))
    layer = torch.export.export(four_bits, (torch.ones(1, 24),))
    lowered = to_edge_transform_and_lower(layer, partitioner=[XnnpackPartitioner()]).to_executorch()
    (FOLDER / "four_bits.pte").write_bytes(lowered.buffer)
    print([f"{value:.7f}" for value in model(torch.ones(1, 3, 8, 8))[0].tolist()])


if __name__ == "__main__":
    main()
