# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels against eager on generated shapes, broadcasts, dim orders, dtypes and values.

``EXECUTORCH_ORACLE_EXAMPLES``: number of examples of each family; unset: the same examples in every run.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.kernels.any_tensors import DTYPES, FLOATS, NUMBERS, broadcast, dtypes, shapes, tensors
from oracle.kernels.aten_calls import KernelsAgainstEager
from oracle.kernels.kernel_entry import registered_kernels, schema_of
from oracle.kernels.kernel_records import functional_of

pytestmark = pytest.mark.filterwarnings("ignore")
aten = torch.ops.aten
EXAMPLES = os.environ.get("EXECUTORCH_ORACLE_EXAMPLES")
# Eager traps on the smallest integer divided by -1, and on floats beyond an integer's range.
TRAPPING = ("div", "floor_divide", "fmod", "remainder")
NOT_POINTWISE = ("copy", "fill", "dropout", "masked_fill")

property_test = settings(
    max_examples=int(EXAMPLES or 300),
    derandomize=EXAMPLES is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def check(call: Callable[[], Any]) -> None:
    """Skip calls that eager refuses; error samples have their own test."""
    with torch.no_grad(), KernelsAgainstEager() as checked:
        try:
            call()
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
            return
    assert not checked.faults, "\n".join(checked.faults)


def _is_pointwise(kernel: str) -> bool:
    if not kernel.startswith("aten::") or any(word in kernel for word in NOT_POINTWISE):
        return False
    types = {str(a.real_type) for a in schema_of(kernel).arguments}
    known = types <= {"Tensor", "number", "Optional[number]", "Optional[Tensor]", "bool"}
    return known and torch.Tag.pointwise in functional_of(kernel).tags


@functools.cache
def pointwise_kernels() -> list[str]:
    return [k for k in sorted(registered_kernels()) if k.endswith("out") and _is_pointwise(k)]


numbers = st.sampled_from([0, 1, -1, 2, 3, 7, 200, -300, 0.5, -2.5, 1e9, True, float("inf"), float("nan")])


@property_test
@given(st.data())
def test_pointwise_kernels_match_eager(data: st.DataObject) -> None:
    kernel = data.draw(st.sampled_from(pointwise_kernels()), label="kernel")
    shape = data.draw(shapes())
    values = "plain" if kernel.removeprefix("aten::").startswith(TRAPPING) else None
    first = data.draw(dtypes)
    arguments: list[Any] = []
    for argument in (a for a in schema_of(kernel).arguments if not a.is_out):
        if "Tensor" in str(argument.real_type):
            dtype = first if data.draw(st.booleans()) else data.draw(dtypes)
            arguments.append(data.draw(tensors(data.draw(broadcast(shape)), dtype, values)))
        elif str(argument.real_type) == "bool":
            arguments.append(data.draw(st.booleans()))
        else:
            arguments.append(argument.default_value if data.draw(st.booleans()) else data.draw(numbers))
    functional = functional_of(kernel)
    given_by_name = {
        a.name: v
        for a, v in zip(functional._schema.arguments, arguments, strict=True)
        if a.kwarg_only and v is not None
    }
    check(lambda: functional(*arguments[: len(arguments) - len(given_by_name)], **given_by_name))


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, dims, keep: aten.sum.dim_IntList(x, dims, keep),
    "mean": lambda x, dims, keep: aten.mean.dim(x, dims, keep),
    "amax": lambda x, dims, keep: aten.amax(x, dims, keep),
    "amin": lambda x, dims, keep: aten.amin(x, dims, keep),
    "any": lambda x, dims, keep: aten.any.dims(x, dims, keep),
    "all": lambda x, dims, keep: aten.all.dims(x, dims, keep),
    "var": lambda x, dims, keep: aten.var.correction(x, dims, correction=1, keepdim=keep),
    "std": lambda x, dims, keep: aten.std.correction(x, dims, correction=0, keepdim=keep),
    "var_mean": lambda x, dims, keep: aten.var_mean.correction(x, dims, correction=0.5, keepdim=keep),
}
ALONG_ONE: dict[str, Callable[..., Any]] = {
    "max": lambda x, dim, keep: aten.max.dim(x, dim, keep),
    "min": lambda x, dim, keep: aten.min.dim(x, dim, keep),
    "argmax": lambda x, dim, keep: aten.argmax(x, dim, keep),
    "argmin": lambda x, dim, keep: aten.argmin(x, dim, keep),
    "prod": lambda x, dim, keep: aten.prod.dim_int(x, dim, keep),
    "cumsum": lambda x, dim, keep: aten.cumsum(x, dim),
    "cumprod": lambda x, dim, keep: aten.cumprod(x, dim),
    "softmax": lambda x, dim, keep: aten._softmax(x, dim, False),
    "log_softmax": lambda x, dim, keep: aten._log_softmax(x, dim, False),
    "sort": lambda x, dim, keep: aten.sort(x, dim, keep),
    "topk": lambda x, dim, keep: aten.topk(x, x.size(dim) // 2, dim, keep),
}
# Cumulative products and differences of huge numbers depend on the order of operations.
PLAIN = frozenset({"cumprod", "prod", "var", "std", "var_mean"})
# Eager accepts other dtypes only for empty tensors.
OF_FLOATS = frozenset({"softmax", "log_softmax"})


@property_test
@given(st.data())
def test_reductions_match_eager(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*REDUCTIONS, *ALONG_ONE]), label="operator")
    dtype = data.draw(st.sampled_from(FLOATS) if name in OF_FLOATS else dtypes)
    x = data.draw(tensors(data.draw(shapes()), dtype, "plain" if name in PLAIN else None))
    keep = data.draw(st.booleans())
    if name in ALONG_ONE:
        dim = data.draw(st.integers(-max(x.dim(), 1), max(x.dim(), 1) - 1))
        check(lambda: ALONG_ONE[name](x, dim, keep))
    else:
        dims = data.draw(st.lists(st.integers(0, max(x.dim() - 1, 0)), unique=True, max_size=3))
        check(lambda: REDUCTIONS[name](x, [d - x.dim() if d % 2 and x.dim() else d for d in dims], keep))


