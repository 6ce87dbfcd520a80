# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Runs a module wholly on XNNPACK and compares it with eager."""

import torch
from oracle.tolerances import Tolerance
from torch import nn

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Runtime


def run(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """The outputs of the program, all of whose operators are delegated."""
    lowered = to_edge_transform_and_lower(
        torch.export.export(module.eval(), inputs), partitioner=[XnnpackPartitioner()]
    )
    info = get_delegation_info(lowered.exported_program().graph_module)
    assert info.num_non_delegated_nodes == 0, info.get_summary()
    assert info.num_delegated_subgraphs == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    return list(method.execute(inputs))


def check(module: nn.Module, inputs: tuple[torch.Tensor, ...], tolerance: Tolerance) -> None:
    expected = module.eval()(*inputs)
    found = run(module, inputs)
    for mine, theirs in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        torch.testing.assert_close(mine, theirs, **tolerance, equal_nan=True)
