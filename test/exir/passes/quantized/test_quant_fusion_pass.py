# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fused operators on integers give the results of their patterns."""

from __future__ import annotations

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from oracle.tolerances import ONE_ROUNDING, absolute
from torch.fx import GraphModule

from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge
from executorch.exir.passes.quantized.quant_fusion_pass import QuantFusionPass

ops = torch.ops.quantized_decomposed
LIMITS = (-128, 127, torch.int8)


def quantize(x: torch.Tensor, scale: float = 0.05, zero: int = 3) -> torch.Tensor:
    return ops.quantize_per_tensor(x, scale, zero, *LIMITS)


def dequantize(x: torch.Tensor, scale: float = 0.05, zero: int = 3) -> torch.Tensor:
    return ops.dequantize_per_tensor(x, scale, zero, *LIMITS)


class Sum(torch.nn.Module):
    def __init__(self, relu: bool) -> None:
        super().__init__()
        self.relu = relu

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        total = dequantize(quantize(x)) + dequantize(quantize(y, 0.02, -5), 0.02, -5)
        return dequantize(quantize(torch.relu(total) if self.relu else total, 0.07, 1), 0.07, 1)


class Moves(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        joined = quantize(torch.cat([dequantize(quantize(x)), dequantize(quantize(y))], 1))
        shaped = quantize(dequantize(joined).reshape(-1)[2:])
        return dequantize(quantize(dequantize(shaped)[None].squeeze(0)))


class Different(torch.nn.Module):
    """Other parameters on the two sides: nothing may be fused."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return dequantize(quantize(dequantize(quantize(x)).reshape(-1), 0.06), 0.06) + y.reshape(-1)


class Rows(torch.nn.Module):
    def __init__(self, zero: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, (10, 6), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(10) + 0.01)
        self.register_buffer("zeros", torch.full((10,), zero))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *LIMITS)
        return torch.nn.functional.embedding(x, weight)


PAIR = (torch.randn(3, 4), torch.randn(3, 4))
INDICES = (torch.tensor([[1, 9], [0, 1]]),)


def _edge(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> EdgeProgramManager:
    return to_edge(torch.export.export(model, inputs))


def _names(module: GraphModule) -> list[str]:
    return [str(node.target.name()).partition("::")[2] for node in module.graph.nodes if hasattr(node.target, "name")]


@pytest.mark.parametrize(
    ("model", "inputs", "fused", "left"),
    [
        (Sum(False), PAIR, ["add"], 3),
        (Sum(True), PAIR, ["add"], 3),
        (Moves(), PAIR, ["cat", "slice_copy.Tensor"], 3),
        (Different(), PAIR, [], 4),
    ],
)
def test_patterns_become_operators_on_integers(
    model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], fused: list[str], left: int
) -> None:
    program = _edge(model, inputs).transform([QuantFusionPass(_fix_node_meta_val=True)])
    names = _names(program.exported_program().graph_module)
    assert set(fused) <= set(names), names
    assert sum("quantize_per" in name for name in names) == left, names
    for again in (inputs, tuple(torch.randn_like(x) * 3 if x.is_floating_point() else x + 0 for x in inputs)):
        torch.testing.assert_close(program.exported_program().module()(*again), model(*again), **absolute(ONE_ROUNDING))


def test_fusion_and_constant_folding_by_one_option() -> None:
    config = ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True, check_target=False)
    for zero, points in ((0, 0), (2, 1)):
        program = _edge(Rows(zero), INDICES).to_executorch(config)
        (call,) = (n for n in program.exported_program().graph.nodes if "embedding_byte" in str(n.target))
        known = [
            source for source in call.all_input_nodes if source.op == "placeholder" and source.meta["val"].dim() == 1
        ]
        assert len(known) == 1 + points  # scales, and zero points where they are not 0, converted ahead of time
        (operator,) = program.executorch_program.execution_plan[0].operators
        assert (operator.name, operator.overload) == ("quantized_decomposed::embedding_byte", "out")


class QuantizedWhileRunning(Rows):
    """The float table is quantized by the program, as `convert_pt2e(fold_quantize=False)` writes it."""

    def __init__(self) -> None:
        super().__init__(3)
        self.table = torch.nn.Parameter(torch.randn(10, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parameters = self.scales, self.zeros, 0, *LIMITS
        weight = ops.quantize_per_channel(self.table, *parameters)
        return torch.nn.functional.embedding(x, ops.dequantize_per_channel(weight, *parameters))


def test_a_table_that_the_program_quantizes_is_stored_as_integers() -> None:
    model = QuantizedWhileRunning()
    edge = _edge(model, INDICES)
    torch.testing.assert_close(edge.exported_program().module()(*INDICES), model(*INDICES))
    program = edge.to_executorch(ExecutorchBackendConfig(check_target=False))
    assert [operator.name for operator in program.executorch_program.execution_plan[0].operators] == [
        "quantized_decomposed::embedding_byte"
    ]
    read = [node.meta["val"] for node in program.exported_program().graph.nodes if node.op == "placeholder"]
    assert [tensor.dtype for tensor in read if tensor.dim() == 2 and tensor.shape[0] == 10] == [torch.int8]