@property_test
@given(st.data())
def test_copies_match_eager(data: st.DataObject) -> None:
    x = data.draw(tensors(data.draw(shapes(least=1)), data.draw(dtypes)))
    small = st.integers(-6, 6)
    dim = data.draw(st.integers(-x.dim(), x.dim() - 1))
    order = data.draw(st.permutations(range(x.dim())))
    start, end, step = (data.draw(small) for _ in range(3))
    calls: Sequence[Callable[[], Any]] = (
        lambda: aten.permute_copy(x, order),
        lambda: aten.transpose_copy.int(x, dim, order[0]),
        lambda: aten.slice_copy.Tensor(x, dim, start, end, abs(step) + 1),
        lambda: aten.select_copy.int(x, dim, start),
        lambda: aten.expand_copy(x, [2, *(-1 if s != 1 else 3 for s in x.shape)]),
        lambda: aten.repeat(x, [abs(start) % 3, *(1 + (d + step) % 2 for d in range(x.dim()))]),
        lambda: aten.flip(x, order[: 1 + abs(step) % x.dim()]),
        lambda: aten.roll(x, [start, end], [order[0], order[-1]]),
        lambda: aten.cat([x, x.permute(order).contiguous().permute([order.index(d) for d in range(x.dim())])], dim),
        lambda: aten.stack([x, x], dim),
        lambda: aten.split_copy.Tensor(x, abs(step) + 1, dim),
        lambda: aten.unsqueeze_copy(x, dim),
        lambda: aten.squeeze_copy.dims(x, order[:2]),
        lambda: aten.view_copy(x, [-1]),
        lambda: aten.constant_pad_nd(x, [start % 3, end % 3], step),
        lambda: aten.diagonal_copy(x, start, order[0], order[-1]),
        lambda: aten.unfold_copy(x, dim, abs(start), abs(step) + 1),
        lambda: aten.clone(x, memory_format=torch.contiguous_format),
        lambda: aten.tril(x, start),
        lambda: aten._to_copy(x, dtype=DTYPES[start % len(DTYPES)]) if not x.dtype.is_floating_point else x,
        lambda: aten.slice_scatter(x, aten.slice_copy.Tensor(x, dim, start, end, 1), dim, start, end, 1),
    )
    check(calls[data.draw(st.integers(0, len(calls) - 1), label="call")])


