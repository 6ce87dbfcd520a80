# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One program with two methods that share weights, and a constant method."""

import torch

from executorch.exir import to_edge
from executorch.runtime import Runtime


class Autoencoder(torch.nn.Module):
    """Encodes 16 values as 4, and decodes them."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = torch.nn.Linear(16, 4), torch.nn.Linear(4, 16)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.down(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.encode(x))


class Encoder(torch.nn.Module):
    """The first half as a separate module, which torch.export can export."""

    def __init__(self, whole: Autoencoder) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.whole.encode(x)


model, x = Autoencoder().eval(), torch.randn(1, 16)
methods = {"encode": torch.export.export(Encoder(model), (x,)), "forward": torch.export.export(model, (x,))}
buffer = to_edge(methods, constant_methods={"code_size": 4}).to_executorch().buffer
program = Runtime.get().load_program(buffer)
print("methods:", sorted(program.method_names), f"in {len(buffer)} bytes")
print("code size:", program.load_method("code_size").execute([])[0])
torch.testing.assert_close(program.load_method("encode").execute([x])[0], model.encode(x))
torch.testing.assert_close(program.load_method("forward").execute([x])[0], model(x))
print("both agree with eager")
