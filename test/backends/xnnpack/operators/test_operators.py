# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every operator of the XNNPACK table against eager."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from models.function_module import Function
from oracle.models.delegated import check
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import ELEMENTWISE, LAYER, ONE_OPERATOR, ONE_ROUNDING
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack


def _channels_last(module: nn.Module, *inputs: torch.Tensor) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return module, tuple(tensor.to(memory_format=torch.channels_last) for tensor in inputs)


def _r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def _norm(channels: int, kind: type[nn.BatchNorm2d | nn.BatchNorm3d] = nn.BatchNorm2d) -> nn.Module:
    norm = kind(channels)
    for tensor in (norm.running_mean, norm.weight, norm.bias):
        nn.init.normal_(tensor)
    nn.init.uniform_(norm.running_var, 0.5, 2.0)
    return norm


class _Table(nn.Module):
    """A bias of relative positions, as windows of attention have it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(7, 2))
        self.register_buffer("places", torch.arange(4)[None] - torch.arange(3)[:, None] + 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + self.table[self.places.view(-1)].view(3, 4, 2).permute(2, 0, 1)


UNARY = {
    "sigmoid": torch.sigmoid,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "sqrt": lambda x: torch.sqrt(x.abs() + 0.1),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 0.1),
    "neg": torch.neg,
    "abs": torch.abs,
    "hardswish": F.hardswish,
    "log": lambda x: torch.log(x.abs() + 0.1),
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sin": torch.sin,
    "cos": torch.cos,
    "square": torch.square,
    "relu": F.relu,
    "relu6": F.relu6,
    "clamp": lambda x: x.clamp(-0.5, 0.25),
    "expm1": torch.expm1,
    "log1p": lambda x: torch.log1p(x.abs() - 0.5),
    "clamp_min": lambda x: x.clamp(min=0.1),
    "gelu": F.gelu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, 1.5),
    "roll of all": lambda x: x.roll(3),
    "roll of the last": lambda x: x.roll(-2, -1),
    "softmax": lambda x: torch.softmax(x, -1),
}
SHAPES = {"vector": (7,), "matrix": (3, 5), "image": (2, 3, 5, 7), "rank 6": (1, 2, 3, 1, 2, 5)}

CASES: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...]]]] = {
    "add broadcasts": lambda: (Function(torch.add), (_r(2, 1, 3), _r(4, 1))),
    "sub": lambda: (Function(torch.sub), (_r(2, 3), _r(2, 3))),
    "mul by a number": lambda: (Function(lambda x: x * 2.5), (_r(2, 3),)),
    "div": lambda: (Function(lambda x, y: x / (y.abs() + 1)), (_r(5), _r(2, 5))),
    "minimum": lambda: (Function(torch.minimum), (_r(3, 4), _r(4))),
    "maximum of images": lambda: (Function(torch.maximum), (_r(1, 3, 4, 4), _r(1, 3, 1, 1))),
    "linear": lambda: (nn.Linear(5, 7), (_r(2, 3, 5),)),
    "linear of a vector": lambda: (nn.Linear(5, 7), (_r(5),)),
    "linear without bias, relu": lambda: (nn.Sequential(nn.Linear(5, 7, bias=False), nn.ReLU()), (_r(2, 5),)),
    "linear layers of many widths": lambda: (
        nn.Sequential(*(nn.Linear(*pair) for pair in pairwise((7, 16, 17, 32, 33, 48, 50, 81)))),
        (_r(29, 7),),
    ),
    "matmul": lambda: (Function(torch.matmul), (_r(2, 3, 4, 5), _r(2, 3, 5, 6))),
    "bmm": lambda: (Function(torch.bmm), (_r(3, 4, 5), _r(3, 5, 2))),
    "mm": lambda: (Function(torch.mm), (_r(4, 5), _r(5, 2))),
    "convolution": lambda: (nn.Conv2d(3, 8, 3, padding=1), (_r(2, 3, 7, 9),)),
    "convolution of many columns": lambda: (
        nn.Sequential(nn.Conv2d(3, 40, 3), nn.Conv2d(40, 9, (2, 3), padding=1)),
        (_r(1, 3, 9, 11),),
    ),
    "convolution of few colours and many points": lambda: (
        nn.Conv2d(3, 40, 7, stride=2, padding=3),
        (_r(2, 3, 21, 30),),
    ),
    "dilated convolution of few colours": lambda: (
        nn.Conv2d(2, 33, (2, 3), dilation=(1, 2), padding=(0, 2)),
        (_r(1, 2, 5, 19),),
    ),
    "convolution whose windows reach over whole rows": lambda: (nn.Conv2d(3, 17, (3, 5)), (_r(9, 3, 4, 5),)),
    "convolution of many weights": lambda: (nn.Conv2d(64, 40, 3), (_r(1, 64, 7, 9),)),
    "convolution of one image of colours": lambda: (
        nn.Conv2d(3, 40, (5, 3), stride=(2, 1), dilation=(2, 1), padding=(3, 1)),
        (_r(1, 3, 20, 24),),
    ),
    "convolution, strided and dilated": lambda: (
        nn.Conv2d(4, 6, (3, 2), stride=(2, 1), dilation=(1, 2)),
        (_r(1, 4, 9, 8),),
    ),
    "grouped convolution": lambda: (nn.Conv2d(4, 8, 3, groups=2, bias=False), (_r(1, 4, 6, 6),)),
    "depthwise convolution": lambda: (nn.Conv2d(4, 4, 3, groups=4, padding=1, stride=2), (_r(1, 4, 8, 8),)),
    "depthwise with multiplier": lambda: (nn.Conv2d(3, 6, 3, groups=3), (_r(1, 3, 8, 8),)),
    "transposed convolution": lambda: (
        nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        (_r(1, 4, 5, 6),),
    ),
    "grouped transposed convolution": lambda: (nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2), (_r(2, 4, 5, 6),)),
    "convolution, norm, relu": lambda: (nn.Sequential(nn.Conv2d(3, 4, 3), _norm(4), nn.ReLU6()), (_r(2, 3, 6, 6),)),
    "transposed convolution and norm": lambda: (
        nn.Sequential(nn.ConvTranspose2d(4, 6, 2, groups=2), _norm(6)),
        (_r(1, 4, 5, 5),),
    ),
    "convolution of volumes": lambda: (nn.Conv3d(3, 5, (3, 2, 3), padding=1, stride=(2, 1, 2)), (_r(2, 3, 6, 5, 7),)),
    "patches of volumes": lambda: (nn.Conv3d(3, 5, (2, 4, 4), stride=(2, 4, 4)), (_r(2, 3, 6, 8, 8),)),
    "grouped convolution of volumes, norm, relu": lambda: (
        nn.Sequential(nn.Conv3d(4, 6, (2, 3, 1), groups=2, dilation=(2, 1, 1)), _norm(6, nn.BatchNorm3d), nn.ReLU()),
        (_r(2, 4, 6, 5, 4),),
    ),
    "depthwise convolutions of volumes": lambda: (
        nn.Sequential(nn.Conv3d(4, 4, 3, groups=4, padding=1), nn.Conv3d(4, 4, (1, 3, 3), groups=4)),
        (_r(1, 4, 3, 5, 4),),
    ),
    "transposed convolution of volumes": lambda: (
        nn.ConvTranspose3d(3, 4, (3, 2, 3), stride=2, padding=(1, 0, 1), output_padding=(1, 0, 1)),
        (_r(2, 3, 3, 4, 2),),
    ),
    "grouped transposed convolution of volumes": lambda: (
        nn.ConvTranspose3d(4, 6, 2, stride=2, groups=2),
        (_r(1, 4, 2, 3, 2),),
    ),
    "largest of volumes": lambda: (nn.MaxPool3d(3, 2, 1), (_r(2, 3, 5, 6, 7),)),
    "largest of images of volumes": lambda: (nn.MaxPool3d((1, 2, 2)), (_r(2, 3, 5, 6, 7),)),
    "largest of volumes, rounding up": lambda: (nn.MaxPool3d(3, 2, ceil_mode=True), (_r(2, 3, 6, 7, 8) - 9,)),
    "largest of volumes, padded, rounding up": lambda: (
        nn.MaxPool3d(3, 2, 1, ceil_mode=True),
        (_r(2, 3, 6, 7, 8) - 9,),
    ),
    # Eager has no such means in half precision.
    "means of volumes": lambda: (
        Function(lambda x: F.avg_pool3d(x.float(), (2, 3, 2), 2, (1, 1, 0)).to(x.dtype)),
        (_r(2, 3, 5, 6, 7),),
    ),
    "means of columns": lambda: (
        Function(lambda x: F.avg_pool3d(x.float(), (2, 1, 1), (2, 1, 1)).to(x.dtype)),
        (_r(2, 3, 5, 4, 3),),
    ),
    "adaptive means of volumes": lambda: (nn.AdaptiveAvgPool3d((1, 2, 3)), (_r(2, 3, 4, 4, 6),)),
    "norm alone": lambda: (_norm(4), (_r(2, 4, 5, 5),)),
    "channels last": lambda: _channels_last(nn.Conv2d(3, 8, 3), _r(2, 3, 7, 7)),
    "max pool": lambda: (nn.MaxPool2d(3, 2, 1), (_r(1, 4, 9, 9),)),
    "dilated max pool": lambda: (nn.MaxPool2d(2, 1, dilation=2), (_r(1, 4, 9, 9),)),
    "average pool": lambda: (nn.AvgPool2d(2), (_r(1, 4, 8, 8),)),
    "average pool without padding's count": lambda: (
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        (_r(1, 4, 9, 9),),
    ),
    "softplus": lambda: (Function(F.softplus), (_r(3, 50) * 30,)),
    "softplus of multiples": lambda: (Function(lambda x: F.softplus(x, 2.5)), (_r(3, 5) * 9,)),
    "mish": lambda: (Function(F.mish), (_r(3, 50) * 30,)),
    "roll of rows and columns": lambda: (
        Function(lambda x: F.relu(x).roll((1, -2), (2, 3))),
        (_r(1, 3, 4, 5).contiguous(memory_format=torch.channels_last),),
    ),
    "largest of images": lambda: (Function(lambda x: F.relu(x).amax((2, 3), keepdim=True)), (_r(2, 5, 4, 6),)),
    "smallest of images to a matrix": lambda: (Function(lambda x: x.amin((-1, -2))), (_r(2, 3, 4, 5),)),
    "a part written": lambda: (Function(lambda x: torch.slice_scatter(x, x[:, 3:6] * 2, 1, 2, 5)), (_r(2, 8, 4),)),
    "the first part written": lambda: (Function(lambda x: torch.slice_scatter(x, x[3:] * 2, 0, 0, -3)), (_r(6, 4),)),
    "the last row written": lambda: (Function(lambda x: torch.select_scatter(x, x[:, 0] * 2, 1, -1)), (_r(2, 8, 4),)),
    "every second element written": lambda: (
        Function(lambda x: torch.slice_scatter(x, x[:, :3] * 2, 1, 1, 8, 3)[:, 1:] * 3),
        (_r(2, 9, 4),),
    ),
    "all written": lambda: (Function(lambda x: torch.slice_scatter(x, x * 2, 1)), (_r(2, 8),)),
    "windows of a dimension": lambda: (Function(lambda x: x.unfold(1, 3, 1)), (_r(2, 8, 4),)),
    "windows of images": lambda: (Function(lambda x: x.unfold(2, 4, 2).unfold(3, 4, 2)), (_r(1, 3, 8, 8),)),
    "adaptive means of overlapping windows": lambda: (nn.AdaptiveAvgPool2d((7, 3)), (_r(2, 3, 8, 5),)),
    "adaptive means of more windows than elements": lambda: (nn.AdaptiveAvgPool2d(7), (_r(2, 3, 2, 2),)),
    "every second element": lambda: (nn.AvgPool2d(1, 2), (_r(2, 3, 8, 7),)),
    "largest of rows": lambda: (Function(lambda x: x.amax(1)), (_r(3, 4),)),
    "largest of the last of three": lambda: (Function(lambda x: x.amax(-1, keepdim=True)), (_r(2, 3, 4),)),
    "largest of a middle dimension": lambda: (Function(lambda x: x.amax(2)), (_r(1, 2, 4, 3, 8),)),
    "smallest of dimensions apart": lambda: (Function(lambda x: x.amin((0, 3), True)), (_r(2, 3, 4, 5),)),
    "largest of rows, without indices": lambda: (Function(lambda x: x.max(1).values), (_r(3, 4),)),
    "smallest of a dimension, kept": lambda: (Function(lambda x: x.min(-2, keepdim=True)[0]), (_r(2, 5, 3),)),
    "largest of all": lambda: (Function(lambda x: x.amax()), (_r(3, 4, 5),)),
    "largest and smallest of many": lambda: (Function(lambda x: (x.max(), x.min())), (_r(2, 3, 20, 30),)),
    "largest of many in a row": lambda: (Function(lambda x: x.amax(-1, keepdim=True)), (_r(1, 1030),)),
    "smallest of a prime number": lambda: (Function(lambda x: x.min()), (_r(1031),)),
    "a scale from the largest and the smallest": lambda: (Function(lambda x: x / (x.max() - x.min())), (_r(3, 4, 5),)),
    "mean of images": lambda: (Function(lambda x: x.mean((2, 3), keepdim=True)), (_r(2, 3, 4, 5),)),
    "mean of images to a matrix": lambda: (Function(lambda x: x.mean((-1, -2))), (_r(2, 3, 4, 5),)),
    "variance of channels": lambda: (
        Function(lambda x: x.var(1, unbiased=False, keepdim=True)),
        (_r(2, 5, 4, 3) + 3,),
    ),
    "unbiased variance of rows": lambda: (Function(lambda x: x.var(-1)), (_r(3, 7),)),
    "variance with a correction": lambda: (Function(lambda x: x.var((0, 2), correction=2.5)), (_r(3, 4, 5, 2),)),
    "standard deviation": lambda: (Function(lambda x: x.std((0, 2))), (_r(3, 4, 5),)),
    "norm of channels of images": lambda: (
        Function(lambda x: (x - x.mean(1, keepdim=True)) / (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()),
        (_r(2, 6, 3, 4),),
    ),
    "bilinear": lambda: (Function(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")), (_r(1, 3, 4, 5),)),
    "bilinear, corners aligned": lambda: (
        Function(lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True)),
        (_r(1, 3, 4, 5),),
    ),
    "bilinear, a factor that gives whole numbers": lambda: (
        Function(lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear")),
        (_r(1, 3, 4, 6),),
    ),
    "one padding for both dimensions": lambda: (nn.Conv2d(4, 6, (1, 2), padding="valid"), (_r(1, 4, 5, 5),)),
    "one channel, channels last": lambda: _channels_last(nn.Conv2d(1, 5, (1, 2)), _r(3, 1, 7, 5)),
    "to one channel, channels last": lambda: _channels_last(nn.ConvTranspose2d(5, 1, (2, 1)), _r(3, 5, 7, 5)),
    "cat of two": lambda: (Function(lambda x, y: torch.cat((x, y), 1)), (_r(2, 3), _r(2, 4))),
    "cat of eleven": lambda: (Function(lambda x: torch.cat([x * i for i in range(1, 12)], -1)), (_r(2, 3),)),
    "cat of pairs": lambda: (
        Function(lambda x, y: torch.stack((x, y * 2), -1).flatten(-2)),
        (_r(90, 9, 33), _r(90, 9, 33)),
    ),
    "cat of triples": lambda: (Function(lambda x, y: torch.stack((x, y, x * y), -1)), (_r(2, 1, 5), _r(2, 1, 5))),
    "parts of pairs": lambda: (Function(lambda x: torch.sub(*x.reshape(90, 9, 33, 2).unbind(-1))), (_r(90, 9, 66),)),
    "parts of triples": lambda: (Function(lambda x: x[..., 2:] * x[..., :1] - x[..., 1:2]), (_r(4, 7, 3),)),
    "cat of channels": lambda: (Function(lambda x: torch.cat((F.relu(x), x), 1)), (_r(1, 3, 4, 4),)),
    "slice": lambda: (Function(lambda x: x[:, 1:-1, 2:] + 0), (_r(3, 4, 5),)),
    "slice with a step": lambda: (Function(lambda x: x[:, 1::3, :-1:2] + 0), (_r(3, 9, 6),)),
    "slice with a step over the end": lambda: (Function(lambda x: x[2::4] + 0), (_r(5, 3),)),
    "every other pixel": lambda: (Function(lambda x: F.relu(x[:, :, ::2, ::2])), (_r(1, 3, 7, 6),)),
    "every other pixel of a convolution": lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 1), Function(lambda x: x[:, 1::2, ::3, 1:4:2])),
        (_r(2, 3, 7, 6),),
    ),
    "roll": lambda: (Function(lambda x: torch.roll(x, (1, -2), (1, 2)) + 0), (_r(2, 5, 6, 3),)),
    "runs of places": lambda: (Function(lambda x: x.index_select(-1, torch.tensor([4, 0, 1, 1, 2]))), (_r(2, 5),)),
    "one place": lambda: (Function(lambda x: x.index_select(0, torch.tensor([3])) + 0), (_r(5, 2),)),
    "weights that are computed": lambda: (
        nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 4, 3)),
        (_r(1, 3, 5, 5),),
    ),
    "many places": lambda: (Function(lambda x: x.index_select(1, torch.arange(40) * 7 % 20)), (_r(2, 20, 3),)),
    "places of one dimension": lambda: (Function(lambda x: x[:, torch.tensor([3, 0, -1, 3])] * 2), (_r(2, 5, 4),)),
    "places of images": lambda: (
        Function(lambda x: F.relu(F.pad(F.relu(x), (2, 1, 3, 0), mode="reflect"))),
        (_r(2, 3, 6, 5),),
    ),
    "patches": lambda: (Function(lambda x: F.unfold(x, (3, 2), padding=1, stride=2)), (_r(2, 3, 8, 7),)),
    "a diagonal of places": lambda: (
        Function(lambda x: x[:, torch.tensor([0, 2, 1]), torch.tensor([3, -1, 0])] + 1),
        (_r(2, 3, 4),),
    ),
    "a table of places": lambda: (Function(lambda x: x[torch.tensor([[0, 2], [1, 1], [-1, 0]])] + 1), (_r(3, 4),)),
    "flipped": lambda: (Function(lambda x: F.relu(x).flip(-1, 1)), (_r(2, 3, 4, 5),)),
    "many windows": lambda: (Function(lambda x: x.unfold(1, 4, 1) * 2), (_r(2, 50, 3),)),
    "cut and padded": lambda: (Function(lambda x: F.pad(x, (-1, 2, 1, -2), value=0.5)), (_r(2, 3, 4),)),
    "cut images": lambda: (Function(lambda x: F.relu(F.pad(F.relu(x), (-1, 0, 0, -1)))), (_r(1, 3, 4, 5),)),
    "cumulative sums": lambda: (Function(lambda x: (x.cumsum(-1), x.cumsum(1))), (_r(2, 13, 8),)),
    "clamped to tensors": lambda: (Function(lambda x, y: x.clamp(y.neg().abs().neg(), y.abs())), (_r(3, 4), _r(4))),
    "tables read at fixed places": lambda: (_Table(), (_r(2, 3, 4),)),
    "concatenation of one": lambda: (Function(lambda x: torch.cat([x * 2]) + 1), (_r(2, 3),)),
    "average pool to one number, channels last": lambda: _channels_last(
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)), _r(1, 3, 7, 7)
    ),
    "pad": lambda: (Function(lambda x: F.pad(x, (1, 2, 0, 3), value=0.5)), (_r(2, 3, 4),)),
    "permute": lambda: (Function(lambda x: x.permute(2, 0, 1) + 0), (_r(2, 3, 4),)),
    "three planes": lambda: (Function(lambda x: x.permute(0, 2, 3, 1) + 0), (_r(2, 3, 5, 11),)),
    "rows of three": lambda: (Function(lambda x: x.permute(0, 2, 3, 1) + 0), (_r(3, 7, 3, 3),)),
    "views": lambda: (Function(lambda x: (x.reshape(6, 4).unsqueeze(0) + 1).squeeze(0)), (_r(2, 3, 4),)),
    "image's own order": lambda: (
        nn.Sequential(nn.Conv2d(3, 4, 1), Function(lambda x: x.permute(0, 2, 3, 1).reshape(1, -1, 4))),
        (_r(1, 3, 5, 5),),
    ),
    "an output that is an input": lambda: (Function(lambda x: (x + 1, x)), (_r(3),)),
    "an output twice": lambda: (Function(lambda x: (y := x * 2, y)), (_r(3),)),
    "an output that is used": lambda: (Function(lambda x: (y := x * 2, y + 1)), (_r(3),)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", UNARY)
def test_elementwise_operators_match_eager(name: str, shape: str) -> None:
    torch.manual_seed(0)
    check(Function(UNARY[name]), (torch.randn(SHAPES[shape]) * 3,), ELEMENTWISE)


@pytest.mark.parametrize("name", CASES)
def test_operators_match_eager(name: str) -> None:
    torch.manual_seed(0)
    check(*CASES[name](), LAYER)


HALVES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@pytest.mark.sampled
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", CASES)
def test_half_precision_matches_eager(name: str, half: str) -> None:
    torch.manual_seed(0)
    module, inputs = CASES[name]()
    dtype = HALVES[half]
    check(module.to(dtype), tuple(tensor.to(dtype) for tensor in inputs), ONE_OPERATOR[dtype])


@pytest.mark.sampled
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", UNARY)
def test_elementwise_operators_in_half_precision_match_eager(name: str, half: str) -> None:
    torch.manual_seed(0)
    dtype = HALVES[half]
    check(Function(UNARY[name]), (torch.randn(3, 5, 7).to(dtype),), ONE_OPERATOR[dtype])


NAN = torch.tensor([float("nan"), -1.0, 0.5, float("inf"), -float("inf"), 2.0, -0.0])


@pytest.mark.parametrize("name", ["relu", "relu6", "clamp", "abs", "neg", "floor", "tanh", "sigmoid", "exp"])
def test_special_values_are_as_in_eager(name: str) -> None:
    check(Function(UNARY[name]), (NAN,), ONE_ROUNDING)


def test_a_batch_that_varies_is_run_without_a_rebuild() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), Function(lambda x: x.mean((2, 3))), nn.Linear(4, 2)).eval()
    batch = torch.export.Dim("batch", min=1, max=8)
    exported = torch.export.export(module, (_r(4, 3, 6, 6),), dynamic_shapes=[{0: batch}])
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in (4, 1, 8, 3):
        inputs = (_r(size, 3, 6, 6),)
        torch.testing.assert_close(method.execute(inputs)[0], module(*inputs), **LAYER)


CHANNELS_VARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "max pool": lambda x: F.max_pool2d(x, 3, 2, 1),
    "average pool": lambda x: F.avg_pool2d(x, 2),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
}


@pytest.mark.parametrize("name", CHANNELS_VARY)
def test_a_dynamic_number_of_channels_matches_eager(name: str) -> None:
    torch.manual_seed(0)
    model, channels = Function(CHANNELS_VARY[name]), torch.export.Dim("channels", min=1, max=16)
    exported = torch.export.export(model, (_r(2, 4, 6, 6),), dynamic_shapes=(({1: channels},),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in (16, 4, 1, 7):
        x = _r(2, size, 6, 6)
        torch.testing.assert_close(method.execute((x,))[0], model(x))


@pytest.mark.sampled
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 40])
@pytest.mark.parametrize("depth", [1, 3, 4, 9])
def test_products_of_any_size_match_eager(depth: int, columns: int) -> None:
    torch.manual_seed(0)
    for rows in (1, 2, 5, 6, 7, 12, 13):
        check(nn.Linear(depth, columns), (_r(rows, depth),), LAYER)
