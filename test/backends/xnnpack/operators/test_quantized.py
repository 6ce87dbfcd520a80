# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Graphs of quantize and dequantize compute on integers in between, within one quantum of eager."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from models.function_module import Function
from oracle import peer
from oracle.models.delegated import run
from oracle.models.quantized import QuantizedLayer, as_integers
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import FEW_ROUNDINGS, INT8_INPUTS, INTEGER_PRODUCTS, LAYER, LAYERS, quanta, scaled
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

ops = torch.ops.quantized_decomposed
Case = tuple[nn.Module | Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]


def _r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _linear(axis: int | None = 0, bias: bool = True, most: int = 127) -> nn.Module:
    return QuantizedLayer(nn.Linear(10, 6, bias=bias), F.linear, axis, most)


def _convolution(
    axis: int | None = 0, channels: tuple[int, int] = (4, 8), window: int = 3, **options: object
) -> nn.Module:
    layer = nn.Conv2d(*channels, window, groups=options.get("groups", 1))  # type: ignore[arg-type]
    return QuantizedLayer(layer, lambda x, w, b: F.conv2d(x, w, b, **options), axis)


def _transposed(axis: int | None) -> nn.Module:
    layer = nn.ConvTranspose2d(4, 8, 3)
    return QuantizedLayer(layer, lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1), axis)


