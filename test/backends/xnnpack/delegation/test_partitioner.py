# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""User configuration of the partitioner: operators, precisions, one delegate for each operator."""

import importlib
from collections.abc import Callable

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from models.function_module import Function
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import MODEL, quanta
from torch import nn
from torch.fx import Node
from torch.nn import functional as F

from executorch.backends.xnnpack.partition import config
from executorch.backends.xnnpack.partition.config.xnnpack_config import ConfigPrecisionType, XNNPartitionerConfig
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
)
from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.runtime import Runtime

ops = torch.ops.quantized_decomposed


class _Mixed(nn.Module):
    """Float, statically quantized and dynamically quantized layers in sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 4)
        scales = self.linear.weight.detach().abs().amax(1) / 127
        self.register_buffer("integers", (self.linear.weight.detach() / scales[:, None]).round().to(torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = (-128, 127, torch.int8)
        scale, zero = ops.choose_qparams.tensor(x, -128, 127, 2**-12, torch.int8)
        rows = ops.quantize_per_tensor.tensor(x, scale, zero, *limits)
        weight = ops.dequantize_per_channel(self.integers, self.scales, self.zeros, 0, *limits)
        y = F.linear(ops.dequantize_per_tensor.tensor(rows, scale, zero, *limits), weight, self.linear.bias)
        y = ops.dequantize_per_tensor(ops.quantize_per_tensor(torch.exp(y), 0.03, 0, *limits), 0.03, 0, *limits)
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(torch.tanh(y), 0.02, 0, *limits), 0.02, 0, *limits)


class _WeightOnly(nn.Module):
    """A linear layer in float with quantized weights, and a statically quantized tanh."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed = _Mixed()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = (-128, 127, torch.int8)
        weight = ops.dequantize_per_channel(self.mixed.integers, self.mixed.scales, self.mixed.zeros, 0, *limits)
        y = ops.dequantize_per_tensor(ops.quantize_per_tensor(F.linear(x, weight), 0.03, 0, *limits), 0.03, 0, *limits)
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(torch.tanh(y), 0.02, 0, *limits), 0.02, 0, *limits)


def _lowered(partitioner: XnnpackPartitioner, module: nn.Module, *inputs: torch.Tensor) -> EdgeProgramManager:
    exported = torch.export.export(module.eval(), inputs)
    return to_edge_transform_and_lower(exported, partitioner=[partitioner])


def _left(lowered: EdgeProgramManager) -> list[str]:
    """The undelegated operators."""
    nodes = lowered.exported_program().graph.nodes
    names = [str(node.target).rpartition("/")[2] for node in nodes if node.op == "call_function"]
    return [name for name in names if "delegate" not in name and "getitem" not in name]


# Precision → undelegated operators: undelegated linear layers are decomposed.
MIXED: dict[ConfigPrecisionType | None, set[str]] = {
    None: set(),
    ConfigPrecisionType.FP32: {"choose", "per_tensor.tensor", "per_tensor.default"},
    ConfigPrecisionType.STATIC_QUANT: {"exp"},
    ConfigPrecisionType.DYNAMIC_QUANT: {"exp", "tanh", "per_tensor.default"},
}


@pytest.mark.parametrize("precision", MIXED)
def test_only_nodes_of_the_configured_precisions_are_delegated(precision: ConfigPrecisionType | None) -> None:
    torch.manual_seed(0)
    left = "\n".join(_left(_lowered(XnnpackPartitioner(config_precisions=precision), _Mixed(), torch.randn(2, 6))))
    names = ("choose", "addmm", "linear", "exp", "tanh", "per_tensor.tensor", "per_tensor.default")
    assert {name for name in names if name in left} == MIXED[precision]


def test_a_partitioner_of_one_precision_delegates_only_that_precision() -> None:
    floats = _lowered(XnnpackFloatingPointPartitioner(), _Mixed(), torch.randn(2, 6))
    assert not any(name in "".join(_left(floats)) for name in ("exp", "tanh", "linear", "mm"))
    assert "per_tensor" in "".join(_left(floats))
    dynamic = _lowered(XnnpackDynamicallyQuantizedPartitioner(), _Mixed(), torch.randn(2, 6))
    assert "linear" not in "".join(_left(dynamic))
    assert "exp" in "".join(_left(dynamic))
    assert len(get_delegates(dynamic.exported_program().graph)) == 1


def test_a_quantized_weight_is_delegated_only_with_its_layer() -> None:
    lowered = _lowered(
        XnnpackPartitioner(config_precisions=ConfigPrecisionType.STATIC_QUANT), _WeightOnly(), torch.ones(2, 6)
    )
    assert "per_channel" in "".join(_left(lowered))
    assert all(
        delegate.args[1:] for delegate in lowered.exported_program().graph.nodes if "call_delegate" in delegate.name
    )


