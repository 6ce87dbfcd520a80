# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Makes the quantized programs of test/data/xnnpack: ExecuTorch 1.4.1's own, by the Python of its environment.

    <python with executorch==1.4.1> test/data/make_quantized_programs.py

quantized.pte: convolution, depthwise convolution, sum, mean and linear layer in int8, (1, 3, 8, 8) → (1, 5).
quantized_rows.pte: two linear layers quantized at run time, (2, 12) → (2, 4).
quantized_images.pte: a convolution and a transposed one of images quantized at run time, (1, 3, 4, 5) → (1, 2, 5, 7).
The command prints their outputs for inputs spaced evenly from -1 to 1.
"""

from pathlib import Path

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

FOLDER = Path(__file__).parent / "xnnpack"


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        return self.last((y + self.depthwise(y)).mean((2, 3)))


def make(name: str, model: nn.Module, shape: tuple[int, ...], is_dynamic: bool) -> None:
    inputs = (torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape),)
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    )
    prepared = prepare_pt2e(torch.export.export(model.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    exported = torch.export.export(convert_pt2e(prepared), inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    (FOLDER / f"{name}.pte").write_bytes(program.buffer)
    loaded = Runtime.get().load_program(program.buffer)
    print(name, loaded.load_method("forward").execute(inputs)[0].tolist())


def main() -> None:
    torch.manual_seed(0)
    make("quantized", Images(), (1, 3, 8, 8), is_dynamic=False)
    make("quantized_rows", nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4)), (2, 12), is_dynamic=True)
    images = nn.Sequential(nn.Conv2d(3, 6, 2), nn.ReLU(), nn.ConvTranspose2d(6, 2, 3, stride=2, padding=1))
    make("quantized_images", images, (1, 3, 4, 5), is_dynamic=True)


if __name__ == "__main__":
    main()
