# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Calls of pointwise, reducing, copying, softmax and indexing operators, of a size to choose, and what times them.
Needs only torch: the peer's Python reads this file too.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

Case = tuple[str, str, tuple[Any, ...]]
UNARY = [
    "abs",
    "neg",
    "sign",
    "relu",
    "ceil",
    "floor",
    "round",
    "trunc",
    "frac",
    "acos",
    "asin",
    "atan",
    "acosh",
    "asinh",
    "atanh",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log1p",
    "log10",
    "sin",
    "cos",
    "tan",
    "erf",
    "erfc",
    "lgamma",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "isnan",
    "isinf",
    "logical_not",
    "gelu",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "leaky_relu",
    "elu",
    "silu",
    "softplus",
    "mish",
    "logit",
    "digamma",
    "erfinv",
    "bitwise_not",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "fmod.Tensor",
    "remainder.Tensor",
    "floor_divide",
    "pow.Tensor_Tensor",
    "atan2",
]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def functional_of(name: str) -> Any:
    """The functional overload of an out variant: the one with its arguments, or with its positional ones."""
    operator, _, overload = name.removeprefix("aten::").partition(".")
    packet = getattr(torch.ops.aten, operator)
    candidates = [getattr(packet, o) for o in packet.overloads()]

    def arguments(schema: torch.FunctionSchema, keywords: bool) -> list[tuple[str, str]]:
        return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out and (keywords or not a.kwarg_only)]

    for keywords in (True, False):
        wanted = arguments(torch._C._get_schema(f"aten::{operator}", overload), keywords)
        for candidate in candidates:
            if "out" not in candidate._overloadname and arguments(candidate._schema, keywords) == wanted:
                return candidate
    raise LookupError(f"{name} has no functional variant")


def applied(operator: Any, args: tuple[Any, ...]) -> Any:
    """Call an overload with arguments in its schema's order."""
    names = [a.name for a in operator._schema.arguments if a.kwarg_only]
    positional = len(operator._schema.arguments) - len(names)
    return operator(*args[:positional], **dict(zip(names, args[positional:], strict=False)))


def _room_for(result: Any) -> Any:
    return [torch.empty_like(r) for r in result] if isinstance(result, list) else torch.empty_like(result)


def room_for_outputs(name: str, args: tuple[Any, ...]) -> list[Any]:
    """Memory for the results of a call, in the order of the kernel's outputs."""
    expected = applied(functional_of(name), args)
    return [_room_for(e) for e in (expected if isinstance(expected, tuple) else (expected,))]


