# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators that become several XNNPACK nodes, or none: norms, attention, reductions, views and slices."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.models.delegated import check
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import ELEMENTWISE, EXACT, LAYER, SEVERAL_OPERATORS
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.examples.models.llama.rope import rotate
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Case = tuple[nn.Module | Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]


def _r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _random(module: nn.Module) -> nn.Module:
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


class _MultiHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x, x, x, need_weights=False)[0]


def _attention(**options: object) -> Callable[..., torch.Tensor]:
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **options)


def _rotary(x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Rotate halves; one angle a channel. The last channels stay where there are more than angles."""
    rotated, others = x[..., : angle.shape[-1]], x[..., angle.shape[-1] :]
    low, high = rotated.chunk(2, -1)
    rotated = rotated * angle.cos() + torch.cat((-high, low), -1) * angle.sin()
    return torch.cat((rotated, others), -1) if others.shape[-1] else rotated


def _rotary_of_pairs(halves: bool) -> Callable[..., torch.Tensor]:
    """Rotate halves or neighbors; one angle a pair."""
    return lambda x, angle: rotate(x, angle.cos(), angle.sin(), halves=halves)


class _Gated(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y * F.silu(x * 9)


def _with_a_row_of_fives(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[1] = 5
    return y @ y.t()


CASES: dict[str, Callable[[], Case]] = {
    "layer norm": lambda: (_random(nn.LayerNorm(7)), (_r(2, 5, 7) * 3 + 1,)),
    "layer norm over two dimensions": lambda: (_random(nn.LayerNorm((5, 7))), (_r(3, 5, 7),)),
    "layer norm without weights": lambda: (nn.LayerNorm(9, elementwise_affine=False), (_r(3, 9),)),
    "layer norm of images": lambda: (
        lambda x: F.layer_norm(F.relu(x).permute(0, 2, 3, 1), (3,)).permute(0, 3, 1, 2),
        (_r(2, 3, 4, 5),),
    ),
    "group norm": lambda: (_random(nn.GroupNorm(2, 6)), (_r(2, 6, 3, 5),)),
    "group norm of signals": lambda: (nn.GroupNorm(3, 6, affine=False), (_r(2, 6, 7),)),
    "rms norm": lambda: (_random(nn.RMSNorm(7, eps=1e-5)), (_r(2, 3, 7),)),
    "softmax over channels": lambda: (lambda x: torch.softmax(x, 1), (_r(2, 3, 4, 5),)),
    "softmax over the first": lambda: (lambda x: torch.softmax(x, 0), (_r(3, 4),)),
    "mean over the last": lambda: (lambda x: x.mean(-1, keepdim=True), (_r(2, 3, 5),)),
    "mean over the first": lambda: (lambda x: x.mean(0), (_r(3, 5),)),
    "mean over two that are apart": lambda: (lambda x: x.mean((0, 2)), (_r(2, 3, 5, 4),)),
    "mean of all": lambda: (lambda x: x.mean(), (_r(2, 3, 5),)),
    "mean of channels": lambda: (lambda x: F.avg_pool2d(x, 2).mean(1), (_r(2, 3, 4, 6),)),
    "sum": lambda: (lambda x: x.sum((1, 3), keepdim=True), (_r(2, 3, 5, 4),)),
    "sum over the first": lambda: (lambda x: x.sum(0), (_r(7, 3),)),
    "variance": lambda: (lambda x: ((x - x.mean(1, keepdim=True)) ** 2).mean(1), (_r(3, 9),)),
    "gelu by tanh": lambda: (lambda x: F.gelu(x, approximate="tanh"), (_r(3, 7) * 4,)),
    "silu": lambda: (F.silu, (_r(3, 7),)),
    "alpha of add": lambda: (lambda x, y: torch.add(x, y, alpha=2), (_r(3, 4), _r(4))),
    "alpha of sub": lambda: (lambda x, y: torch.sub(x, y, alpha=0.5), (_r(4), _r(3, 1))),
    "truncation": lambda: (torch.trunc, (_r(5, 7) * 5,)),
    "reciprocal": lambda: (lambda x: (x.abs() + 1).reciprocal(), (_r(5),)),
    "powers": lambda: (lambda x: x**3 + x**4 + (x.abs() + 1) ** -0.5 + (x.abs() + 1) ** 0.5, (_r(5, 3),)),
    "inverse powers": lambda: (lambda x: x**-1 + x**-2 + x**-3 + x**-4, (_r(5, 3).abs() + 1,)),
    "powers of quarters": lambda: (lambda x: x**0.25 + x**0.75 + x**1.5 + x**2.25, (_r(5, 3).abs(),)),
    "higher powers": lambda: (lambda x: (x**5 + x**6 + x**7 + x**8) * x**1.0, (_r(5, 3) / 2,)),
    "distance of absolute values": lambda: (lambda x: nn.functional.normalize(x, p=1), (_r(5, 3),)),
    "prelu of a matrix": lambda: (_random(nn.PReLU(5)), (_r(3, 5),)),
    "prelu of images": lambda: (_random(nn.PReLU(3)), (_r(2, 3, 4, 5),)),
    "prelu of one slope": lambda: (nn.PReLU(), (_r(2, 3, 4),)),
    "select": lambda: (lambda x: x[:, -1] * 2, (_r(2, 3, 4),)),
    "select of a permuted tensor": lambda: (lambda x: x.permute(2, 0, 1)[1] * 2, (_r(2, 3, 4),)),
    "split": lambda: (lambda x: torch.cat(x.split([1, 3, 2], 1)[::-1], 1), (_r(2, 6, 3),)),
    "unbind": lambda: (lambda x: x.unbind(1)[0] + x.unbind(1)[2], (_r(2, 3, 4),)),
    "chunks of images": lambda: (lambda x: F.relu(F.avg_pool2d(x, 2).chunk(2, 1)[1]), (_r(1, 4, 4, 4),)),
    "expand": lambda: (lambda x: x[:, None].expand(2, 3, 5) * 2, (_r(2, 5),)),
    "stack": lambda: (lambda x, y: torch.stack((x, y), 1), (_r(2, 3), _r(2, 3))),
    "permutes that cancel": lambda: (lambda x: (x.permute(2, 0, 1) * 2).permute(1, 2, 0), (_r(2, 3, 4),)),
    "view of a permuted tensor": lambda: (lambda x: x.permute(0, 2, 1, 3).reshape(2, 4, -1) * 2, (_r(2, 3, 4, 5),)),
    "flattened images": lambda: (lambda x: F.avg_pool2d(x, 2).flatten(2).transpose(1, 2), (_r(2, 3, 4, 6),)),
    "pixel shuffle": lambda: (lambda x: F.pixel_shuffle(x, 2), (_r(2, 12, 3, 5),)),
    "matmul broadcasts": lambda: (torch.matmul, (_r(2, 1, 4, 5), _r(3, 5, 6))),
    "matmul with a matrix": lambda: (torch.matmul, (_r(2, 4, 5), _r(5, 6))),
    "matmul of transposed operands": lambda: (
        lambda x, y: x.transpose(-1, -2) @ y.transpose(-1, -2),
        (_r(2, 5, 4), _r(2, 6, 5)),
    ),
    "attention": lambda: (_attention(), (_r(2, 3, 5, 8), _r(2, 3, 7, 8), _r(2, 3, 7, 4))),
    "attention, scaled": lambda: (_attention(scale=0.3), (_r(2, 5, 8), _r(2, 7, 8), _r(2, 7, 8))),
    "attention, masked": lambda: (_attention(), (_r(2, 3, 5, 8), _r(2, 3, 7, 8), _r(2, 3, 7, 8))),
    "grouped attention": lambda: (
        _attention(enable_gqa=True),
        (_r(1, 6, 5, 8), _r(1, 2, 5, 8), _r(1, 2, 5, 8)),
    ),
    "multi-head attention": lambda: (_MultiHead(), (_r(2, 5, 8),)),
    "rounding": lambda: (torch.round, (torch.tensor([0.5, 1.5, -2.5, 2.4, -0.4, 1e9]),)),
    "copysign": lambda: (torch.copysign, (_r(3, 5), _r(5))),
    "convolution of signals": lambda: (nn.Conv1d(3, 5, 3, stride=2, padding=1), (_r(2, 3, 9),)),
    "convolutions of signals": lambda: (
        nn.Sequential(nn.Conv1d(4, 4, 3, groups=4), nn.BatchNorm1d(4), nn.ReLU(), nn.Conv1d(4, 3, 2, dilation=2)),
        (_r(2, 4, 11),),
    ),
    "transposed convolution of signals": lambda: (nn.ConvTranspose1d(3, 5, 4, stride=3, padding=1), (_r(2, 3, 7),)),
    "transposed, dilated and grouped": lambda: (
        nn.ConvTranspose2d(4, 6, 3, 2, dilation=2, groups=2),
        (_r(1, 4, 5, 6),),
    ),
    "convolution, same padding": lambda: (nn.Conv2d(3, 4, (3, 4), padding="same", dilation=(2, 1)), (_r(1, 3, 7, 8),)),
    "norm of a matrix": lambda: (_random(nn.BatchNorm1d(5)), (_r(3, 5),)),
    "norm of signals": lambda: (_random(nn.BatchNorm1d(5)), (_r(3, 5, 4),)),
    "average with padding's zeros": lambda: (nn.AvgPool2d(3, 2, 1), (_r(1, 4, 9, 7),)),
    "average by another divisor": lambda: (lambda x: F.avg_pool2d(x, 2, divisor_override=3), (_r(1, 4, 6, 6),)),
    "average of signals": lambda: (nn.AvgPool1d(2), (_r(2, 3, 8),)),
    "rounding up that changes nothing": lambda: (nn.MaxPool2d(3, 2, ceil_mode=True), (_r(1, 4, 9, 7),)),
    "maxima, rounding up": lambda: (nn.MaxPool2d(3, 2, ceil_mode=True), (_r(1, 4, 10, 8) - 9,)),
    "maxima, padded, rounding up": lambda: (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (_r(1, 4, 10, 8) - 9,)),
    "averages, rounding up": lambda: (nn.AvgPool2d(2, ceil_mode=True), (_r(1, 4, 9, 7),)),
    "averages of the image alone, rounding up": lambda: (
        nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
        (_r(1, 4, 10, 8),),
    ),
    "adaptive average": lambda: (nn.AdaptiveAvgPool2d((2, 3)), (_r(2, 3, 4, 9),)),
    "adaptive average of one": lambda: (nn.AdaptiveAvgPool2d(1), (_r(2, 3, 5, 7),)),
    "nearest": lambda: (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), (_r(2, 3, 4, 5),)),
    "nearest to a size": lambda: (lambda x: F.interpolate(x, size=(12, 5)), (_r(1, 3, 4, 5),)),
    "nearest to fewer rows": lambda: (lambda x: F.interpolate(x, size=(3, 11)), (_r(2, 3, 5, 6),)),
    "nearest of volumes": lambda: (lambda x: F.interpolate(x, size=(7, 3, 11)), (_r(2, 3, 4, 5, 6),)),
    "trilinear": lambda: (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), (_r(2, 3, 4, 5, 6),)),
    "trilinear, corners aligned": lambda: (
        lambda x: F.interpolate(x, size=(7, 3, 11), mode="trilinear", align_corners=True),
        (_r(1, 2, 4, 5, 6),),
    ),
    "bilinear, a factor whose sizes are rounded": lambda: (
        lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear"),
        (_r(1, 2, 5, 6),),
    ),
    "softplus of small factors": lambda: (lambda x: F.softplus(x, 0.5, 5), (_r(3, 50) * 30,)),
    "pixel unshuffle": lambda: (lambda x: F.pixel_unshuffle(x, 2), (_r(1, 3, 6, 4),)),
    "selu": lambda: (F.selu, (_r(3, 5),)),
    "hardsigmoid": lambda: (F.hardsigmoid, (_r(3, 5) * 4,)),
    "glu": lambda: (F.glu, (_r(3, 6),)),
    "logit by numbers": lambda: (lambda x: (1 - x) / 2 - 3 + x.rsqrt() * 2, (_r(3, 5).abs() + 1,)),
    "instance norm": lambda: (nn.InstanceNorm2d(3), (_r(2, 3, 5, 4),)),
    "weighted instance norm": lambda: (_random(nn.InstanceNorm2d(3, affine=True)), (_r(2, 3, 5, 4),)),
    "repeat": lambda: (lambda x: x.repeat(2, 3) * 2, (_r(3, 5),)),
    "outer product": lambda: (torch.outer, (_r(3), _r(5))),
    "matrix by vector": lambda: (torch.mv, (_r(3, 5), _r(5))),
    "baddbmm": lambda: (torch.baddbmm, (_r(2, 3, 5), _r(2, 3, 4), _r(2, 4, 5))),
    "linear of computed weights": lambda: (F.linear, (_r(3, 5), _r(4, 5), _r(4))),
    "narrow": lambda: (lambda x: x.narrow(1, 1, 2) * 2, (_r(3, 5),)),
    "a row set to a number": lambda: (_with_a_row_of_fives, (_r(3, 5),)),
    "rotary embedding": lambda: (_rotary, (_r(2, 3, 5, 8), _r(5, 8))),
    "rotary embedding of some channels": lambda: (_rotary, (_r(2, 3, 5, 12), _r(5, 6))),
    "rotary embedding of halves": lambda: (_rotary_of_pairs(True), (_r(2, 5, 3, 70), _r(5, 35))),
    "rotary embedding of neighbors": lambda: (_rotary_of_pairs(False), (_r(2, 5, 3, 70), _r(5, 35))),
    "rotary embedding of the first halves": lambda: (_rotary_of_pairs(True), (_r(2, 5, 3, 20), _r(5, 4))),
    "rotary embedding of the first neighbors": lambda: (_rotary_of_pairs(False), (_r(2, 5, 3, 20), _r(5, 4))),
    "silu of a gate": lambda: (_Gated(), (_r(3, 4, 37) * 9, _r(4, 37))),
}
SINGLE_ONLY: dict[str, Callable[[], Case]] = {
    "sign": lambda: (torch.sign, (torch.tensor([-2.0, -0.0, 0.0, 5.0, float("inf")]),)),
    "log-softmax": lambda: (lambda x: torch.log_softmax(x, 1), (_r(3, 7) * 50,)),
    "log-softmax over the first": lambda: (lambda x: torch.log_softmax(x, 0), (_r(13, 2),)),
    "half in between": lambda: (lambda x: (x.half() * 2).float() + x, (_r(3, 4),)),
}


def _make(case: Callable[[], Case]) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    module, inputs = case()
    return module if isinstance(module, nn.Module) else Function(module), inputs


@pytest.mark.parametrize("name", [*CASES, *SINGLE_ONLY])
def test_compositions_match_eager(name: str) -> None:
    check(*_make({**CASES, **SINGLE_ONLY}[name]), LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", SEVERAL_OPERATORS)
@pytest.mark.parametrize("name", [name for name in [*CASES, *SINGLE_ONLY] if "half" not in name])
def test_compositions_in_half_precision_match_eager(name: str, dtype: torch.dtype) -> None:
    module, inputs = _make({**CASES, **SINGLE_ONLY}[name])
    check(module.to(dtype), tuple(tensor.to(dtype) for tensor in inputs), SEVERAL_OPERATORS[dtype])


def test_powers_of_special_values_match_eager() -> None:
    exponents = (-8, -3, -2, -1, -0.5, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 5, 6.75, 7, 8)
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), 1e-20, 1e20, 3e-39, -2.5])
    check(Function(lambda x: tuple(x**exponent for exponent in exponents)), (x,), ELEMENTWISE)
    check(Function(lambda x: tuple(torch.copysign(x, x**exponent) for exponent in (0.25, 2.25))), (x,), EXACT)


def _kinds(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> list[str]:
    """The kinds of nodes of a module's one delegate."""
    exported = torch.export.export(module.eval(), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    graph_module = lowered.exported_program().graph_module
    (delegate,) = get_delegates(graph_module.graph)
    payload = getattr(graph_module, delegate.target).processed_bytes
    return [type(node.xnode_union).__name__ for node in deserialize_payload(payload)[0].xnodes]


def test_nothing_is_transposed_for_permutes_that_cancel() -> None:
    assert _kinds(*_make(CASES["permutes that cancel"]))[:1] == ["Multiply"]


def test_keys_are_not_transposed_for_attention() -> None:
    assert g.StaticTranspose.__name__ not in _kinds(*_make(CASES["attention"]))


def test_images_stay_channels_last_from_end_to_end() -> None:
    module = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), Function(lambda x: x * x.mean((2, 3), True))
    )
    image = _r(1, 3, 8, 8).to(memory_format=torch.channels_last)
    assert _kinds(module, (_r(1, 3, 8, 8),)).count("StaticTranspose") == 2
    assert _kinds(module, (image,)).count("StaticTranspose") <= 1