IMAGE = (2, 4, 7, 6)
# Name → (case between quantize and dequantize, kind of the resulting node).
CASES: dict[str, tuple[Callable[[], Case], type]] = {
    "linear": (lambda: (_linear(), (_r(3, 10),)), g.FullyConnected),
    "linear of one scale": (lambda: (_linear(None), (_r(2, 3, 10),)), g.FullyConnected),
    "linear without bias": (lambda: (_linear(0, bias=False), (_r(3, 10),)), g.FullyConnected),
    "linear and relu": (lambda: (nn.Sequential(_linear(), nn.ReLU()), (_r(3, 10),)), g.FullyConnected),
    "convolution": (lambda: (_convolution(padding=1, stride=2), (_r(*IMAGE),)), g.Conv2d),
    "convolution of one scale": (lambda: (_convolution(None), (_r(*IMAGE),)), g.Conv2d),
    "grouped": (lambda: (_convolution(groups=2), (_r(*IMAGE),)), g.Conv2d),
    "depthwise": (lambda: (_convolution(groups=4), (_r(*IMAGE),)), g.DepthwiseConv2d),
    "depthwise of one scale": (lambda: (_convolution(None, groups=4), (_r(*IMAGE),)), g.DepthwiseConv2d),
    "depthwise, large windows": (
        lambda: (_convolution(0, (21, 21), 7, groups=21, padding=3), (_r(2, 21, 9, 10),)),
        g.DepthwiseConv2d,
    ),
    "depthwise, several results": (
        lambda: (nn.Sequential(_convolution(0, (45, 90), groups=45, padding=1), nn.ReLU6()), (_r(2, 45, 6, 5),)),
        g.DepthwiseConv2d,
    ),
    "convolution and relu6": (lambda: (nn.Sequential(_convolution(), nn.ReLU6()), (_r(*IMAGE),)), g.Conv2d),
    "transposed": (lambda: (_transposed(1), (_r(*IMAGE),)), g.ConvTranspose2d),
    "transposed of one scale": (lambda: (_transposed(None), (_r(*IMAGE),)), g.ConvTranspose2d),
    "signals": (
        lambda: (QuantizedLayer(nn.Conv1d(4, 6, 3), lambda x, w, b: F.conv1d(x, w, b, padding=1), 0), (_r(2, 4, 9),)),
        g.Conv2d,
    ),
    "add": (lambda: (torch.add, (_r(3, 5), _r(5))), g.Add),
    "add and relu": (lambda: (lambda x, y: F.relu(x + y), (_r(3, 5), _r(3, 5))), g.Add),
    "sub": (lambda: (torch.sub, (_r(3, 5), _r(3, 1))), g.Subtract),
    "mul": (lambda: (torch.mul, (_r(3, 5), _r(3, 5))), g.Multiply),
    "relu": (lambda: (F.relu, (_r(3, 5),)), g.Clamp),
    "clamp": (lambda: (lambda x: x.clamp(-0.5, 0.7), (_r(3, 5),)), g.Clamp),
    "hardtanh": (lambda: (F.hardtanh, (_r(3, 5),)), g.Clamp),
    "sigmoid": (lambda: (torch.sigmoid, (_r(3, 5),)), g.Sigmoid),
    "tanh": (lambda: (torch.tanh, (_r(3, 5),)), g.Tanh),
    "hardswish": (lambda: (F.hardswish, (_r(3, 5),)), g.Hardswish),
    "leaky relu": (lambda: (lambda x: F.leaky_relu(x, 0.1), (_r(3, 5),)), g.LeakyReLU),
    "elu": (lambda: (F.elu, (_r(3, 5),)), g.ELU),
    "gelu": (lambda: (F.gelu, (_r(3, 5),)), g.Gelu),
    "gelu by tanh": (lambda: (lambda x: F.gelu(x, approximate="tanh"), (_r(3, 5),)), g.Gelu),
}
# Operators that only move, select or average elements: operands and result have equal parameters.
ALIKE: dict[str, tuple[Callable[[], Case], type]] = {
    "max pooling": (lambda: (lambda x: F.max_pool2d(x, 2), (_r(*IMAGE),)), g.MaxPooling2d),
    "average pooling": (lambda: (lambda x: F.avg_pool2d(x, 2), (_r(*IMAGE),)), g.DepthwiseConv2d),
    "padded average pooling": (lambda: (lambda x: F.avg_pool2d(x, 3, 2, 1), (_r(*IMAGE),)), g.DepthwiseConv2d),
    "average pooling with a divisor": (
        lambda: (lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=12), (_r(*IMAGE),)),
        g.DepthwiseConv2d,
    ),
    "average pooling of whole images": (
        lambda: (lambda x: F.avg_pool2d(x, (7, 6)), (_r(*IMAGE),)),
        g.GlobalAvgPooling2d,
    ),
    "adaptive pooling": (lambda: (lambda x: F.adaptive_avg_pool2d(x, (1, 3)), (_r(*IMAGE),)), g.DepthwiseConv2d),
    "mean": (lambda: (lambda x: x.mean((2, 3), keepdim=True), (_r(*IMAGE),)), g.GlobalAvgPooling2d),
    "mean over the last": (lambda: (lambda x: x.mean(-1), (_r(3, 7),)), g.GlobalAvgPooling2d),
    "cat": (lambda: (lambda x, y: torch.cat((x, y), 1), (_r(3, 5), _r(3, 2))), g.Concatenate2),
    "cat of seven": (lambda: (lambda *x: torch.cat(x, 0), tuple(_r(1, 5) for _ in range(7))), g.Concatenate5),
    "view": (lambda: (lambda x: x.reshape(6, 5), (_r(2, 3, 5),)), g.StaticReshape),
    "permute": (lambda: (lambda x: x.permute(2, 0, 1), (_r(2, 3, 5),)), g.StaticTranspose),
    "slice": (lambda: (lambda x: x[:, 1:4], (_r(3, 5),)), g.StaticSlice),
    "select": (lambda: (lambda x: x[:, 1], (_r(3, 5),)), g.StaticSlice),
    "pad": (lambda: (lambda x: F.pad(x, (1, 2)), (_r(3, 5),)), g.StaticConstantPad),
    "nearest": (lambda: (lambda x: F.interpolate(x, scale_factor=(2, 3)), (_r(*IMAGE),)), g.Multiply),
    "bilinear": (
        lambda: (lambda x: F.interpolate(x, size=(9, 9), mode="bilinear"), (_r(*IMAGE),)),
        g.StaticResizeBilinear2D,
    ),
}


class _Between(nn.Module):
    """Applies an operator to quantized operands and quantizes its result."""

    def __init__(self, inner: nn.Module, scales: list[float], **options: object) -> None:
        super().__init__()
        self.inner, self.scales, self.options = inner, scales, options

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        operands = [
            as_integers(tensor, scale, **self.options)  # type: ignore[arg-type]
            for tensor, scale in zip(x, self.scales, strict=False)
        ]
        return as_integers(self.inner(*operands), self.scales[-1], **self.options)  # type: ignore[arg-type]


def _kinds(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[type]:
    exported = torch.export.export(module.eval(), inputs)
    graph_module = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).exported_program()
    (delegate,) = get_delegates(graph_module.graph)
    payload = getattr(graph_module.graph_module, delegate.target).processed_bytes
    return [type(node.xnode_union) for node in deserialize_payload(payload)[0].xnodes]


