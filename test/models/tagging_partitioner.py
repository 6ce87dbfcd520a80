# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A partitioner that tags nodes by a function, and programs to partition with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.backend.partition.constant_tagging import tag_constant_data, tag_mutated_buffer
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.demo_backend import DemoBackend

Chooser = Callable[[Node], str | None]


def core_aten(model: torch.nn.Module, inputs: tuple[Any, ...], **options: Any) -> ExportedProgram:
    return torch.export.export(model.eval(), inputs, **options).run_decompositions()


class TagsBy(Partitioner):
    """Gives nodes the tags that `choose` returns, for DemoBackend, and then tags constants if requested."""

    def __init__(self, choose: Chooser, constants: bool = False, mutated: bool = False) -> None:
        super().__init__()
        self.choose, self.constants, self.mutated = choose, constants, mutated

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = {}
        for node in exported_program.graph.nodes:
            tag = self.choose(node)
            if tag is not None:
                node.meta["delegation_tag"] = tag
                tags[tag] = DelegationSpec(DemoBackend.__name__, [])
        if self.constants:
            tag_constant_data(exported_program)
        if self.mutated:
            tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)


def operators(*names: str, tag: str = "t") -> Chooser:
    wanted = [[name] for name in names]
    return lambda node: tag if node.op == "call_function" and str(node.target).split(".")[1:2] in wanted else None


def by_name(**tags: str) -> Chooser:
    return lambda node: tags.get(node.name)


def assert_same(program: ExportedProgram, model: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    with torch.no_grad():
        torch.testing.assert_close(program.module()(*inputs), model(*inputs))


class TwoLinears(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(2, 2))
        self.register_buffer("shift", torch.randn(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm((torch.mm(x, self.w) + self.shift).sin(), self.w)
