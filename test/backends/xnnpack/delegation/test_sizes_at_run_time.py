# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Delegates accept empty tensors, data-dependent sizes, and expanded example inputs."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import INT8_MODEL, LAYERS, MIXED_PRECISION
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.runtime import Method, Runtime

pytestmark = needs_xnnpack
BATCH = torch.export.Dim("batch", min=0, max=8)


def delegated(model: nn.Module, inputs: tuple[torch.Tensor, ...], shapes: object = None) -> Method:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


class Function(nn.Module):
    """A function of the inputs and a linear layer from 8 to 5."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function, self.linear = function, nn.Linear(8, 5)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(self.linear, *inputs)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "model, shape",
    [
        (nn.Linear(8, 5), (4, 8)),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (4, 3, 8, 8)),
        (Function(lambda linear, x: linear(x).softmax(-1).reshape(-1)), (4, 8)),
        (nn.ConvTranspose2d(3, 4, 3), (4, 3, 8, 8)),
    ],
    ids=["linear", "images", "reshaped", "transposed convolution"],
)
def test_a_batch_may_be_empty(model: nn.Module, shape: tuple[int, ...]) -> None:
    shapes = ({0: BATCH},) if not isinstance(model, Function) else {"inputs": ({0: BATCH},)}
    method = delegated(model, (torch.randn(shape),), shapes)
    for batch in (4, 0, 8, 0, 1):
        x = torch.randn(batch, *shape[1:])
        (output,) = method.execute((x,))
        torch.testing.assert_close(output, model(x))


@pytest.mark.parametrize("per_op_mode", [False, True])
@pytest.mark.parametrize(
    "norms",
    [
        (nn.GroupNorm(2, 4), nn.GroupNorm(4, 4, affine=False)),
        (nn.InstanceNorm2d(4), nn.ReLU()),
    ],
    ids=["group norm", "instance norm"],
)
def test_norms_of_a_batch_that_varies_are_delegated(norms: tuple[nn.Module, nn.Module], per_op_mode: bool) -> None:
    model = nn.Sequential(norms[0], nn.Conv2d(4, 4, 3), norms[1]).eval()
    exported = torch.export.export(model, (torch.randn(4, 4, 6, 6),), dynamic_shapes=({0: BATCH},))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner(per_op_mode=per_op_mode)])
    graph = edge.exported_program().graph
    assert per_op_mode or len(get_delegates(graph)) == 1
    assert not any("norm" in str(node.target) or "sym_size" in str(node.target) for node in graph.nodes)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for batch in (4, 1, 8, 0, 3):
        x = torch.randn(batch, 4, 6, 6)
        torch.testing.assert_close(method.execute((x,))[0], model(x), **LAYERS)


def test_a_batch_size_with_other_readers_stays_in_the_program() -> None:
    model = Function(lambda linear, x: F.group_norm(linear(x), 1) * 2 + x.shape[0])
    method = delegated(model, (torch.randn(4, 8),), {"inputs": ({0: BATCH},)})
    for batch in (4, 1, 8):
        x = torch.randn(batch, 8)
        torch.testing.assert_close(method.execute((x,))[0], model(x), **LAYERS)


def test_a_concatenation_skips_empty_operands() -> None:
    model = Function(lambda linear, x, y: torch.cat((linear(x), linear(y))) * 2)
    shapes = {"inputs": ({0: BATCH}, {0: torch.export.Dim("others", min=0, max=8)})}
    method = delegated(model, (torch.randn(4, 8), torch.randn(3, 8)), shapes)
    for sizes in ((0, 2), (2, 1), (3, 0), (0, 0), (8, 8)):
        inputs = tuple(torch.randn(size, 8) for size in sizes)
        torch.testing.assert_close(method.execute(inputs)[0], model(*inputs))


TWO_SIZES: dict[str, Callable[..., torch.Tensor]] = {
    "an added dimension": lambda linear, x: linear(x).unsqueeze(1).sigmoid() * x.transpose(1, 2).unsqueeze(3),
    "a dimension between others": lambda linear, x: (linear(x).unsqueeze(2) * x.unsqueeze(3)).relu(),
    "a removed dimension": lambda linear, x: (linear(x).unsqueeze(1).relu() * linear.bias).squeeze(1) + 1,
    "a mean": lambda linear, x: linear(x) - linear(x).mean(-1, keepdim=True),
    "a sum": lambda linear, x: linear(x) / linear(x).exp().sum(2, keepdim=True),
    "a mean of half precision": lambda linear, x: x + x.half().mean(-1, True).float() / 2 + linear.bias[0],
}


@pytest.mark.sampled
@pytest.mark.parametrize("function", TWO_SIZES.values(), ids=TWO_SIZES)
def test_a_delegate_takes_a_batch_and_a_length_that_vary(function: Callable[..., torch.Tensor]) -> None:
    model = Function(function)
    shapes = {"inputs": ({0: BATCH, 1: torch.export.Dim("length", min=0, max=32)},)}
    exported = torch.export.export(model.eval(), (torch.randn(3, 7, 8),), dynamic_shapes=shapes)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert [str(node.target) for node in edge.exported_program().graph.nodes if "aten" in str(node.target)] == []
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for sizes in ((3, 7), (8, 32), (1, 1), (0, 5), (5, 0), (2, 9)):
        x = torch.randn(*sizes, 8)
        (result,) = method.execute((x,))
        assert result.shape == model(x).shape
        torch.testing.assert_close(result, model(x), **MIXED_PRECISION)


IMAGE_REDUCTIONS: dict[str, nn.Module] = {
    "pool": nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)),
    "mean": Function(lambda linear, x: x.mean((2, 3))),
    "mean of channels-last images": Function(lambda linear, x: x.permute(0, 2, 3, 1).mean((1, 2))),
    "sum": Function(lambda linear, x: x.relu().sum((2, 3), keepdim=True)),
    "half-precision mean": Function(lambda linear, x: x.half().mean((-1, -2)).float()),
}


@pytest.mark.sampled
@pytest.mark.parametrize("batch_varies", [False, True], ids=["one batch size", "any batch size"])
@pytest.mark.parametrize("model", IMAGE_REDUCTIONS.values(), ids=IMAGE_REDUCTIONS)
def test_images_whose_height_and_width_vary_are_reduced_in_one_delegate(model: nn.Module, batch_varies: bool) -> None:
    sizes = {2: torch.export.Dim("height", min=3, max=20), 3: torch.export.Dim("width", min=3, max=31)}
    sizes |= {0: BATCH} if batch_varies else {}
    shapes = {"inputs": (sizes,)} if isinstance(model, Function) else (sizes,)
    exported = torch.export.export(model.eval(), (torch.randn(4, 3, 7, 9),), dynamic_shapes=shapes)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    graph = edge.exported_program().graph
    assert len(get_delegates(graph)) == 1
    assert not any(word in str(node.target) for node in graph.nodes for word in ("mean", "sum"))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for batch, height, width in ((4, 7, 9), (8, 20, 31), (1, 3, 4), (3, 20, 3)):
        x = torch.randn(batch if batch_varies else 4, 3, height, width)
        torch.testing.assert_close(method.execute((x,))[0], model(x), **MIXED_PRECISION)


EMPTY_REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": lambda linear, x: linear(x).relu().sum(0),
    "mean": lambda linear, x: linear(x).mean(0) + 1,
    "mean that keeps the dimension": lambda linear, x: linear(x).mean(0, keepdim=True).relu(),
    "mean of all": lambda linear, x: linear(x).mean(),
    "mean between dimensions": lambda linear, x: linear(x)[None, :, None].mean((1, 2)),
    "half-precision mean": lambda linear, x: x.half().sigmoid().mean(0).float(),
    "product": lambda linear, x: linear(x).t() @ x,
    "product with a residual": lambda linear, x: (x.t() @ linear(x)).relu() + linear.weight.t(),
    "product of half precision": lambda linear, x: (x.t().half() @ x.half()).float(),
    "attention": lambda linear, x: F.scaled_dot_product_attention(torch.ones(2, 3, 8), x.expand(2, -1, 8), x * 2),
    "attention with a mask": lambda linear, x: F.scaled_dot_product_attention(
        torch.ones(1, 3, 8), x[None], x[None] * 2, attn_mask=x.sum(1)[None, None].expand(1, 3, -1)
    ),
    "linear layer whose weights are computed": lambda linear, x: F.linear(torch.ones(3, 1) * x[:, 0], x.t()),
}


@pytest.mark.sampled
@pytest.mark.parametrize("function", EMPTY_REDUCTIONS.values(), ids=EMPTY_REDUCTIONS)
def test_a_reduction_over_no_elements_equals_eager(function: Callable[..., torch.Tensor]) -> None:
    model = Function(function)
    method = delegated(model, (torch.randn(4, 8),), {"inputs": ({0: BATCH},)})
    for batch in (4, 0, 8, 0, 1):
        x = torch.randn(batch, 8)
        torch.testing.assert_close(method.execute((x,))[0], model(x), **MIXED_PRECISION, equal_nan=True)


def test_a_result_with_elements_of_an_empty_operand_is_refused_by_the_node_that_makes_it() -> None:
    model = nn.Conv2d(3, 4, 1, padding=1)
    method = delegated(model, (torch.randn(1, 3, 4, 8),), ({2: BATCH},))
    with pytest.raises(RuntimeError, match="node Conv2d has a result with elements although an operand is empty"):
        method.execute((torch.randn(1, 3, 0, 8),))
    x = torch.randn(1, 3, 3, 8)
    torch.testing.assert_close(method.execute((x,))[0], model(x))


def test_parts_of_a_delegate_without_elements_do_not_run() -> None:
    model = Function(lambda linear, x, y: (linear(x).softmax(-1), linear(y).relu() @ y.t()[:5], x.sigmoid() + 1))
    shapes = {"inputs": ({0: BATCH}, {})}
    method = delegated(model, (torch.randn(4, 8), torch.randn(5, 8)), shapes)
    for batch in (4, 0, 8, 0, 1):
        inputs = torch.randn(batch, 8), torch.randn(5, 8)
        for found, expected in zip(method.execute(inputs), model(*inputs), strict=True):
            torch.testing.assert_close(found, expected)


def test_an_input_that_is_too_large_is_named_with_its_size() -> None:
    method = delegated(nn.Linear(8, 5), (torch.randn(4, 8),), ({0: BATCH},))
    with pytest.raises(RuntimeError, match="9"):
        method.execute((torch.randn(9, 8),))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "function",
    [
        lambda linear, x: linear(x).unsqueeze(1).flatten(1),
        lambda linear, x: linear(x).unsqueeze(0).expand(2, -1, -1) * 1.5,
        lambda linear, x: linear(x).reshape(-1),
        lambda linear, x: torch.bmm(x.unsqueeze(0), x.unsqueeze(0).transpose(1, 2)),
        lambda linear, x: F.grid_sample(torch.ones(1, 3, 8, 8), x[:, :2].view(1, 1, -1, 2), align_corners=False),
    ],
    ids=["flatten", "expand", "reshape", "bmm", "grid_sample"],
)
def test_rows_that_data_select_are_delegated(function: Callable[..., torch.Tensor]) -> None:
    model = Function(lambda linear, x: function(linear, x[x[:, 0] > 0]))
    method = delegated(model, (torch.randn(6, 8),))
    for x in (torch.randn(6, 8), torch.ones(6, 8), torch.ones(6, 8) * torch.tensor([-1, 1, 1, 1, 1, -1])[:, None]):
        torch.testing.assert_close(method.execute((x,))[0], model(x))


class SelectedRows(nn.Module):
    """A layer of the rows whose first element is positive."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x[x.flatten(1)[:, 0] > 0])