def _make(case: Callable[[], Case]) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    module, inputs = case()
    return module if isinstance(module, nn.Module) else Function(module), inputs


def _check(module: nn.Module, inputs: tuple[torch.Tensor, ...], quantum: float) -> None:
    (found,) = run(module, inputs)
    expected = module(*inputs)
    torch.testing.assert_close(found, expected, **quanta(quantum))


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_integers_are_within_a_quantum_of_eager(name: str) -> None:
    case, kind = CASES[name]
    inner, inputs = _make(case)
    module = _Between(inner, [0.03] * len(inputs) + [0.021])
    _check(module, inputs, 0.021)
    kinds = _kinds(module, inputs)
    assert kind in kinds
    assert kinds.count(g.Convert) == len(inputs) + 1, kinds


@pytest.mark.parametrize("name", ["depthwise", "depthwise of one scale", "grouped", "linear"])
def test_packed_weights_are_shared_by_equal_scales_only(name: str, tmp_path: Path) -> None:
    inner, inputs = _make(CASES[name][0])
    methods = []
    for scale in (0.03, 0.05, 0.03, 0.05):
        module = _Between(inner, [scale] * len(inputs) + [0.021]).eval()
        exported = torch.export.export(module, inputs)
        content = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer
        for options in ({}, {"XnnpackBackend": {"packed_cache_path": str(tmp_path / "weights")}}):
            methods.append(Runtime.get().load_program(content, backend_options=options).load_method("forward"))
            output = methods[-1].execute(inputs)[0]
            torch.testing.assert_close(output, module(*inputs), **quanta(0.021))


@pytest.mark.parametrize("name", ALIKE)
def test_moves_of_integers_are_within_a_quantum_of_eager(name: str) -> None:
    case, kind = ALIKE[name]
    inner, inputs = _make(case)
    module = _Between(inner, [0.03] * 8)
    computed = g.GlobalAvgPooling2d, g.DepthwiseConv2d, g.StaticResizeBilinear2D
    _check(module, inputs, 0.03 if kind in computed else 0)
    kinds = _kinds(module, inputs)
    assert kind in kinds
    assert kinds.count(g.Convert) == len(inputs) + 1, kinds


@pytest.mark.parametrize("name", ["add", "relu", "sigmoid", "mul"])
def test_unsigned_integers_are_within_a_quantum_of_eager(name: str) -> None:
    inner, inputs = _make(CASES[name][0])
    module = _Between(inner, [0.03] * len(inputs) + [0.02], zero=120, dtype=torch.uint8)
    _check(module, inputs, 0.02)
    assert _kinds(module, inputs).count(g.Convert) == len(inputs) + 1


@pytest.mark.parametrize("name", ["linear", "relu", "add"])
def test_quant_min_and_quant_max_are_kept(name: str) -> None:
    inner, inputs = _make(CASES[name][0])
    _check(_Between(inner, [0.01] * len(inputs) + [0.02], least=-20), inputs, 0.02)


@pytest.mark.parametrize("name", ["max pooling", "cat", "view"])
def test_integers_with_other_parameters_are_requantized(name: str) -> None:
    inner, inputs = _make(ALIKE[name][0])
    _check(_Between(inner, [0.03] * len(inputs) + [0.02]), inputs, 0)


FLOATS: dict[str, Callable[[], Case]] = {
    "softmax": lambda: (lambda x: torch.softmax(x, -1), (_r(3, 5),)),
    "pooling of what is there": lambda: (
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        (_r(*IMAGE),),
    ),
    "square root": lambda: (torch.sqrt, (_r(3, 5).abs(),)),
    "two operators": lambda: (lambda x: x.permute(1, 0) * 2, (_r(3, 5),)),
    "an operand of numbers": lambda: (lambda x: x + 0.5, (_r(3, 5),)),
}


@pytest.mark.parametrize("name", FLOATS)
def test_operators_without_an_integer_form_are_computed_in_float(name: str) -> None:
    inner, inputs = _make(FLOATS[name])
    _check(_Between(inner, [0.03, 0.02]), inputs, 0.02)


