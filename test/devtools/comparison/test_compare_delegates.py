# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Errors planted in the payload of a delegate: the comparison names the operator inside of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.opened_payload import open_payload
from executorch.backends.xnnpack.serialization.payload import ConstantData, deserialize_payload, serialize_payload
from executorch.devtools import compare
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.schema import BackendDelegateInlineData
from executorch.exir.serialize import deserialize_pte, serialize_pte
from executorch.exir.serialize.pte_file import NamedBlob
from executorch.runtime import Runtime

pytestmark = pytest.mark.skipif(
    not Runtime.get().backend_registry.is_available("XnnpackBackend"), reason="built without XNNPACK"
)

Edit = Callable[[g.XNode], None]


class Net(torch.nn.Module):
    """Depthwise and full convolutions, sums, products and a classifier: all in one delegate."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depth = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = torch.nn.Conv2d(8, 8, 1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.first(x)))
        y = torch.sigmoid(self.depth(x))
        x = x * y + self.point(x)
        return torch.softmax(self.head(torch.tanh(x).mean((2, 3))), 1)


@pytest.fixture(scope="module")
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    return torch.randn(1, 3, 10, 12)


@pytest.fixture(scope="module")
def exported(net: Net, x: torch.Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(net, (x,))


@pytest.fixture(scope="module")
def program(exported: torch.export.ExportedProgram) -> bytes:
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def with_wrong_node(program: bytes, kind: type, edit: Callable[[g.XNode], None], number: int = 0) -> bytes:
    """The program with the `number`-th node of a kind in its only delegate changed."""
    file = deserialize_pte(program)
    (delegate,) = file.program.backend_delegate_data
    graph, data = deserialize_payload(delegate.data)
    edit([node for node in graph.xnodes if type(node.xnode_union) is kind][number])
    changed = serialize_payload(graph, ConstantData.kept(graph.constant_data, data))
    file.program.backend_delegate_data[0] = BackendDelegateInlineData(changed)
    return bytes(serialize_pte(file))


def with_wrong_constant(program: bytes, wanted: torch.Tensor) -> bytes:
    """The program with another number in the constant whose bytes are those of `wanted`, in any order."""
    file = deserialize_pte(program)
    for key, blob in file.named_data.items():
        values = torch.frombuffer(bytearray(blob.data), dtype=torch.uint8)
        if values.numel() != wanted.numel() * 4:
            continue
        floats = values.view(torch.float32)
        if torch.equal(floats.sort().values, wanted.detach().reshape(-1).sort().values):
            floats[floats.numel() // 2] += 2
            file.named_data[key] = NamedBlob(floats.numpy().tobytes(), blob.alignment)
            return bytes(serialize_pte(file))
    raise AssertionError("there is no such constant")


def instead(kind: type) -> Edit:
    """Another kind of node on the same operands."""

    def edit(node: g.XNode) -> None:
        node.xnode_union = kind(**vars(node.xnode_union))

    return edit


def limited(node: g.XNode) -> None:
    node.output_min_max = g.OutputMinMax(0.0, 0.05)


def wrong_padding(node: g.XNode) -> None:
    convolution = node.xnode_union
    convolution.padding_top, convolution.padding_bottom = 2, 0  # type: ignore[attr-defined]  # of a convolution


NODES: dict[str, tuple[type, Edit, str, str]] = {
    "the product is a sum": (g.Multiply, instead(g.Add), "aten.mul.Tensor", ""),
    "the product is a maximum": (g.Multiply, instead(g.Maximum), "aten.mul.Tensor", ""),
    "the sum is a difference": (g.Add, instead(g.Subtract), "aten.add.Tensor", ""),
    "the sum is a minimum": (g.Add, instead(g.Minimum), "aten.add.Tensor", ""),
    "the sigmoid is tanh": (g.Sigmoid, instead(g.Tanh), "aten.sigmoid.default", ""),
    "tanh is a sine": (g.Tanh, instead(g.Sin), "aten.tanh.default", ""),
    "the mean is a sum": (g.GlobalAvgPooling2d, instead(g.Sum), "aten.mean.dim", ""),
    "softmax is a sigmoid": (g.Softmax, instead(g.Sigmoid), "aten._softmax.default", ""),
    "the convolution is clamped": (g.Conv2d, limited, "aten.convolution.default", "first"),
    "the depthwise convolution is clamped": (g.DepthwiseConv2d, limited, "aten.convolution.default", "depth"),
    "the depthwise convolution is padded wrongly": (
        *(g.DepthwiseConv2d, wrong_padding),
        *("aten.convolution.default", "depth"),
    ),
    "the classifier is clamped": (g.FullyConnected, limited, "aten.addmm.default", "head"),
}


def test_every_operator_inside_is_compared(
    exported: torch.export.ExportedProgram, program: bytes, x: torch.Tensor
) -> None:
    comparison = compare(exported, program, (x,))
    assert comparison.first is None and not comparison.outputs_differ
    inside = [
        operator.ran.removeprefix("XnnpackBackend: ") for operator in comparison.operators if ": " in operator.ran
    ]
    kinds = ["Conv2d", "DepthwiseConv2d", "Sigmoid", "Multiply", "Conv2d", "Add", "Tanh", "StaticReshape"]
    assert inside == [*kinds, "FullyConnected", "Softmax"]  # the reshape ends the mean
    assert min(operator.sqnr for operator in comparison.operators) > 100


@pytest.mark.parametrize("what", NODES)
def test_a_wrong_node_of_a_payload_is_named(
    exported: torch.export.ExportedProgram, program: bytes, x: torch.Tensor, what: str
) -> None:
    kind, edit, operator, module = NODES[what]
    comparison = compare(exported, with_wrong_node(program, kind, edit), (x,))
    assert comparison.first is not None
    assert comparison.first.operator.split(" + ")[0] == operator
    assert comparison.first.ran.startswith("XnnpackBackend: ")
    if module:
        assert comparison.first.module == module


@pytest.mark.parametrize("name", ["depth.weight", "point.weight", "head.weight", "depth.bias", "point.bias"])
def test_a_wrong_constant_of_a_payload_is_named(
    net: Net, exported: torch.export.ExportedProgram, program: bytes, x: torch.Tensor, name: str
) -> None:
    comparison = compare(exported, with_wrong_constant(program, net.get_parameter(name)), (x,))
    assert comparison.first is not None
    assert comparison.first.module == name.split(".")[0]


class QuantizedNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.point = torch.nn.Conv2d(8, 8, 1)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        return self.head((x + self.point(x)).mean((2, 3)))


@pytest.fixture(scope="module")
def quantized(x: torch.Tensor) -> tuple[torch.export.ExportedProgram, bytes]:
    torch.manual_seed(0)
    captured = torch.export.export(QuantizedNet().eval(), (x,)).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(captured, quantizer)
    prepared(x)
    exported = torch.export.export(convert_pt2e(prepared), (x,))
    return exported, to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def test_rounding_of_quantized_values_is_no_difference(
    quantized: tuple[torch.export.ExportedProgram, bytes], x: torch.Tensor
) -> None:
    comparison = compare(*quantized, (x,))
    assert comparison.first is None
    assert sum(operator.ran.endswith(": Conv2d") for operator in comparison.operators) == 2


@pytest.mark.parametrize(
    ("kind", "number", "operand", "name", "factor", "module"),
    [
        (g.Conv2d, 0, "output_id", "scale", 0.25, "first"),
        (g.Conv2d, 1, "output_id", "scale", 0.25, "point"),
        (g.Conv2d, 1, "output_id", "zero_point", -0.5, "point"),
        (g.Add, 0, "output_id", "scale", 0.25, ""),
        (g.FullyConnected, 0, "output_id", "scale", 0.25, "head"),
        (g.Conv2d, 0, "filter_id", "scale", 3, "first"),
        (g.Conv2d, 1, "filter_id", "scale", 3, "point"),
        (g.FullyConnected, 0, "filter_id", "scale", 3, "head"),
    ],
)
def test_a_wrong_quantization_parameter_of_a_payload_is_named(
    quantized: tuple[torch.export.ExportedProgram, bytes],
    x: torch.Tensor,
    kind: type,
    number: int,
    operand: str,
    name: str,
    factor: float,
    module: str,
) -> None:
    exported, program = quantized
    file = deserialize_pte(program)
    graph, data = deserialize_payload(file.program.backend_delegate_data[0].data)
    node = [xnode.xnode_union for xnode in graph.xnodes if type(xnode.xnode_union) is kind][number]
    operand_value = graph.xvalues[getattr(node, operand)].xvalue_union
    assert isinstance(operand_value, g.QuantizedTensorValue)
    right = getattr(operand_value.quant_params, name)
    wrong = [number * factor for number in right] if isinstance(right, list) else type(right)(right * factor)
    setattr(operand_value.quant_params, name, wrong)
    changed = serialize_payload(graph, ConstantData.kept(graph.constant_data, data))
    file.program.backend_delegate_data[0] = BackendDelegateInlineData(changed)
    comparison = compare(exported, bytes(serialize_pte(file)), (x,))
    assert comparison.first is not None
    assert comparison.first.ran == f"XnnpackBackend: {kind.__name__}"
    assert comparison.first.module.removeprefix("<root>") == module


def test_an_opened_payload_returns_its_own_outputs_first(program: bytes) -> None:
    (delegate,) = deserialize_pte(program).program.backend_delegate_data
    graph, _ = deserialize_payload(delegate.data)
    opened, outputs = open_payload(delegate.data)
    wider, _ = deserialize_payload(opened)
    assert wider.output_ids[: len(graph.output_ids)] == graph.output_ids
    assert len(wider.output_ids) == len(outputs) == len(graph.xnodes)
    assert all(math.prod(output.sizes) > 0 for output in outputs)
