# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Modules and functions beyond the models: a family is exported as one program, and each member matches eager."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from oracle.models.pipeline import assert_matches_eager, run, to_program
from oracle.tolerances import MODEL, absolute
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

from executorch.exir.error import ExportError, VerificationError
from executorch.runtime import Runtime


class Function(nn.Module):
    """A module that calls a function with `modules`, then with its inputs."""

    def __init__(self, function: Callable[..., Any], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.modules_of_call = nn.ModuleList(modules)

    def forward(self, *args: Any) -> Any:
        return self.function(*self.modules_of_call, *args)


class Member(NamedTuple):
    """A module and its inputs.

    make: returns the module. sizes: its inputs, where a tuple of sizes stands for a random tensor.
    """

    make: Callable[[], nn.Module]
    sizes: tuple[Any, ...]


class Together(nn.Module):
    """Modules that run side by side, each on its own inputs."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(modules)

    def forward(self, inputs: list[tuple[Any, ...]]) -> list[Any]:
        return [member(*given) for member, given in zip(self.members, inputs, strict=True)]


def _of(function: Callable[..., Any], *sizes: Any) -> Member:
    return Member(lambda: Function(function), sizes)


def _input(size: Any) -> Any:
    return torch.randn(size) if isinstance(size, tuple) else size


IDS = torch.tensor([[1, 0, 3], [2, 2, 9]])
PADDED = torch.tensor([[False, False, False, True, True], [False, False, False, False, True]])
HALF = torch.tensor([0.5, 2.0, 0.0], dtype=torch.float16)
BITWISE: tuple[Any, ...] = (
    *(torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor),
    *(torch.bitwise_left_shift, torch.bitwise_right_shift),
)

FAMILIES: dict[str, list[Member]] = {
    "attention": [
        Member(partial(nn.TransformerEncoderLayer, 8, 2, 16, batch_first=True), ((2, 5, 8),)),
        Member(partial(nn.TransformerDecoderLayer, 8, 2, 16, norm_first=True), ((5, 2, 8), (4, 2, 8))),
        Member(partial(nn.MultiheadAttention, 8, 2, kdim=3, vdim=5), ((5, 2, 8), (6, 2, 3), (6, 2, 5))),
        Member(
            lambda: Function(
                lambda attention, x, padding: attention(x, x, x, key_padding_mask=padding),
                nn.MultiheadAttention(8, 2, batch_first=True),
            ),
            ((2, 5, 8), PADDED),
        ),
        _of(partial(F.scaled_dot_product_attention, is_causal=True), (1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
        _of(partial(F.scaled_dot_product_attention, enable_gqa=True), (1, 4, 5, 4), (1, 2, 6, 4), (1, 2, 6, 4)),
    ],
    "recurrent": [
        Member(partial(nn.LSTM, 4, 6, 2, bidirectional=True, batch_first=True), ((2, 3, 4),)),
        Member(partial(nn.LSTM, 4, 6, proj_size=2), ((3, 2, 4),)),
        Member(partial(nn.GRU, 4, 6, bias=False), ((3, 4),)),
        Member(partial(nn.RNN, 4, 6, nonlinearity="relu"), ((3, 2, 4), (1, 2, 6))),
        Member(partial(nn.LSTMCell, 4, 6), ((2, 4),)),
        Member(partial(nn.GRUCell, 4, 6), ((2, 4), (2, 6))),
    ],
    "convolution": [
        Member(partial(nn.Conv1d, 4, 8, 3, padding="same", groups=2), ((2, 4, 9),)),
        Member(partial(nn.Conv2d, 4, 8, 3, stride=2, padding=1, padding_mode="reflect"), ((2, 4, 9, 8),)),
        Member(partial(nn.Conv3d, 2, 3, 3, dilation=2, padding=2), ((1, 2, 5, 6, 5),)),
        Member(partial(nn.ConvTranspose1d, 4, 6, 3, stride=2, padding=1, output_padding=1), ((2, 4, 5),)),
        Member(partial(nn.ConvTranspose2d, 4, 6, 3, groups=2, dilation=2), ((4, 5, 6),)),
        Member(partial(nn.ConvTranspose3d, 2, 3, 2, stride=2), ((1, 2, 3, 4, 3),)),
    ],
    "pooling and resampling": [
        Member(partial(nn.MaxPool2d, 2), ((1, 2, 7, 6),)),
        Member(partial(nn.MaxPool2d, 3, 2, 1, ceil_mode=True, return_indices=True), ((1, 2, 8, 8),)),
        Member(partial(nn.MaxPool3d, 2, dilation=2, stride=1), ((1, 2, 5, 5, 5),)),
        Member(partial(nn.AvgPool1d, 3, 2, 1, ceil_mode=True), ((1, 2, 8),)),
        Member(partial(nn.AvgPool2d, 3, 2, 1, count_include_pad=False), ((1, 2, 7, 6),)),
        Member(partial(nn.AdaptiveAvgPool2d, (3, 2)), ((1, 2, 7, 6),)),
        Member(partial(nn.AdaptiveMaxPool1d, 3), ((1, 2, 7),)),
        Member(partial(nn.AdaptiveMaxPool2d, 3, return_indices=True), ((1, 2, 7, 6),)),
        Member(partial(nn.LPPool2d, 2, 2), ((1, 2, 4, 4),)),
        Member(partial(nn.Upsample, scale_factor=1.5), ((1, 2, 4, 4),)),
        Member(partial(nn.Upsample, size=(5, 7), mode="bilinear", align_corners=True), ((1, 2, 4, 4),)),
        Member(partial(nn.Upsample, scale_factor=2, mode="bicubic"), ((1, 2, 4, 4),)),
        Member(partial(nn.PixelShuffle, 2), ((1, 8, 3, 3),)),
        Member(partial(nn.Fold, (5, 5), 3, padding=1), ((1, 18, 25),)),
    ],
    "normalization and others": [
        Member(partial(nn.GroupNorm, 2, 4), ((2, 4, 3),)),
        Member(partial(nn.InstanceNorm2d, 4, affine=True), ((2, 4, 5, 5),)),
        Member(partial(nn.RMSNorm, (3, 4)), ((2, 3, 4),)),
        Member(partial(nn.LayerNorm, 4, bias=False), ((2, 3, 4),)),
        Member(partial(nn.LocalResponseNorm, 3), ((2, 6, 4, 4),)),
        Member(partial(nn.Bilinear, 4, 5, 3), ((2, 4), (2, 5))),
        Member(partial(nn.Embedding, 10, 4, padding_idx=0), (IDS,)),
        Member(partial(nn.PairwiseDistance, 2), ((3, 4), (3, 4))),
        _of(torch.cdist, (3, 4), (5, 4)),
    ],
    "activations": [
        *(
            Member(getattr(nn, name), ((2, 4),))
            for name in [
                "CELU",
                "ELU",
                "GELU",
                "Hardshrink",
                "Hardsigmoid",
                "Hardswish",
                "LeakyReLU",
                "LogSigmoid",
                "Mish",
                "PReLU",
                "ReLU6",
                "SELU",
                "SiLU",
                "Softplus",
                "Softshrink",
                "Softsign",
                "Tanhshrink",
            ]
        ),
        Member(partial(nn.GLU, 1), ((2, 4),)),
        Member(partial(nn.Softmin, 1), ((2, 4),)),
        Member(partial(nn.Threshold, 0.1, 20), ((2, 4),)),
    ],
    "indexing": [
        _of(lambda x, i: (x[i], x[:, i], x[i, i], x[-1], x[1:, ::2]), (4, 4), torch.tensor([0, -1, 2])),
        _of(lambda x: x.masked_fill(x > 0, -1e9), (3, 4)),
        _of(lambda x, v: x.clone().index_put((torch.tensor([1, 1]),), v, accumulate=True), (4, 3), (2, 3)),
        _of(lambda x, v: x.slice_scatter(v, 1, 0, 4, 2), (3, 4), (3, 2)),
        _of(lambda x, i, s: (x.scatter(1, i, 3.0, reduce="multiply"), x.scatter_add(1, i, s)), (2, 5), IDS % 5, (2, 3)),
        _of(lambda x: (x.topk(2), x.sort(0, descending=True), x.median(1), x.kthvalue(2), x.median()), (4, 5)),
        _of(lambda x: (x.cumsum(1), x.cumprod(0), x.logcumsumexp(1)), (3, 4)),
        _of(lambda s, v: (torch.searchsorted(s.sort()[0], v, right=True), torch.bucketize(v, s.sort()[0])), (6,), (3,)),
        _of(lambda x: x.nonzero().sum(), (5,)),
        _of(lambda x: (x ^ True, x | False, x & True, x ^ 1), torch.tensor([[True, False], [True, True]])),
        _of(lambda x: (x.cummax(1), x.cummin(0), x.mode(1), x.nanmedian(), x.nanmedian(1)), (4, 5)),
        _of(lambda x: (x.unique(return_inverse=True, return_counts=True), x.unique_consecutive()), (6,)),
        _of(lambda x, i, s: (x.index_reduce(0, i, s, "amax"), x.put(i, s[0, :3])), (5, 4), IDS[0, :3] % 5, (3, 4)),
        _of(lambda i, t: F.embedding_bag(i, t, torch.tensor([0, 2]), mode="mean"), IDS[0, :3] % 5, (5, 3)),
    ],
    "complex numbers": [
        _of(lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(x.flip(1))), (3, 10)),
        _of(lambda x: (torch.fft.fft2(x).abs(), torch.view_as_real(torch.fft.ifft(torch.fft.fft(x), dim=0))), (5, 6)),
        _of(lambda x: torch.stft(x, 8, window=torch.hann_window(8), return_complex=True).abs(), (2, 40)),
        _of(
            lambda x: torch.view_as_real(torch.polar(x.abs(), x) / (torch.view_as_complex(x.view(3, 2, 2))[:, :1])),
            (3, 4),
        ),
        _of(
            lambda x: (torch.complex(x, x + 1).angle(), torch.view_as_real(torch.exp(torch.complex(x, x)) * 2)), (3, 4)
        ),
    ],
    "algebra": [
        _of(partial(torch.einsum, "bqhd,bkhd->bhqk"), (1, 3, 2, 4), (1, 5, 2, 4)),
        _of(partial(torch.addbmm, beta=2, alpha=0.5), (3, 5), (2, 3, 4), (2, 4, 5)),
        _of(lambda m, v: (torch.addmv(v, m, v), torch.outer(v, v), m @ v, v @ m), (4, 4), (4,)),
        _of(lambda x: (x.diagonal(), torch.tril_indices(3, 3), x.tril(-1), x.roll((1, 2), (0, 1))), (4, 4)),
        _of(lambda x: (x.var(1), torch.std_mean(x), x.norm(1, 1), torch.dist(x, x + 1), x.logsumexp(1)), (4, 3)),
    ],
    "numbers beside tensors": [
        _of(
            lambda x: (torch.xlogy(x, 2.0), torch.xlogy(3, x), torch.copysign(x, -2), torch.special.xlog1py(x, 1)), HALF
        ),
        _of(lambda x: (torch.xlogy(x, 2), torch.copysign(x, -2.5), x * True), torch.tensor([3, 0, -2])),
        _of(lambda x: [op(3, x) for op in BITWISE], torch.tensor([3, 0, 2], dtype=torch.int8)),
        _of(lambda x, i: (x.take(i), x.clamp_min(x[:1])), torch.tensor([True, False]), torch.tensor(-1)),
    ],
    "memory viewed as another dtype": [
        _of(lambda x: [x.view(dtype) for dtype in (torch.int32, torch.uint8, torch.float64)], (2, 4)),
        _of(lambda x: x.view(torch.float16), torch.arange(6, dtype=torch.int64)),
        _of(lambda x: (x.flip(0), x.roll(1, 1), x[[1, 0]]), torch.tensor([[1, 2], [65535, 4]], dtype=torch.uint16)),
    ],
    "no elements": [
        Member(partial(nn.Linear, 3, 4), (torch.empty(0, 3),)),
        Member(partial(nn.Conv2d, 2, 3, 3), (torch.empty(0, 2, 5, 5),)),
        _of(lambda x: (x.sum(), x.sum(1), x.relu(), torch.cat([x, x]), x.nonzero()), torch.empty(0, 3)),
    ],
}


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:index_reduce.. is in beta")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_of_a_family_matches_eager(family: str) -> None:
    torch.manual_seed(0)
    members = FAMILIES[family]
    model = Together([member.make() for member in members]).eval()
    inputs = [tuple(_input(size) for size in member.sizes) for member in members]
    found = iter(run(to_program(model, (inputs,)), (inputs,)))
    with torch.no_grad():
        expected = model(inputs)
    for member, values in zip(model.members, expected, strict=True):
        for value in pytree.tree_leaves(values):
            one = next(found)
            assert one.shape == value.shape and one.dtype == value.dtype, member
            torch.testing.assert_close(one, value, **absolute(MODEL), check_stride=False, msg=f"{member}: {{}}".format)
    assert next(found, None) is None


def test_batch_norm_in_training_mode_updates_its_statistics_with_a_warning() -> None:
    norm = nn.BatchNorm2d(3, momentum=0.25)
    model = Function(lambda norm, x: (norm(x), norm.running_mean * 1, norm.running_var * 1), norm).train()
    inputs = [(torch.randn(2, 3, 4, 5),) for _ in range(2)]
    with pytest.warns(UserWarning, match=r"call model\.eval\(\) before torch\.export"):
        program = to_program(model, inputs[0])
    method = Runtime.get().load_program(program).load_method("forward")
    for given in inputs:
        for one, other in zip(method.execute(given), model(*given), strict=True):
            torch.testing.assert_close(one, other)


class Cache(nn.Module):
    """Each call writes one row at a position that is an input tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, row: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        at = position.item()
        torch._check(at >= 0)
        torch._check(at < 4)
        self.rows.narrow(0, at, 1).copy_(row)
        return self.rows * 1


def test_a_position_read_from_a_tensor_selects_an_element() -> None:
    model = Function(lambda x, i: x * i.item())
    assert_matches_eager(model, (torch.ones(3), torch.tensor(2)), (torch.ones(3), torch.tensor(-7)))
    assert_matches_eager(model, (torch.ones(3), torch.tensor(0.5)), (torch.ones(3), torch.tensor(0.25)))


def test_a_cache_written_at_a_position_read_from_a_tensor_matches_eager() -> None:
    row, first = torch.randn(1, 3), torch.tensor([1])
    assert run(to_program(Cache(), (row, first)), (row, first))[0].tolist() == Cache()(row, first).tolist()


def test_a_number_that_varies_is_an_input_like_any_other() -> None:
    model = Function(lambda x, n: (x * n, n * 2 + 1, n, x[:n]))
    calls = [(torch.arange(8.0), n) for n in (3, 0, 8)]
    assert_matches_eager(model, *calls, dynamic_shapes=((None, Dim.DYNAMIC),))
    program = to_program(model, calls[0], dynamic_shapes=((None, Dim.DYNAMIC),))
    assert run(program, (calls[0][0], torch.tensor(5)))[1] == 11
    for wrong, why in ((2.5, "expected a int64 tensor"), (2**70, "an int of 64 bits")):
        with pytest.raises((TypeError, RuntimeError, ValueError), match=why):
            run(program, (calls[0][0], wrong))


def test_a_length_read_from_a_tensor_may_be_zero() -> None:
    def first(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        length = count.item()
        torch._check(length >= 0)
        torch._check(length <= x.shape[0])
        return x[:length].sum(0)

    assert_matches_eager(Function(first), *((torch.randn(5, 2), torch.tensor(n)) for n in (3, 0, 5)))


def test_powers_and_roots_of_sizes_follow_the_size() -> None:
    model = Function(lambda x: x / x.shape[0] ** 0.5 + x.shape[0] ** 2)
    calls = [(torch.randn(n, 3),) for n in (4, 2, 9)]
    assert_matches_eager(model, *calls, dynamic_shapes=(({0: Dim("n", min=2, max=9)},),))


def test_dropout_that_drops_runs_with_a_warning() -> None:
    x = (torch.ones(1000),)
    with pytest.warns(UserWarning, match=r"call model\.eval\(\) before torch\.export"):
        program = to_program(nn.Dropout(0.25).train(), x)
    (output,) = run(program, x)
    kept = torch.as_tensor(output) != 0
    torch.testing.assert_close(torch.as_tensor(output)[kept], torch.full((int(kept.sum()),), 4 / 3))
    assert 680 < int(kept.sum()) < 820


RANDOM: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], float, float]] = {
    "rand": (lambda x: x + torch.rand(4000), 0.5, 0.29),
    "randn_like": (lambda x: x + torch.randn_like(x), 0, 1),
    "uniform_": (lambda x: x.clone().uniform_(1, 3), 2, 0.58),
    "normal": (lambda x: torch.normal(x + 1, 2.0), 1, 2),
    "exponential_": (lambda x: x.clone().exponential_(2), 0.5, 0.5),
    "bernoulli": (lambda x: torch.bernoulli(x + 0.5), 0.5, 0.5),
    "randint": (lambda x: x + torch.randint(0, 3, (4000,)), 1, 0.82),
    "multinomial": (lambda x: torch.multinomial(x[:3] + 1, 4000, True).to(torch.float32), 1, 0.82),
}


