# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write the programs in `test/data/int8/`: quantized by this project, without delegates.

    python test/data/make_int8_programs.py test/data/int8

Their parts may run at the same time. images.pte: convolutions, a sum, pooling, a mean and a linear layer in int8, and
a condition on what they give, (1, 3, 8, 8) → (1, 5). rows.pte: two linear layers quantized at run time,
(2, 12) → (2, 4).
"""

import sys
from pathlib import Path

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass


class Images(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = torch.max_pool2d(y + self.depthwise(y), 2)
        return self.last(y.mean((2, 3)))


class Judged(nn.Module):
    """Control flow depends on the results of a quantized model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.model(x)
        return torch.cond(y.sum() > 0, lambda y: y.softmax(1), lambda y: y * 2, (y,))


def quantized(model: nn.Module, x: torch.Tensor, is_dynamic: bool) -> nn.Module:
    configuration = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    exported = torch.export.export(model.eval(), (x,)).module()
    prepared = prepare_pt2e(exported, XNNPACKQuantizer().set_global(configuration))
    prepared(x)
    return convert_pt2e(prepared)


def main(folder: Path) -> None:
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    image, rows = torch.randn(1, 3, 8, 8), torch.randn(2, 12)
    images = Judged(quantized(Images(), image, False))
    layers = quantized(nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4)), rows, True)
    for name, model, x in (("images", images, image), ("rows", layers, rows)):
        configuration = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(concurrent=True))
        to_edge(torch.export.export(model, (x,))).to_executorch(configuration).save(str(folder / f"{name}.pte"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
