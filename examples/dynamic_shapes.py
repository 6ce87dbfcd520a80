# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program for any batch from 1 to 16: memory is planned once, for the largest."""

import torch

from executorch.exir import to_edge
from executorch.runtime import Runtime


class Classifier(torch.nn.Module):
    """Features (batch, 64) → probabilities (batch, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.layers(x), dim=-1)


model = Classifier().eval()
batch = torch.export.Dim("batch", min=1, max=16)
exported = torch.export.export(model, (torch.randn(2, 64),), dynamic_shapes=({0: batch},))
program = Runtime.get().load_program(to_edge(exported).to_executorch().buffer)
method = program.load_method("forward")

for size in (1, 5, 16):
    x = torch.randn(size, 64)
    (probabilities,) = method.execute([x])
    torch.testing.assert_close(probabilities, model(x), atol=1e-5, rtol=1e-5)
    print(f"batch {size:2}: {tuple(probabilities.shape)}, as eager")

try:
    method.execute([torch.randn(17, 64)])
except RuntimeError as error:
    print(f"batch 17 is refused: {error}")