class Selections(nn.Module):
    """Select rows of two tensors, and pad the shorter selection to the length of the other."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rows = [one[one[:, 0] > 0] for one in (x, y)]
        padded = torch.zeros(2, torch.sym_max(rows[0].shape[0], rows[1].shape[0]), 3)
        for place, one in enumerate(rows):
            padded[place, : one.shape[0]] = one * 2
        return padded


@pytest.mark.parametrize("partitioner", [[], [XnnpackPartitioner()]], ids=["portable", "delegated"])
def test_a_slice_may_end_at_the_size_of_another_selection(partitioner: list[XnnpackPartitioner]) -> None:
    model, some = Selections(), torch.rand(4, 3)
    exported = torch.export.export(model, (torch.randn(4, 3), torch.randn(4, 3)))
    program = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for inputs in ((some, -some), (-some, some), (some, some), (-some, -some)):
        torch.testing.assert_close(method.execute(inputs)[0], model(*inputs))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "function",
    [
        lambda linear, rows, x: rows.relu().sum(0),
        lambda linear, rows, x: linear(rows).mean(0),
        lambda linear, rows, x: rows.relu().t() @ rows,
        lambda linear, rows, x: F.pad(rows.relu(), (0, 0, 1, 1)) * 2,
        lambda linear, rows, x: torch.cat([linear(rows), linear(x)]),
        lambda linear, rows, x: F.scaled_dot_product_attention(x[None], rows[None], rows[None]),
        lambda linear, rows, x: linear(rows).flatten() * 2,
        lambda linear, rows, x: (linear(rows).relu(), linear(x).softmax(0), linear(rows) @ linear(x).t()),
        lambda linear, rows, x: F.layer_norm(rows, (8,)).amax(1),
        lambda linear, rows, x: rows.relu().sum(),
    ],
    ids=["sum", "mean", "product", "pad", "cat", "attention", "flatten", "several", "norm", "total"],
)
def test_data_may_select_no_rows(function: Callable[..., torch.Tensor]) -> None:
    model = Function(lambda linear, x: function(linear, x[x[:, 0] > 0], x))
    method = delegated(model, (torch.randn(6, 8),))
    ones = torch.ones(6, 8)
    for x in (torch.randn(6, 8), ones, -ones, torch.randn(6, 8)):
        expected = model(x)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for found, one in zip(method.execute((x,)), expected, strict=True):
            torch.testing.assert_close(found, one, equal_nan=True)


@pytest.mark.parametrize(
    "layer, shape", [(nn.Linear(8, 5), (6, 8)), (nn.Conv2d(8, 5, 3), (6, 8, 4, 4))], ids=["linear", "convolution"]
)
def test_rows_that_data_select_are_quantized_dynamically(layer: nn.Module, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    rows = torch.randn(shape)
    exported = torch.export.export(SelectedRows(layer).eval(), (rows,))
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(exported.module(), quantizer)
    prepared(rows)
    quantized = convert_pt2e(prepared)
    program = torch.export.export(quantized, (rows,))
    manager = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    ones = torch.ones(shape)
    for x in (rows, ones, -ones, rows):
        expected = quantized(x) if (x > 0).any() else layer(x[:0])
        torch.testing.assert_close(method.execute((x,))[0], expected, rtol=INT8_MODEL, atol=INT8_MODEL)


def test_reductions_of_rows_that_data_select_are_delegated() -> None:
    def reductions(linear: nn.Module, x: torch.Tensor) -> torch.Tensor:
        rows = x[x[:, 0] > 0]
        return torch.stack([rows.sum(0), rows.mean(0), (rows.t() @ rows)[0], F.pad(rows, (0, 0, 0, 1))[0]])

    model = Function(reductions)
    exported = torch.export.export(model.eval(), (torch.randn(6, 8),))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    graph = edge.exported_program().graph
    assert not any(word in str(node.target) for node in graph.nodes for word in ("sum", "mean", "mm", "pad"))
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for x in (torch.randn(6, 8), -torch.ones(6, 8)):
        torch.testing.assert_close(method.execute((x,))[0], model(x), equal_nan=True)


def test_sizes_that_are_equal_only_at_run_time_are_not_broadcast_in_a_delegate() -> None:
    def experts(linear: nn.Module, x: torch.Tensor, counts: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        parts = x.split(counts.tolist())
        return torch.cat([linear(part) * scale for scale, part in enumerate(parts, 1)]) * gates[:, None] + 1

    model, x, gates = Function(experts), torch.randn(6, 8), torch.rand(6)
    method = delegated(model, (x, torch.tensor([1, 3, 2]), gates))
    for counts in ([1, 3, 2], [0, 6, 0], [6, 0, 0], [2, 2, 2]):
        inputs = (x, torch.tensor(counts), gates)
        torch.testing.assert_close(method.execute(inputs)[0], model(*inputs))


def test_an_expanded_example_input_is_taken_as_dense() -> None:
    model = nn.Linear(8, 5)
    method = delegated(model, (torch.randn(1, 8).expand(4, 8),))
    x = torch.randn(4, 8)
    torch.testing.assert_close(method.execute((x,))[0], model(x))
