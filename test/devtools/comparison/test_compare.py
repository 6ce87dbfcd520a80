# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The comparison names the wrong operator in programs with a planted error."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from recorded_run import TwoBlocks

from executorch.devtools import compare
from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.schema import Double, EValue, KernelCall
from executorch.exir.serialize import deserialize_pte, serialize_pte
from executorch.runtime import Runtime

importlib.import_module("torch.ao.quantization.fx._decomposed")  # defines operators of quantized_decomposed

X = torch.linspace(-1, 1, 8).reshape(2, 4)
NAMES = ("one.lin.weight", "one.lin.bias", "two.lin.weight", "two.lin.bias")


def model() -> TwoBlocks:
    torch.manual_seed(1)
    return TwoBlocks().eval()


def lowered(module: torch.nn.Module) -> ExecutorchProgramManager:
    return to_edge(torch.export.export(module, (X,))).to_executorch()


def test_a_correct_program_has_no_difference() -> None:
    comparison = compare(model(), lowered(model()), (X,))
    assert len(comparison.operators) == 8
    assert comparison.first is None and not comparison.outputs_differ
    assert "no operator differs" in str(comparison)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_constant_is_found_where_it_is_read(name: str, tmp_path: Path) -> None:
    wrong = copy.deepcopy(model())
    with torch.no_grad():
        wrong.get_parameter(name).view(-1)[0] += 0.5
    for program in (lowered(wrong), lowered(wrong).buffer):
        comparison = compare(model(), program, (X,))
        assert comparison.first is not None and comparison.outputs_differ
        assert comparison.first.operator == "aten.addmm.default"
        assert comparison.first.module == name.rsplit(".", 1)[0]
        assert "recorded_run.py:" in comparison.first.source
        assert "first to differ: aten.addmm.default" in str(comparison)
        assert json.loads(comparison.as_json())["first"] == comparison.first.node


@pytest.mark.parametrize("index", range(2))
@pytest.mark.parametrize(("right", "wrong"), [("relu", "abs"), ("erf", "tanh"), ("relu", "sigmoid"), ("erf", "sin")])
def test_a_wrong_kernel_is_found(right: str, wrong: str, index: int) -> None:
    file = deserialize_pte(lowered(model()).buffer)
    (plan,) = file.program.execution_plan
    position = next(i for i, operator in enumerate(plan.operators) if operator.name == f"aten::{right}")
    plan.operators.append(replace(plan.operators[position], name=f"aten::{wrong}"))
    calls = [
        instruction.instr_args
        for instruction in plan.chains[0].instructions
        if getattr(instruction.instr_args, "op_index", -1) == position
    ]
    calls[index].op_index = len(plan.operators) - 1  # type: ignore[union-attr]
    comparison = compare(model(), bytes(serialize_pte(file)), (X,))
    assert comparison.first is not None
    assert comparison.first.operator == f"aten.{right}.default"
    assert comparison.first.ran == f"{wrong}.out"
    assert comparison.first.node == f"aten_{right}_default" + ("_1" if index else "")


def test_a_program_lowered_differently_needs_its_lowering() -> None:
    class Other(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    with pytest.raises(ValueError, match="lowered differently: it has 1 instructions, lowering the model gives 8"):
        compare(model(), lowered(Other()).buffer, (X,))
    with pytest.raises(ValueError, match="no method 'other'"):
        compare(model(), lowered(model()).buffer, (X,), method="other")


def _delegated(module: torch.nn.Module) -> ExecutorchProgramManager:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    exported = torch.export.export(module, (X,))
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()


@pytest.mark.skipif(not Runtime.get().backend_registry.is_available("XnnpackBackend"), reason="built without XNNPACK")
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_constant_of_a_delegate_is_found_inside_of_it(name: str) -> None:
    wrong = copy.deepcopy(model())
    with torch.no_grad():
        wrong.get_parameter(name).view(-1)[0] += 0.5
    lower: Callable[[torch.export.ExportedProgram], ExecutorchProgramManager] = lambda _: _delegated(model())  # noqa: E731
    for found in (
        compare(model(), _delegated(wrong), (X,)),
        compare(model(), _delegated(wrong).buffer, (X,), lower=lower),
    ):
        assert found.first is not None
        assert found.first.operator == "aten.addmm.default + aten.relu.default"
        assert (found.first.ran, found.first.module) == ("XnnpackBackend: FullyConnected", name.rsplit(".", 1)[0])


class Quantized(torch.nn.Module):
    """Quantizes and dequantizes its values twice."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale in (0.01, 0.02):
            x = torch.ops.quantized_decomposed.quantize_per_tensor(torch.relu(x), scale, 0, -128, 127, torch.int8)
            x = torch.ops.quantized_decomposed.dequantize_per_tensor(x, scale, 0, -128, 127, torch.int8)
        return x


@pytest.mark.parametrize("call", range(4))
def test_a_wrong_quantization_parameter_is_found(call: int) -> None:
    def unfused(exported: torch.export.ExportedProgram) -> ExecutorchProgramManager:
        return to_edge(exported).to_executorch(ExecutorchBackendConfig(fuse_quantized=False))

    file = deserialize_pte(unfused(torch.export.export(Quantized(), (X,))).buffer)
    (plan,) = file.program.execution_plan
    calls = [
        instruction.instr_args
        for instruction in plan.chains[0].instructions
        if isinstance(instruction.instr_args, KernelCall)
    ]
    chosen = [quantize for quantize in calls if "quantize_per_tensor" in plan.operators[quantize.op_index].name][call]
    plan.values.append(EValue(Double(0.03)))
    chosen.args[1] = len(plan.values) - 1
    comparison = compare(Quantized(), bytes(serialize_pte(file)), (X,), lower=unfused)
    assert comparison.first is not None
    kind = "quantize_per_tensor" if call % 2 == 0 else "dequantize_per_tensor"
    assert comparison.first.operator == f"quantized_decomposed.{kind}.default"
    assert comparison.first.node.endswith("_1") == (call > 1)