@property_test
@given(st.data())
def test_indexing_matches_eager(data: st.DataObject) -> None:
    size = st.integers(1, 4)
    x = data.draw(tensors(data.draw(shapes(1, 3, size)), data.draw(dtypes)))
    dim = data.draw(st.integers(0, x.dim() - 1))
    shape = [data.draw(st.integers(0, n)) for n in x.shape]
    torch.default_generator.manual_seed(data.draw(st.integers(0, 99)))
    index = torch.randint(x.size(dim), shape)
    src = data.draw(tensors(list(x.shape), x.dtype))
    rows = [torch.randint(-x.size(0), x.size(0), (data.draw(size),)) for _ in range(2)]
    mask = torch.rand(x.shape) > 0.5
    reduce = data.draw(st.sampled_from(["sum", "prod", "mean", "amax", "amin"]))
    some, several = data.draw(st.booleans()), x.dim() > 1
    calls: Sequence[Callable[[], Any]] = (
        lambda: aten.gather(x, dim, index),
        lambda: aten.scatter.src(x, dim, index, src),
        lambda: aten.scatter.value(x, dim, index, 3),
        lambda: aten.scatter_add(x, dim, index, src),
        lambda: aten.scatter_reduce.two(x, dim, index, src, reduce, include_self=some),
        lambda: aten.index_select(x, dim, rows[0].abs() % x.size(dim)),
        lambda: aten.index.Tensor(x, [rows[0]] if some or not several else [None, rows[1].abs() % x.size(1)]),
        lambda: aten.index.Tensor(x, [mask]),
        lambda: aten.index_put(x, [rows[0]], src[0].unsqueeze(0), some),
        lambda: aten.index_put(x, [mask], src.flatten()[0], False),
        lambda: aten.masked_fill.Scalar(x, mask, 2),
        lambda: aten.masked_select(x, mask),
        lambda: aten.masked_scatter(x, mask, src),
        lambda: aten.nonzero(x),
        lambda: aten.embedding(x, rows[0] % x.size(0)) if x.dim() == 2 else x,
        lambda: aten.select_scatter(x, src.select(dim, 0), dim, 0),
    )
    check(calls[data.draw(st.integers(0, len(calls) - 1), label="call")])


@property_test
@given(st.data())
def test_matrix_products_match_eager(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "linear"]))
    dtype = data.draw(st.sampled_from([*FLOATS, *NUMBERS]))
    b, m, k, n = (data.draw(st.sampled_from([0, 1, 2, 3, 5, 17])) for _ in range(4))
    shapes_of: dict[str, list[list[int]]] = {
        "mm": [[m, k], [k, n]],
        "bmm": [[b, m, k], [b, k, n]],
        "addmm": [data.draw(broadcast([m, n])), [m, k], [k, n]],
        "baddbmm": [data.draw(broadcast([b, m, n])), [b, m, k], [b, k, n]],
        "mv": [[m, k], [k]],
        # Eager does not broadcast if k is 0.
        "addmv": [data.draw(broadcast([m])) if k else [m], [m, k], [k]],
        "dot": [[k], [k]],
        "linear": [[b, m, k], [n, k], [n]],
    }
    operands = [data.draw(tensors(shape, dtype, "plain")) for shape in shapes_of[name]]
    scales = {"beta": data.draw(st.sampled_from([0, 1, 2])), "alpha": data.draw(st.sampled_from([1, -3]))}
    check(lambda: getattr(aten, name)(*operands, **(scales if name.startswith(("add", "badd")) else {})))
