# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Undelegated quantized patterns become operators on int8 with the results of the patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.tolerances import TIES, TIES_OF_MEANS, quanta
from quantization.flow import quantized
from torch import nn
from torch.export import Dim

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.codegen import select_operators
from executorch.codegen.binding import KERNELS, Library, bind_kernels
from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge
from executorch.exir.passes.standalone.quantize_io_pass import QuantizeInputs, QuantizeOutputs
from executorch.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*", "ignore::DeprecationWarning")
Inputs = tuple[torch.Tensor, ...]
ENDS = {"quantized_decomposed::quantize_per_tensor", "quantized_decomposed::dequantize_per_tensor"}
F = nn.functional


def converted(
    model: nn.Module, data: list[Inputs], per_channel: bool = True, shapes: Any = None
) -> torch.fx.GraphModule:
    config = get_symmetric_quantization_config(is_per_channel=per_channel)
    return quantized(model.eval(), XNNPACKQuantizer().set_global(config), data, shapes=shapes)


def edge(module: torch.fx.GraphModule, inputs: Inputs, shapes: Any = None) -> EdgeProgramManager:
    return to_edge(torch.export.export(module, inputs, dynamic_shapes=shapes))


def execute(manager: EdgeProgramManager, inputs: Inputs, **config: Any) -> tuple[Counter[str], torch.Tensor]:
    """The operators of the program, and its result."""
    lowered = manager.to_executorch(ExecutorchBackendConfig(**config))
    operators = Counter(operator.name for operator in lowered.executorch_program.execution_plan[0].operators)
    program = Runtime.get().load_program(lowered.buffer)
    result: torch.Tensor = program.load_method("forward").execute(inputs)[0]
    return operators, result


def quantum(module: torch.fx.GraphModule) -> float:
    """Return the scale of the result."""
    last = [node for node in module.graph.nodes if "dequantize_per_tensor" in str(node.target)][-1]
    return float(last.args[1])