@pytest.mark.parametrize("make", [_linear, _convolution], ids=["linear", "convolution"])
def test_weights_alone_may_be_integers(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    module, inputs = make(), (_r(3, 10) if make is _linear else _r(*IMAGE),)
    (output,) = run(module, inputs)
    torch.testing.assert_close(output, module(*inputs), **LAYER)


def test_inputs_and_outputs_may_be_integers() -> None:
    parameters = (0.03, 3, -128, 127, torch.int8)

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        total = ops.dequantize_per_tensor(x, *parameters) + ops.dequantize_per_tensor(y, *parameters)
        return ops.quantize_per_tensor(total, *parameters)

    torch.manual_seed(0)
    inputs = tuple(torch.randint(-128, 128, (3, 5), dtype=torch.int8) for _ in range(2))
    (output,) = run(Function(function), inputs)
    assert output.dtype == torch.int8
    assert (output.int() - function(*inputs).int()).abs().max() <= 1
    assert _kinds(Function(function), inputs) == [g.Add]


def test_a_value_may_be_read_as_float_and_as_integers() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = as_integers(torch.tanh(as_integers(x)))
        return y, torch.exp(y)

    torch.manual_seed(0)
    x = _r(4, 5)
    for found, expected in zip(run(Function(function), (x,)), function(x), strict=True):
        torch.testing.assert_close(found, expected, **INT8_INPUTS)


class _Dynamic(nn.Module):
    """A linear layer whose operand is quantized at run time: for the whole tensor, or each row."""

    def __init__(self, layer: QuantizedLayer, by_row: bool) -> None:
        super().__init__()
        self.layer, self.by_row = layer, by_row

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = (-128, 127, torch.int8)
        if self.by_row:
            scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
            rows = ops.quantize_per_token(x, scale, zero, *limits)
            return self.layer(ops.dequantize_per_token(rows, scale, zero, *limits, torch.float32))
        scale, zero = ops.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        whole = ops.quantize_per_tensor.tensor(x, scale, zero, *limits)
        return self.layer(ops.dequantize_per_tensor.tensor(whole, scale, zero, *limits))


class _Groups(nn.Module):
    """A linear layer with integers of four bits, a scale for each 32 of a row."""

    def __init__(self) -> None:
        super().__init__()
        weight = torch.randn(6, 64)
        scales = (weight.reshape(6, 2, 32).abs().amax(-1) / 7).bfloat16().float()
        integers = (weight.reshape(6, 2, 32) / scales[..., None]).round().clamp(-8, 7)
        self.register_buffer("integers", integers.reshape(6, 64).to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(6, 2, dtype=torch.int8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        groups = (self.integers, self.scales, self.zeros, -8, 7, torch.int8, 32, torch.float32)
        return F.linear(x, ops.dequantize_per_channel_group(*groups))


ROWS: dict[str, tuple[Callable[[], nn.Module], int, g.DataType]] = {
    "a scale each": (_linear, 10, g.DataType.QCINT8),
    "one scale": (lambda: _linear(None), 10, g.DataType.QCINT8),
    "without bias": (lambda: _linear(bias=False), 10, g.DataType.QCINT8),
    "four bits": (lambda: _linear(most=7), 10, g.DataType.QCINT4),
    "groups": (_Groups, 64, g.DataType.QBINT4),
}


@pytest.mark.parametrize("by_row", [True, False], ids=["rows", "whole"])
@pytest.mark.parametrize("name", ROWS)
def test_dynamically_quantized_rows_are_near_eager(name: str, by_row: bool) -> None:
    make, size, datatype = ROWS[name]
    torch.manual_seed(0)
    module = _Dynamic(make(), by_row)  # type: ignore[arg-type]
    x = _r(2, 3, size)
    (output,) = run(module, (x,))
    # One quantum of the operand in every product of a row, at random signs.
    quantum = float(x.max() - x.min()) / 255
    bound = quantum * float(module.layer.weight().norm(dim=1).max()) if name != "groups" else quantum * 8
    torch.testing.assert_close(output, module(x), rtol=0, atol=bound)
    exported = torch.export.export(module.eval(), (x,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).exported_program()
    (delegate,) = get_delegates(lowered.graph)
    graph = deserialize_payload(getattr(lowered.graph_module, delegate.target).processed_bytes)[0]
    values = [value.xvalue_union for value in graph.xvalues]
    datatypes = [value.tensor_value.datatype for value in values if isinstance(value, g.QuantizedTensorValue)]
    assert sorted(datatypes) == sorted([g.DataType.QDINT8, datatype])


def test_one_dynamically_quantized_row_matches_eager() -> None:
    torch.manual_seed(0)
    module = _Dynamic(_linear(), by_row=False)  # type: ignore[arg-type]
    x = _r(1, 10)
    torch.testing.assert_close(run(module, (x,))[0], module(x), **LAYERS)


# Rows, steps along K and columns: whole and partial tiles, odd steps, more steps than a kernel holds at once.
PRODUCTS = [
    *[(1, 1, 1), (1, 300, 17), (2, 3, 16), (5, 17, 33), (6, 2048, 5), (7, 2049, 20), (13, 5001, 16)],
    *[(2, 64, 40), (4, 4607, 31), (8, 4608, 32), (9, 4609, 65)],
]


@pytest.mark.parametrize("rows, steps, columns", PRODUCTS)
def test_products_of_every_size_match_eager(rows: int, steps: int, columns: int) -> None:
    torch.manual_seed(0)
    layer = QuantizedLayer(nn.Linear(steps, columns), F.linear, 0)
    x = torch.randint(-131, 125, (rows, steps)) * 0.03
    limit = float(layer(x).detach().abs().max()) / 127 + 1e-3
    _check(_Between(layer, [0.03, limit]), (x,), limit)
    (output,) = run(_Dynamic(layer, by_row=True), (x,))
    torch.testing.assert_close(output, _Dynamic(layer, by_row=True)(x), **scaled(INTEGER_PRODUCTS, limit))


@pytest.mark.parametrize(
    "channels, options",
    [
        *[((3, 20), {"padding": 1}), ((240, 18), {"padding": 2, "dilation": 2}), ((34, 34), {"groups": 2})],
        ((515, 33), {"padding": 1}),
    ],
)
def test_convolutions_of_every_size_match_eager(channels: tuple[int, int], options: dict[str, int]) -> None:
    torch.manual_seed(0)
    inner, outer = channels
    layer = QuantizedLayer(
        nn.Conv2d(inner, outer, 3, groups=options.get("groups", 1)), lambda x, w, b: F.conv2d(x, w, b, **options), 0
    )
    x = _r(2, inner, 5, 6)
    _check(_Between(layer, [0.03, 0.01]), (x,), 0.01)


DATA = Path(__file__).parents[3] / "data" / "xnnpack"
THEIRS = {
    "quantized": ((1, 3, 8, 8), [[-0.3690814, 0.3604981, 0.1201660, 0.0743885, 0.1916934]]),
    "quantized_rows": (
        (2, 12),
        [[0.0333730, 0.3784531, -0.2163984, 0.2060784], [-0.2248327, 0.3889067, -0.1068652, 0.0316333]],
    ),
}


@pytest.mark.parametrize("name", THEIRS)
def test_quantized_programs_of_the_peer_give_its_results(name: str) -> None:
    shape, expected = THEIRS[name]
    x = torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)
    method = Runtime.get().load_program(DATA / f"{name}.pte").load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], torch.tensor(expected), **FEW_ROUNDINGS)


RUN = """
import sys, torch
from executorch.runtime import Runtime
cases = torch.load(sys.argv[1])
programs = [Runtime.get().load_program(program) for program, _ in cases]
torch.save([p.load_method("forward").execute(list(x))[0] for p, (_, x) in zip(programs, cases)], sys.argv[2])
"""
# ExecuTorch 1.4 lowers the same kinds of nodes.
EXCHANGED = ("linear", "linear and relu", "convolution", "depthwise", "transposed", "add and relu", "tanh")


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_the_peer_runs_quantized_programs(tmp_path: Path) -> None:
    modules = []
    for name in EXCHANGED:
        inner, inputs = _make(CASES[name][0])
        modules.append((_Between(inner, [0.03] * len(inputs) + [0.021]), inputs, 0.021))
    modules += [(_Dynamic(ROWS[name][0](), by_row=True), (_r(2, 3, ROWS[name][1]),), 0.02) for name in ROWS]  # type: ignore[arg-type]
    programs = []
    for module, inputs, _ in modules:
        exported = torch.export.export(module.eval(), inputs)
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        programs.append((lowered.to_executorch().buffer, inputs))
    torch.save(programs, tmp_path / "cases")
    peer.run_script(RUN, ["cases", "results"], tmp_path)
    for theirs, (module, inputs, quantum) in zip(torch.load(tmp_path / "results"), modules, strict=True):
        torch.testing.assert_close(theirs, module(*inputs), **quanta(quantum))
