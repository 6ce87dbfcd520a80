# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""BackendWithDelegateMappingDemo: how a backend that fuses and divides operators maps them to debug handles."""

from __future__ import annotations

from typing import final

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.delegate.delegate_mapping import DelegateMappingBuilder
from executorch.exir.backend.test.demo_payload import operator_of
from executorch.exir.schema import CompileSpec

__all__ = ["BackendWithDelegateMappingDemo"]

CONVOLUTION = "aten.convolution.default"
RELU = "aten.relu.default"
TAN = "aten.tan.default"
STEPS_OF_TAN = ("sin_decomp_from_tan", "cos_decomp_from_tan", "div_decomp_from_tan")


@final
class BackendWithDelegateMappingDemo(BackendDetails):
    """Fuses a convolution with its relu into one operation, and divides tan into sin, cos and a quotient.

    The payload is text that no runtime executes: the number of operations, ``#``, then ``name,identifier,`` for each.
    An identifier is a key of the debug handle map: the one of a fused operation has the handles of both operators,
    and the three identifiers of a tan have the same handle.

    RuntimeError: any other operator, and a convolution or relu without the other.
    """

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        mapping = DelegateMappingBuilder(generated_identifiers=True)
        operations: list[tuple[str, int | str]] = []
        for node in edge_program.graph.nodes:
            if node.op != "call_function" or _has_fused_relu(node):
                continue
            operator = operator_of(node)
            convolution = node.args[0] if operator == RELU else None
            if isinstance(convolution, Node) and _has_fused_relu(convolution):
                operations.append(("conv_relu_op", mapping.insert_delegate_mapping_entry([convolution, node])))
            elif operator == TAN:
                operations += [(step, mapping.insert_delegate_mapping_entry(node)) for step in STEPS_OF_TAN]
            else:
                raise RuntimeError(
                    f"{node.op} {operator} ({node.name}) is not supported in backend "
                    f"{BackendWithDelegateMappingDemo.__name__}"
                )
        text = f"{len(operations)}#" + "".join(f"{name},{identifier}," for name, identifier in operations)
        return PreprocessResult(processed_bytes=text.encode(), debug_handle_map=mapping.get_delegate_mapping())

    @staticmethod
    def get_test_model_and_inputs() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        """Return a model that the backend takes, and example inputs for it."""
        model = nn.Sequential(
            nn.Conv2d(3, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            _Tan(),
        )
        return model, (torch.randn(4, 3, 64, 64),)


class _Tan(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tan(x)


def _has_fused_relu(node: Node) -> bool:
    """Return true for a convolution that only a relu reads."""
    users = list(node.users)
    return operator_of(node) == CONVOLUTION and len(users) == 1 and operator_of(users[0]) == RELU