class _StaticLayer(nn.Module):
    """A linear layer and its activation between quantize and dequantize nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(4))
        self.register_buffer("integers", torch.randint(-127, 128, (4, 6), dtype=torch.int8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        limits = (-128, 127, torch.int8)
        x = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.03, 3, *limits), 0.03, 3, *limits)
        weight = ops.dequantize_per_tensor(self.integers, 0.01, 0, *limits)
        y = F.relu(F.linear(x, weight, self.bias))
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(y, 0.05, -128, *limits), 0.05, -128, *limits)


@needs_xnnpack
@pytest.mark.parametrize(("module", "delegates"), [(_Mixed, 2), (_StaticLayer, 1)])
def test_a_partitioner_of_floats_computes_a_quantized_linear_layer_in_float(
    module: type[nn.Module], delegates: int
) -> None:
    torch.manual_seed(0)
    layer, x = module().eval(), torch.randn(3, 6)
    lowered = _lowered(XnnpackFloatingPointPartitioner(), layer, x)
    left = "".join(_left(lowered))
    assert not any(name in left for name in ("linear", "mm", "relu", "per_channel"))
    program = lowered.to_executorch()
    precisions = [delegate.precisions.values() for delegate in program.verdict.methods[0].delegates]
    assert len(precisions) == delegates
    assert not any("int8" in found for each in precisions for found in each)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], layer(x), **quanta(0.05))


def _requantized(operator: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> torch.Tensor:
    limits = (-128, 127, torch.int8)
    integers = [ops.quantize_per_tensor(x, 0.03, 3, *limits) for x in inputs]
    y = operator(*(ops.dequantize_per_tensor(x, 0.03, 3, *limits) for x in integers))
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(y, 0.05, 0, *limits), 0.05, 0, *limits)


class _Between(nn.Module):
    """An operator between dequantize and quantize nodes."""

    def __init__(self, operator: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.operator = operator

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return _requantized(self.operator, *inputs)


@needs_xnnpack
@pytest.mark.parametrize("operator", [torch.tanh, torch.relu, torch.add, nn.MaxPool2d(2), nn.Conv2d(2, 3, 2)])
def test_a_partitioner_of_floats_takes_operators_between_dequantize_and_quantize(
    operator: Callable[..., torch.Tensor],
) -> None:
    inputs = tuple(torch.randn(1, 2, 4, 4) for _ in range(2 if operator is torch.add else 1))
    module = _Between(operator).eval()
    lowered = _lowered(XnnpackFloatingPointPartitioner(), module, *inputs)
    left = _left(lowered)
    assert left and all("quantize" in name for name in left)
    assert len(get_delegates(lowered.exported_program().graph)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute(inputs)[0], module(*inputs), **quanta(0.05))


def test_only_configured_operators_are_delegated() -> None:
    class Round(XNNPartitionerConfig):
        target_name = "round.default"

    function = Function(lambda x: torch.exp(torch.round(torch.relu(x) + 1)))
    left = "".join(_left(_lowered(XnnpackPartitioner(configs=[config.ReLUConfig, Round]), function, torch.randn(3))))
    assert "relu" not in left
    assert "round" not in left
    assert "exp" in left
    assert "add" in left


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("gemm_configs", "LinearConfig"),
        ("generic_node_configs", "EluConfig"),
        ("node_configs", "PreluConfig"),
        ("quant_affine_configs", "QuantizeAffineConfig"),
    ],
)
def test_configured_operators_have_the_module_paths_of_executorch(path: str, name: str) -> None:
    module = importlib.import_module(f"executorch.backends.xnnpack.partition.config.{path}")
    assert getattr(module, name) in config.ALL_PARTITIONER_CONFIGS


def test_operators_are_configured_by_classes_of_executorch_s_modules() -> None:
    configs = importlib.import_module("executorch.backends.xnnpack.partition.config.generic_node_configs")
    derived = type("Round", (configs.GenericNodePartitionerConfig,), {"target_name": "round.default"})
    function = Function(lambda x: torch.exp(F.elu(torch.round(x))))
    left = "".join(_left(_lowered(XnnpackPartitioner(configs=[configs.EluConfig, derived]), function, torch.randn(3))))
    assert "elu" not in left
    assert "round" not in left
    assert "exp" in left


def test_a_configured_class_keeps_calls_out_of_delegates() -> None:
    class LongExp(XNNPartitionerConfig):
        target_name = "exp.default"

        def check_constraints(self, node: Node, ep: torch.export.ExportedProgram) -> bool:
            return node.meta["val"].numel() > 2

    class Two(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.exp(x), torch.exp(y)

    left = _left(_lowered(XnnpackPartitioner(configs=[LongExp]), Two(), torch.randn(3), torch.randn(2)))
    assert sum("exp" in name for name in left) == 1


def test_quantization_of_a_chosen_operator_is_delegated_with_it() -> None:
    limits = (0.03, 0, -128, 127, torch.int8)

    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *limits), *limits))
        return torch.exp(ops.dequantize_per_tensor(ops.quantize_per_tensor(y, *limits), *limits))

    left = _left(_lowered(XnnpackPartitioner(configs=[config.TanhConfig]), Function(function), torch.randn(3)))
    assert [name for name in left if "exp" not in name] == []


@needs_xnnpack
def test_every_operator_may_be_its_own_delegate() -> None:
    torch.manual_seed(0)
    module, x = _Mixed().eval(), torch.randn(2, 6)
    lowered = _lowered(XnnpackPartitioner(per_op_mode=True), module, x)
    assert _left(lowered) == []
    assert len(get_delegates(lowered.exported_program().graph)) == 5
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], module(x), **quanta(0.02))
    function = Function(lambda x: x.split(2)[0] + x.split(2)[1])
    several = _lowered(XnnpackPartitioner(per_op_mode=True), function, torch.randn(4, 3))
    assert _left(several) == []


class _Newer(nn.Module):
    """Uses every kind of node that ExecuTorch 1.4 lacks, between linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.volumes = nn.Conv3d(1, 1, 3, padding=1)
        self.register_buffer("mask", torch.ones(64, 64, dtype=torch.bool).tril())
        self.register_buffer("places", torch.randperm(64, generator=torch.Generator().manual_seed(0)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x).masked_fill(~self.mask, -1.0)
        x = x[:, self.places].flip(0) + x.index_select(1, self.places).abs().log1p().expm1()
        x = x + x.unfold(1, 2, 1).sum(-1).sum() + torch.full_like(x, 2.0) + x.diagonal()
        x = self.volumes(x.reshape(1, 1, 16, 16, 16)).reshape(64, 64)
        return self.linear(torch.where(x.isnan() | (x.amax(1, keepdim=True) > x), x, -x))


@needs_xnnpack
def test_programs_for_executorch_1_4_have_no_newer_nodes() -> None:
    torch.manual_seed(0)
    module, inputs = _Newer().eval(), (torch.rand(64, 64),)
    exported = torch.export.export(module, inputs)
    newer = {"Select", "Equal", "NotEqual", "Less", "LessOrEqual", "StaticGather"}
    newer_of_programs = []
    for restricted in (False, True):
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(for_executorch_1_4=restricted)])
        graph_module = lowered.exported_program().graph_module
        payloads = [getattr(graph_module, node.target).processed_bytes for node in get_delegates(graph_module.graph)]
        nodes = [node for payload in payloads for node in deserialize_payload(payload)[0].xnodes]
        newer_of_programs.append({type(node.xnode_union).__name__ for node in nodes} & newer)
        program = Runtime.get().load_program(lowered.to_executorch().buffer)
        (result,) = program.load_method("forward").execute(inputs)
        torch.testing.assert_close(result, module(*inputs), **MODEL)
    assert newer_of_programs == [newer - {"Equal", "LessOrEqual"} | newer_of_programs[0], set()]