@pytest.mark.parametrize("what", RANDOM)
def test_random_numbers_differ_between_runs_and_have_eagers_distribution(what: str) -> None:
    function, mean, deviation = RANDOM[what]
    x = (torch.zeros(4000),)
    program = to_program(Function(function), x)
    first, second = (torch.as_tensor(run(program, x)[0]).clone() for _ in range(2))
    assert not torch.equal(first, second)
    assert abs(float(first.mean()) - mean) < 6 * deviation / 4000**0.5
    assert abs(float(first.std()) - deviation) < 0.1 * deviation


def test_an_operator_that_several_calls_lack_is_named_once_with_their_number_and_line() -> None:
    model = Function(lambda x: sum(torch._standard_gamma(x + i) for i in range(30)))
    with pytest.raises(VerificationError, match=r"_standard_gamma.*test_more_modules\.py.*29 more") as caught:
        to_program(model, (torch.randn(3),))
    assert len(caught.value.findings) == 30
    assert len(str(caught.value).splitlines()) == 1


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any, str]] = {
    "complex numbers": (lambda x: x.logcumsumexp(0), (torch.ones(3, dtype=torch.complex64),), None, "complex64"),
    "too many dimensions": (lambda x: x + 1, (torch.ones([1] * 17),), None, "rank 17"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_module_that_cannot_run_is_refused_while_compiling(what: str) -> None:
    function, inputs, dynamic_shapes, why = REFUSED[what]
    with pytest.raises(ExportError, match=why):
        to_program(Function(function), inputs, dynamic_shapes=dynamic_shapes)
