# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A bundled program to test with: softplus of a tensor, or another module, with the cases given."""

import torch

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import ExecutorchBackendConfig, to_edge

X = torch.linspace(-2, 2, 24).reshape(1, 2, 3, 4)


class Softplus(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.log1p(torch.exp(x))


RIGHT = Softplus()(X)


def bundle(
    *cases: MethodTestCase,
    suites: int = 1,
    module: torch.nn.Module | None = None,
    config: ExecutorchBackendConfig | None = None,
) -> bytes:
    """Return a file with the cases, in this number of suites of one method."""
    program = to_edge(torch.export.export(module or Softplus(), (X,))).to_executorch(config)
    return serialize_from_bundled_program_to_flatbuffer(
        BundledProgram(program, [MethodTestSuite("forward", list(cases))] * suites)
    )


def wrong() -> torch.Tensor:
    """Softplus of X with an error of 1e-3 in one element."""
    found = RIGHT.clone()
    found[0, 1, 2, 3] += 1e-3
    return found