@needs_xnnpack
def test_sums_over_sizes_that_vary_stay_out_of_delegates_for_executorch_1_4() -> None:
    sums = Function(lambda x: (x.relu().sum((2, 3)), x.relu().mean((2, 3))))
    sizes = {2: torch.export.Dim("height", min=2, max=20), 3: torch.export.Dim("width", min=2, max=31)}
    exported = torch.export.export(sums, (torch.randn(2, 3, 7, 9),), dynamic_shapes={"args": (sizes,)})
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(for_executorch_1_4=True)])
    assert [node.name for node in lowered.exported_program().graph.nodes if "aten" in node.name] == [
        "aten_sum_dim_int_list"
    ]


def test_operators_on_booleans_that_no_delegate_needs_are_left_with_that_reason() -> None:
    masks = Function(lambda mask, x: (torch.nonzero(mask.logical_not()), torch.nonzero(x > 0)))
    lowered = _lowered(XnnpackPartitioner(), masks, torch.ones(2, 3, dtype=torch.bool), torch.randn(2, 3))
    fallbacks = lowered.to_executorch().verdict.methods[0].fallbacks
    reasons = {fallback.operator: fallback.reasons["XnnpackPartitioner"] for fallback in fallbacks}
    assert reasons == {
        "aten::gt.Scalar_out": "a delegate that computes only booleans gains nothing",
        "aten::logical_not.out": "a delegate that computes only booleans gains nothing",
        "aten::nonzero.out": "XNNPACK lacks this operator",
    }
