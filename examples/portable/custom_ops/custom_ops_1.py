# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write custom_ops_1.pte, which calls a custom operator: ``python -m examples.portable.custom_ops.custom_ops_1``."""

from pathlib import Path

import torch
from torch.library import Library

from executorch.exir import ExecutorchBackendConfig, to_edge

LIBRARY = Library("my_ops", "DEF")
LIBRARY.define("mul3(Tensor input) -> Tensor")
LIBRARY.define("mul3.out(Tensor input, *, Tensor(a!) output) -> Tensor(a!)")


@torch.library.impl(LIBRARY, "mul3", "CompositeExplicitAutograd")
def mul3(input: torch.Tensor) -> torch.Tensor:
    """The operator in eager PyTorch; also its shape function."""
    return input * 3


@torch.library.impl(LIBRARY, "mul3.out", "CompositeExplicitAutograd")
def mul3_out(input: torch.Tensor, *, output: torch.Tensor) -> torch.Tensor:
    """The out variant, which programs call."""
    return output.copy_(input * 3)


class Model(torch.nn.Module):
    """``3 * x``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute float32 of any shape."""
        result: torch.Tensor = torch.ops.my_ops.mul3.default(x)
        return result


def main() -> None:
    """Lower the model and write the program to the current folder."""
    edge = to_edge(torch.export.export(Model(), (torch.randn(3, 4),)))
    # The kernel is in custom_ops_1_out.cpp: this package lacks it, so the target check would fail.
    program = edge.to_executorch(ExecutorchBackendConfig(check_target=False))
    Path("custom_ops_1.pte").write_bytes(program.buffer)
    print("wrote custom_ops_1.pte")


if __name__ == "__main__":
    main()