class Chain(nn.Module):
    """Calls of a module's own layers and of functions, one after the other."""

    def __init__(self, *steps: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(step for step in steps if isinstance(step, nn.Module))
        self.steps = [step if not isinstance(step, nn.Module) else None for step in steps]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layers = iter(self.layers)
        for step in self.steps:
            x = next(layers)(x) if step is None else step(x)
        return x


IMAGE, ROWS = (2, 4, 9, 9), (3, 20)
CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], set[str]]] = {
    "convolution": (lambda: nn.Conv2d(4, 6, 3, padding=1, bias=False), IMAGE, {"convolution"}),
    "convolution and relu": (lambda: Chain(nn.Conv2d(4, 6, 3, stride=2), torch.relu), IMAGE, {"convolution"}),
    "convolution and relu6": (
        lambda: Chain(nn.Conv2d(4, 6, 3), nn.ReLU6(), nn.Conv2d(6, 3, 1)),
        IMAGE,
        {"convolution"},
    ),
    "depthwise": (lambda: nn.Conv2d(4, 8, 3, padding=2, dilation=2, groups=4), IMAGE, {"convolution"}),
    "batch norm": (lambda: Chain(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), torch.relu), IMAGE, {"convolution"}),
    "one dimension": (lambda: nn.Conv1d(4, 6, 3, padding=1), (2, 4, 12), {"convolution"}),
    "linear": (lambda: Chain(nn.Linear(20, 7), torch.relu, nn.Linear(7, 5, bias=False)), ROWS, {"linear"}),
    "linear of three dimensions": (lambda: nn.Linear(9, 5), (2, 3, 9), {"linear"}),
    "maxima": (lambda: Chain(nn.Conv2d(4, 6, 3), lambda x: F.max_pool2d(x, 2)), IMAGE, {"convolution", "max_pool2d"}),
    "means": (
        lambda: Chain(nn.Conv2d(4, 6, 2), lambda x: F.adaptive_avg_pool2d(x, 1), torch.flatten, nn.Linear(12, 3)),
        IMAGE,
        {"convolution", "mean", "linear"},
    ),
    "fitted means": (lambda: Chain(nn.Conv2d(4, 6, 2), nn.AdaptiveAvgPool2d(4)), IMAGE, {"convolution", "avg_pool2d"}),
    "functions": (
        lambda: Chain(nn.Linear(20, 8), torch.sigmoid, nn.Linear(8, 8), F.hardswish),
        ROWS,
        {"linear", "lookup"},
    ),
    "transposed": (
        lambda: Chain(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(6, 3, 2)),
        IMAGE,
        {"transposed_convolution"},
    ),
    "a table alone": (lambda: Chain(torch.tanh), ROWS, {"lookup"}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_layers_are_fused_and_differ_by_a_quantum_at_most(name: str) -> None:
    torch.manual_seed(0)
    make, sizes, expected = CASES[name]
    model = make()
    data = [(torch.randn(sizes),) for _ in range(2)]
    module = converted(model, data, per_channel=len(name) % 2 == 0)
    operators, result = execute(edge(module, data[0]), data[0])
    assert set(operators) - {f"quantized_fused::{name}" for name in expected} <= ENDS, operators
    assert {f"quantized_fused::{name}" for name in expected} <= set(operators)
    difference = ((result - module(*data[0])) / quantum(module)).abs()
    layers = sum(
        isinstance(module, (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)) for module in model.modules()
    )
    assert float(difference.max()) <= quanta(1, layers)["atol"]
    # Means of integers lie in the middle of two often, and then the rounding of float sums decides.
    assert float((difference > 0.5).float().mean()) < (TIES_OF_MEANS if "means" in name else TIES)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.one(x), self.two(x)
        both = torch.cat([torch.relu(a + b), a * b, a - b], 1)
        return both.permute(0, 2, 3, 1)[:, 1:]


def test_sums_concatenations_and_moves_stay_integers() -> None:
    torch.manual_seed(0)
    data = [(torch.randn(2, 3, 6, 6),) for _ in range(3)]
    module = converted(Residual(), data)
    operators, result = execute(edge(module, data[0]), data[0])
    assert {"quantized_decomposed::add", "quantized_fused::mul", "quantized_fused::sub"} <= set(operators)
    assert not {"aten::convolution", "aten::add", "aten::mul", "aten::sub"} & set(operators), operators
    assert float(((result - module(*data[0])) / quantum(module)).abs().max()) <= 2.01


class Moved(nn.Module):
    """Moves, paddings and slices between convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(5, 3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.pad(self.first(x), (1, 2, 0, 1), value=0.3)
        one, two = y.split([3, 5], 1)
        y = torch.cat([F.pad(one, (1, 1, 1, 1), "reflect")[..., 1:-1, 1:-1], two], 1)
        return self.last(F.pixel_shuffle(torch.cat([y, y, one.flip(2), two[:, :1]], 1), 2))


def test_paddings_parts_and_moves_stay_integers() -> None:
    torch.manual_seed(0)
    data = [(torch.randn(2, 3, 6, 6),) for _ in range(3)]
    module = converted(Moved(), data)
    operators, result = execute(edge(module, data[0]), data[0])
    assert operators["quantized_decomposed::dequantize_per_tensor"] == 1, operators
    assert {"aten::constant_pad_nd", "aten::cat"} <= set(operators)
    assert float(((result - module(*data[0])) / quantum(module)).abs().max()) <= 2.01


ENLARGEMENTS: dict[str, Any] = {
    "a factor": nn.Upsample(scale_factor=2),
    "two factors": nn.Upsample(scale_factor=(1.5, 3)),
    "a size": lambda x: F.interpolate(x, size=(5, 11)),
}


@pytest.mark.parametrize("name", ENLARGEMENTS)
def test_enlarged_images_stay_integers_for_any_batch(name: str) -> None:
    torch.manual_seed(0)
    data = [(torch.randn(2, 3, 6, 6),) for _ in range(3)]
    batch = ({0: Dim("batch", max=9)},)
    module = converted(Chain(nn.Conv2d(3, 4, 3), ENLARGEMENTS[name], nn.Conv2d(4, 3, 2)), data, shapes=batch)
    operators, result = execute(edge(module, data[0], batch), data[0])
    fused = {"quantized_fused::convolution", "quantized_fused::lookup", "aten::index_select"}
    assert "aten::index_select" in operators and set(operators) <= {*ENDS, *fused}, operators
    assert float(((result - module(*data[0])) / quantum(module)).abs().max()) <= 2.01


def test_uint8_gives_the_bits_of_int8() -> None:
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(3, 8, 3), torch.relu, nn.MaxPool2d(2), torch.tanh, nn.Flatten(), nn.Linear(32, 6))
    data = [(torch.randn(2, 3, 6, 6),) for _ in range(3)]
    module = converted(model, data)
    names, expected = execute(edge(module, data[0]), data[0])
    for node in module.graph.nodes:
        if "quantize_per_tensor" in str(node.target) and node.args[0].op != "get_attr":
            source, scale, *integers, _ = node.args
            node.args = (source, scale, *(integer + 128 for integer in integers), torch.uint8)
    module.recompile()
    manager = edge(module, data[0])
    operators, result = execute(manager, data[0])
    assert torch.equal(result, expected)
    assert operators["quantized_fused::convolution"] == operators["quantized_fused::linear"] == 1, operators
    changed = Counter({"quantized_fused::lookup": operators["quantized_fused::lookup"]})
    assert operators - changed == names - changed
    ends = manager.transform([QuantizeInputs(manager, [0]), QuantizeOutputs(manager, [0])])
    first, last = (
        [node for node in module.graph.nodes if "quantize_per_tensor" in str(node.target)][place] for place in (0, -1)
    )
    x = torch.ops.quantized_decomposed.quantize_per_tensor(data[0][0], *first.args[1:])
    operators, integers = execute(ends, (x,))
    assert x.dtype is integers.dtype is torch.uint8
    assert all(name.startswith("quantized_fused::") for name in operators), operators
    assert torch.equal(torch.ops.quantized_decomposed.dequantize_per_tensor(integers, *last.args[1:]), expected)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_fused_layers_take_any_batch_and_layout(layout: torch.memory_format) -> None:
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(3, 8, 3, padding=1), torch.relu, lambda x: F.max_pool2d(x, 2), nn.Conv2d(8, 4, 3, stride=2))
    data = [(torch.randn(2, 3, 8, 8).contiguous(memory_format=layout),) for _ in range(3)]
    shapes = {"x": {0: Dim("batch", min=1, max=6)}}
    module = converted(model.to(memory_format=layout), data, shapes=shapes)  # type: ignore[call-overload]
    manager = edge(module, data[0], shapes)
    lowered = manager.to_executorch()
    names = {operator.name for operator in lowered.executorch_program.execution_plan[0].operators}
    assert "quantized_fused::convolution" in names and "aten::convolution" not in names
    program = Runtime.get().load_program(lowered.buffer)
    method = program.load_method("forward")
    for batch in (1, 2, 6):
        x = torch.randn(batch, 3, 8, 8).contiguous(memory_format=layout)
        difference = (method.execute((x,))[0] - module(x)) / quantum(module)
        assert float(difference.abs().max()) <= 2.01


def test_a_program_of_int8_inputs_and_outputs_computes_and_links_integers_alone(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Chain(nn.Conv2d(1, 4, 3), torch.relu, lambda x: F.max_pool2d(x, 2), nn.Flatten(), nn.Linear(36, 10))
    data = [(torch.randn(1, 1, 8, 8),) for _ in range(4)]
    module = converted(model, data)
    manager = edge(module, data[0])
    manager = manager.transform([QuantizeInputs(manager, [0]), QuantizeOutputs(manager, [0])])
    ends = [node for node in module.graph.nodes if "quantize_per_tensor" in str(node.target)]
    first, last = ends[0].args[1:6], ends[-1].args[1:6]
    x = torch.ops.quantized_decomposed.quantize_per_tensor(data[0][0], *first)
    operators, result = execute(manager, (x,))
    assert set(operators) == {f"quantized_fused::{name}" for name in ("convolution", "max_pool2d", "linear")}
    (tmp_path / "digits.pte").write_bytes(manager.to_executorch().buffer)
    selection = select_operators(program_paths=[tmp_path / "digits.pte"])
    library = Library("digits", "digits", functions_yaml=KERNELS / "quantized" / "functions.yaml")
    assert bind_kernels(library, tmp_path, selection) == []  # no other library has to be linked
    linked = (tmp_path / "digits" / "RegisterKernels.cpp").read_text()
    assert {name for name in operators if name in linked} == set(operators) and "quantized_decomposed" not in linked
    expected = torch.ops.quantized_decomposed.quantize_per_tensor(module(*data[0]), *last)
    assert result.dtype is torch.int8 and int((result.int() - expected.int()).abs().max()) <= 1


class IntegerProduct(nn.Module):
    def __init__(self, is_transposed: bool) -> None:
        super().__init__()
        weight = torch.randint(-128, 128, (7, 40) if is_transposed else (40, 7), dtype=torch.int8)
        self.register_buffer("weight", weight)
        self.is_transposed = is_transposed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight: Any = self.weight
        return torch._int_mm(x, weight.t() if self.is_transposed else weight)


@pytest.mark.parametrize("is_transposed", [True, False])
def test_a_product_of_int8_with_constants_is_one_operator(is_transposed: bool) -> None:
    import torchao  # noqa: F401  # its operators are decomposed where it is imported

    torch.manual_seed(0)
    model, x = IntegerProduct(is_transposed), torch.randint(-128, 128, (5, 40), dtype=torch.int8)
    exported = torch.export.export(model, (x,))
    operators, result = execute(to_edge(exported), (x,))
    assert set(operators) == {"quantized_fused::product"}
    assert torch.equal(result, model(x))


def test_fusion_can_be_left_off_and_needs_the_kernels() -> None:
    torch.manual_seed(0)
    data = [(torch.randn(3, 20),)]
    manager = edge(converted(nn.Linear(20, 4), data), data[0])
    operators, _ = execute(manager, data[0], fuse_quantized=False)
    assert "aten::addmm" in operators and not any(operator.startswith("quantized_fused") for operator in operators)
    kernels = [*ENDS, "quantized_decomposed::dequantize_per_channel", "aten::addmm", "aten::permute_copy"]
    without = manager.to_executorch(ExecutorchBackendConfig(target_manifest=[f"{kernel}.out" for kernel in kernels]))
    names = {operator.name for operator in without.executorch_program.execution_plan[0].operators}
    assert "aten::addmm" in names