def best(run: Callable[[], Any], rounds: int = 8) -> float:
    """Seconds of the fastest call, in processor time: others may use the machine too."""
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def _unary(n: int) -> Iterator[Case]:
    x = torch.randn(n, n)
    inside = {"acos", "asin", "atanh", "erfinv"}
    positive = {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma", "acosh"}
    for name in UNARY:
        argument = x.abs() + 1 if name in positive else x.clamp(-0.99, 0.99) if name in inside else x
        argument = torch.rand(n, n) * 0.9 + 0.05 if name == "logit" else argument
        yield name, f"aten::{name}.out", (argument.to(torch.int64) if name == "bitwise_not" else argument,)


def _binary(n: int) -> Iterator[Case]:
    x, y = torch.randn(n, n), torch.rand(n, n) + 0.5
    whole = torch.randint(1, 9, (n, n))
    for name in BINARY:
        base, _, overload = name.partition(".")
        kernel = f"aten::{base}.{overload}_out" if overload else f"aten::{base}.out"
        yield name, kernel, (x.abs() if base == "pow" else x, y)
        if base not in ("atan2", "div"):
            yield f"{name} int32", kernel, (whole.int(), whole.int())
    for dtype in (torch.float16, torch.bfloat16, torch.uint8, torch.int64):
        yield f"add {dtype}", "aten::add.out", (whole.to(dtype), whole.to(dtype))
    yield "add row", "aten::add.out", (x, y[0].contiguous())
    yield "add column", "aten::add.out", (x, y[:, :1].contiguous())
    yield "add mixed", "aten::add.out", (x, whole.int())
    yield "add number", "aten::add.Scalar_out", (x, 3)
    yield "pow 3", "aten::pow.Tensor_Scalar_out", (x, 3)
    for name in COMPARISONS:
        yield name, f"aten::{name}.Tensor_out", (x, y)
        yield f"{name} number", f"aten::{name}.Scalar_out", (x, 0.5)
    yield "logical_and", "aten::logical_and.out", (x > 0, y > 1)
    yield "bitwise_and bool", "aten::bitwise_and.Tensor_out", (x > 0, y > 1)
    yield "bitwise_xor int32", "aten::bitwise_xor.Tensor_out", (whole.int(), whole.int())
    yield "clamp", "aten::clamp.out", (x, -1, 1)
    yield "where", "aten::where.self_out", (x > 0, x, y)
    yield "addcmul", "aten::addcmul.out", (x, y, y)
    yield "addcdiv", "aten::addcdiv.out", (x, y, y)


def _reduce(n: int) -> Iterator[Case]:
    x = torch.randn(n, n)
    for dims in ([1], [0], [0, 1]):
        for name in ("sum.IntList_out", "mean.out", "amax.out", "amin.out", "any.dims_out", "var.correction_out"):
            yield f"{name} {dims}", f"aten::{name}", (x, dims)
    yield "sum float16", "aten::sum.IntList_out", (x.half(), [1])
    yield "sum int64", "aten::sum.IntList_out", (x.long(), [1])
    yield "prod", "aten::prod.int_out", (x, 1)
    for dim in (0, 1):
        yield f"argmax {dim}", "aten::argmax.out", (x, dim)
        yield f"cumsum {dim}", "aten::cumsum.out", (x, dim)
        yield f"softmax {dim}", "aten::_softmax.out", (x, dim, False)
        yield f"log_softmax {dim}", "aten::_log_softmax.out", (x, dim, False)
    yield "argmax", "aten::argmax.out", (x,)


def _copy(n: int) -> Iterator[Case]:
    x = torch.randn(n, n)
    yield "clone", "aten::clone.out", (x,)
    for dtype in (torch.float32, torch.float16, torch.uint8):
        yield f"permute {dtype}", "aten::permute_copy.out", (x.to(dtype), [1, 0])
    yield "permute 3", "aten::permute_copy.out", (x.reshape(8, n // 8, n), [0, 2, 1])
    yield "permute rows", "aten::permute_copy.out", (x.reshape(n // 8, 8, n), [1, 0, 2])
    yield "expand", "aten::expand_copy.out", (x[:, :1].contiguous(), [n, n])
    yield "slice", "aten::slice_copy.Tensor_out", (x, 1, 0, n, 2)
    yield "flip", "aten::flip.out", (x, [1])
    yield "cat", "aten::cat.out", ([x, x], 1)


def _place(n: int) -> Iterator[Case]:
    x, places = torch.randn(n, n), torch.randint(0, n, (n, n))
    images = x.reshape(1, n // 64, 64, n)
    yield "gather", "aten::gather.out", (x, 1, places)
    yield "scatter_add", "aten::scatter_add.out", (x, 1, places, x)
    yield "index_select", "aten::index_select.out", (x, 0, places[0].contiguous())
    yield "embedding", "aten::embedding.out", (x, places[0].contiguous())
    yield "nonzero", "aten::nonzero.out", (x > 0,)
    yield "masked_fill", "aten::masked_fill.Scalar_out", (x, x > 0, 1)
    yield "topk", "aten::topk.values", (x, 8)
    yield "tril", "aten::tril.out", (x,)
    yield "pad", "aten::constant_pad_nd.out", (x, [1, 1, 1, 1])
    yield "rfft", "aten::_fft_r2c.out", (x, [1], 0, True)
    yield "max_pool2d", "aten::max_pool2d_with_indices.out", (images, [3, 3], [2, 2], [1, 1])
    yield "avg_pool2d", "aten::avg_pool2d.out", (images, [2, 2])
    yield "layer_norm", "aten::native_layer_norm.out", (x, [n], x[0].contiguous(), x[1].contiguous(), 1e-5)
    yield "group_norm", "aten::native_group_norm.out", (images, None, None, 1, n // 64, 64 * n, 2, 1e-5)


def _window(n: int) -> Iterator[Case]:
    x = torch.randn(n, n)
    images = x.reshape(1, n // 32, 32, n)
    sizes, last = [64, 2 * n], images.to(memory_format=torch.channels_last)
    yield "max_pool2d channels_last", "aten::max_pool2d_with_indices.out", (last, [3, 3], [2, 2], [1, 1])
    yield "adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d.out", (images, [4, 4])
    yield "reflection_pad2d", "aten::reflection_pad2d.out", (images, [1, 1, 1, 1])
    yield "replication_pad2d", "aten::replication_pad2d.out", (images, [1, 1, 1, 1])
    yield "nearest", "aten::upsample_nearest2d.vec_out", (images, sizes, None)
    yield "bilinear", "aten::upsample_bilinear2d.vec_out", (images, sizes, False, None)
    yield "bilinear smaller", "aten::_upsample_bilinear2d_aa.out", (images, [16, n // 2], False, None, None)
    grid = torch.rand(1, 32, n, 2) * 2 - 1
    yield "grid_sampler", "aten::grid_sampler_2d.out", (images, grid, 0, 0, False)
    yield "pixel_shuffle", "aten::pixel_shuffle.out", (x.reshape(4, n // 4, n), 2)
    yield "pixel_unshuffle", "aten::pixel_unshuffle.out", (images, 2)
    yield "unfold", "aten::unfold_copy.out", (x, 1, 8, 8)
    channels = [torch.rand(n // 32) + 0.5 for _ in range(4)]
    yield "batch_norm", "aten::_native_batch_norm_legit_no_training.out", (images, *channels, 0.1, 1e-5)
    weight, steps = torch.randn(8, n // 32, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    yield "convolution", "aten::convolution.out", (images, weight, None, *steps)


def _product(n: int) -> Iterator[Case]:
    x, few = torch.randn(n, n), torch.randn(n, 32)
    yield "mm", "aten::mm.out", (x, few)
    yield "addmm", "aten::addmm.out", (torch.randn(32), x, few)
    yield "linear", "aten::linear.out", (x, few.t().contiguous(), None)
    yield "bmm", "aten::bmm.out", (x.reshape(8, n // 8, n), few.expand(8, n, 32).contiguous())
    yield "cdist", "aten::_cdist_forward.out", (x[:64], x[64:128], 2.0, None)
    yield "pdist", "aten::_pdist_forward.out", (x[:64], 2.0)


def _more(n: int) -> Iterator[Case]:
    x, y = torch.randn(n, n), torch.rand(n, n) + 0.5
    rows, places = torch.randint(0, n, (n,)), torch.randint(0, n, (n, n))
    for name in ("logical_or", "logical_xor"):
        yield name, f"aten::{name}.out", (x > 0, y > 1)
    yield "clamp tensors", "aten::clamp.Tensor_out", (x, -y, y)
    yield "rsub", "aten::rsub.Scalar_out", (x, 1)
    yield "shift", "aten::bitwise_left_shift.Tensor_out", (places, places % 8)
    yield "glu", "aten::glu.out", (x, 1)
    yield "argmin", "aten::argmin.out", (x, 1)
    yield "max.dim", "aten::max.dim_max", (x, 1)
    yield "min.dim", "aten::min.dim_min", (x, 0)
    yield "var_mean", "aten::var_mean.correction_out", (x, [1])
    yield "roll", "aten::roll.out", (x, [3], [1])
    yield "repeat", "aten::repeat.out", (x[:, : n // 2].contiguous(), [1, 2])
    yield "repeat_interleave", "aten::repeat_interleave.Tensor_out", (places.flatten() % 4,)
    yield "select", "aten::select_copy.int_out", (x.reshape(n, 4, n // 4), 1, 2)
    yield "select_scatter", "aten::select_scatter.out", (x, x[0].contiguous(), 1, 2)
    yield "slice_scatter", "aten::slice_scatter.out", (x, x[:, : n // 2].contiguous(), 1, 0, n, 2)
    yield "stack", "aten::stack.out", ([x, x], 1)
    yield "diagonal", "aten::diagonal_copy.out", (x.reshape(n // 4, 4, n), 0, 0, 2)
    yield "transpose", "aten::transpose_copy.int_out", (x, 0, 1)
    yield "view", "aten::view_copy.out", (x, [-1])
    yield "full_like", "aten::full_like.out", (x, 3)
    yield "arange", "aten::arange.start_out", (0, n * n, 1)
    yield "masked_select", "aten::masked_select.out", (x, x > 0)
    yield "masked_scatter", "aten::masked_scatter.out", (x, x > 0, y)
    yield "index", "aten::index.Tensor_out", (x, [rows])
    yield "index 2", "aten::index.Tensor_out", (x, [rows, rows])
    yield "index_put", "aten::index_put.out", (x, [rows], y)
    yield "index_put add", "aten::index_put.out", (x, [rows], y, True)
    yield "scatter", "aten::scatter.src_out", (x, 1, places, x)
    yield "scatter number", "aten::scatter.value_out", (x, 0, places, 3)
    yield "complex", "aten::view_as_real_copy.out", (torch.complex(x, y),)
    yield "irfft", "aten::_fft_c2r.out", (torch.fft.rfft(x), [1], 0, n)
    yield "rand", "aten::rand.out", ([n, n],)
    yield "randn", "aten::randn.out", ([n, n],)
    yield "dropout", "aten::native_dropout.out", (x, 0.5, True)


def _numbers(n: int) -> Iterator[Case]:
    """Yield cases with scalars for tensors, rounding modes, and reductions of whole tensors."""
    x, y, whole = torch.randn(n, n), torch.rand(n, n) + 0.5, torch.randint(1, 9, (n, n)).int()
    for name in ("mul", "sub", "div"):
        yield f"{name} number", f"aten::{name}.Scalar_out", (x, 3)
    for name in ("fmod", "remainder"):
        yield f"{name} number", f"aten::{name}.Scalar_out", (x, 3)
        yield f"{name} number int32", f"aten::{name}.Scalar_out", (whole, 3)
    for mode in ("floor", "trunc"):
        yield f"div {mode}", "aten::div.out_mode", (x, y, mode)
        yield f"div {mode} int32", "aten::div.out_mode", (whole, whole, mode)
        yield f"div {mode} number", "aten::div.Scalar_mode_out", (x, 3, mode)
    yield "number pow", "aten::pow.Scalar_out", (2, x)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield f"{name} number", f"aten::{name}.Scalar_out", (whole, 5)
    yield "bitwise_or int32", "aten::bitwise_or.Tensor_out", (whole, whole)
    for side in ("left", "right"):
        yield f"shift {side} number", f"aten::bitwise_{side}_shift.Tensor_Scalar_out", (whole, 2)
    yield "shift right", "aten::bitwise_right_shift.Tensor_out", (whole, whole)
    for name in ("max", "min"):
        yield f"{name} of all", f"aten::{name}.unary_out", (x,)
    yield "any of all", "aten::any.all_out", (x > 9,)
    yield "any of one", "aten::any.out", (x > 9, 1)
    yield "prod of all", "aten::prod.out", (x,)
    yield "mean of all", "aten::mean.dtype_out", (x,)
    yield "var of all", "aten::var.out", (x, [0, 1], True)


def _same(n: int) -> Iterator[Case]:
    """Yield cases that copy or fill whole tensors or parts of them."""
    x = torch.randn(n, n)
    for name in ("alias_copy", "detach_copy", "lift_fresh_copy"):
        yield name, f"aten::{name}.out", (x,)
    yield "_conj_physical", "aten::_conj_physical.out", (torch.complex(x, x),)
    yield "t_copy", "aten::t_copy.out", (x,)
    yield "copy", "aten::copy.out", (x, x + 1)
    yield "copy row", "aten::copy.out", (x, x[0].contiguous())
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool):
        yield f"to {dtype}", "aten::copy.out", (x.abs().to(dtype), x)
        yield f"from {dtype}", "aten::copy.out", (x, x.abs().to(dtype))
    yield "_to_copy", "aten::_to_copy.out", (x,)
    yield "as_strided", "aten::as_strided_copy.out", (x, [n, n], [1, n])
    yield "narrow", "aten::narrow_copy.out", (x, 1, 1, n - 2)
    yield "split", "aten::split_copy.Tensor_out", (x, n // 4, 1)
    yield "split sizes", "aten::split_with_sizes_copy.out", (x, [n // 4, n - n // 4], 0)
    yield "unbind", "aten::unbind_copy.int_out", (x.reshape(4, n // 4, n), 0)
    yield "squeeze", "aten::squeeze_copy.dim_out", (x.unsqueeze(1), 1)
    yield "squeeze dims", "aten::squeeze_copy.dims_out", (x.unsqueeze(1), [1])
    yield "unsqueeze", "aten::unsqueeze_copy.out", (x, 1)
    for name in ("zeros", "ones", "empty"):
        yield name, f"aten::{name}.out", ([n, n],)
    yield "full", "aten::full.out", ([n, n], 3)
    yield "fill", "aten::fill.Scalar_out", (x, 3)
    yield "fill from tensor", "aten::fill.Tensor_out", (x, torch.tensor(3.0))
    yield "arange from 0", "aten::arange.out", (n * n,)


def _learn(n: int) -> Iterator[Case]:
    """Yield cases of backward operators, norms with the batch's own statistics, padding of other ranks."""
    x = torch.randn(n, n)
    images = x.reshape(1, n // 32, 32, n)
    _, places = torch.nn.functional.max_pool2d(images, 3, 2, 1, return_indices=True)
    pooled = torch.randn(places.shape)
    yield (
        "max_pool2d_backward",
        "aten::max_pool2d_with_indices_backward.grad_input",
        (pooled, images, [3, 3], [2, 2], [1, 1], [1, 1], False, places),
    )
    weight = torch.randn(8, n // 32, 3, 3)
    steps = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])
    yield (
        "convolution_backward",
        "aten::convolution_backward.out",
        (torch.randn(1, 8, 32, n), images, weight, [8], *steps),
    )
    one = torch.ones(n // 32)
    yield "batch_norm of batch", "aten::_native_batch_norm_legit.no_stats_out", (images, one, one, True, 0.1, 1e-5)
    for name in ("reflection", "replication"):
        yield f"{name}_pad1d", f"aten::{name}_pad1d.out", (x, [2, 2])
        yield f"{name}_pad3d", f"aten::{name}_pad3d.out", (x.reshape(1, n // 32, 8, 4, n), [1] * 6)


def operator_cases(n: int) -> Iterator[Case]:
    """``(label, out variant, arguments)`` on n by n elements."""
    torch.manual_seed(0)
    for family in (_unary, _binary, _reduce, _copy, _place, _window, _product, _more, _numbers, _same, _learn):
        yield from family(n)