def test_the_largest_of_many_elements_is_pooled_in_channels() -> None:
    assert _kinds(Function(lambda x: x.max()), (_r(2, 3, 20, 30),)).count("MaxPooling2d") == 2
    assert _kinds(Function(lambda x: x.max()), (_r(3, 20),)).count("MaxPooling2d") == 1


@pytest.mark.parametrize("masked", [torch.bool, torch.float32])
def test_a_mask_that_hides_all_keys_gives_zeros(masked: torch.dtype) -> None:
    torch.manual_seed(0)
    visible = torch.rand(2, 1, 5, 7) > 0.4
    visible[1, 0, 2] = False
    mask = visible if masked == torch.bool else torch.where(visible, 0.0, float("-inf"))
    inputs = (_r(2, 3, 5, 8), _r(2, 3, 7, 8), _r(2, 3, 7, 8), mask)
    exported = torch.export.export(Function(_attention()), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert len(get_delegates(lowered.exported_program().graph_module.graph)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute(inputs)[0], _attention()(*inputs), **LAYER)


def test_sequences_of_any_length_are_run_without_a_rebuild() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shape = (1, x.shape[1], 2, 4)
            q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(attended.transpose(1, 2).reshape(x.shape))

    torch.manual_seed(0)
    block = Block().eval()
    length = torch.export.Dim("length", min=2, max=16)
    exported = torch.export.export(block, (_r(1, 5, 8),), dynamic_shapes=[{1: length}])
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert len(get_delegates(lowered.exported_program().graph_module.graph)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in (5, 16, 2, 9):
        inputs = (_r(1, size, 8),)
        torch.testing.assert_close(method.execute(inputs)[0], block(*inputs), **LAYER)


REDUCED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda x: (x * 2).sum(1),
    "sum that keeps dimensions": lambda x: (x * 2).sum((1, 2), keepdim=True),
    "mean": lambda x: (x * 2).mean(1),
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions_over_sizes_that_vary_are_run_without_a_rebuild(name: str) -> None:
    torch.manual_seed(0)
    length = torch.export.Dim("length", min=2, max=16)
    exported = torch.export.export(Function(REDUCED[name]), (_r(2, 5, 8),), dynamic_shapes=(({1: length},),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert len(get_delegates(lowered.exported_program().graph_module.graph)) == 1
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in (5, 16, 2, 9):
        x = _r(2, size, 8)
        torch.testing.assert_close(method.execute((x,))[0], REDUCED[name](x), **LAYER)


class Addmm(nn.Module):
    def __init__(self, *bias: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 5)), nn.Parameter(torch.randn(bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.weight)


@pytest.mark.parametrize("bias", [(5,), (1, 5), (1,), (), (3, 5)], ids=str)
def test_the_bias_of_addmm_may_be_a_row_or_a_number(bias: tuple[int, ...]) -> None:
    model, inputs = Addmm(*bias), (torch.randn(3, 4),)
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=[XnnpackPartitioner()])
    delegated = not any("addmm" in node.name for node in edge.exported_program().graph.nodes)
    assert delegated == (bias != (3, 5))  # a bias for each row stays with the portable kernels
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute(inputs)[0], model(*inputs))
