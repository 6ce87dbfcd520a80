# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Selections, comparisons and masks in a delegate against eager; what stays outside of it."""

import math
from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.models.delegated import check, run
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import BETWEEN_PRODUCTS, ONE_ROUNDING
from torch.export import Dim

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

NAN, INF = math.nan, math.inf
SPECIAL = torch.tensor([[0.0, -0.0, 1.0, -1.5], [NAN, INF, -INF, 3e-42], [2.0, NAN, -INF, 1.0]])
OTHER = torch.tensor([[0.0, 0.0, -1.0, -1.5], [NAN, INF, INF, 0.0], [NAN, 2.0, -INF, 1.0]])
CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)

Tensors = tuple[torch.Tensor, ...]


def _mask(*shape: int) -> torch.Tensor:
    return torch.rand(shape) > 0.5


def _chosen(mask: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(mask, x, y)


def _mask_by_sums(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A mask that is moved in every way."""
    moved = torch.cat((mask[:, 1:], mask[:, :1]), 1).t().reshape(2, 2, 3).permute(1, 0, 2).unsqueeze(1)
    padded = torch.nn.functional.pad(moved.squeeze(1).select(0, 1), (1, 0), value=False)
    return x.masked_fill(padded, -7.0)


COMPARISONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    name: getattr(torch, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}

CASES: dict[str, tuple[Callable[..., torch.Tensor | Tensors], Tensors]] = {
    "selection": (_chosen, (_mask(3, 4), SPECIAL, OTHER)),
    "selection by columns": (_chosen, (_mask(4), SPECIAL, OTHER)),
    "selection by rows": (_chosen, (_mask(3, 1), SPECIAL, OTHER)),
    "selection of numbers": (lambda m, x: torch.where(m, 1.0, x) + torch.where(m, x, 0.0), (_mask(3, 4), SPECIAL)),
    "selection that broadcasts everything": (
        _chosen,
        (_mask(5, 1, 1, 2), torch.randn(3, 1, 1), torch.randn(1, 1, 4, 1)),
    ),
    "selection of long rows": (_chosen, (_mask(2, 1, 40_000), torch.randn(2, 3, 40_000), torch.randn(3, 1))),
    "selection of images": (
        lambda m, x: torch.where(m, torch.nn.functional.max_pool2d(x, 2), 0.0),
        (_mask(1, 1, 4, 5), torch.randn(2, 3, 8, 10)),
    ),
    "constant mask": (lambda x: torch.relu(x).masked_fill(CAUSAL, -INF), (torch.randn(2, 3, 5, 5),)),
    "NaN that is not chosen": (
        lambda x: torch.where(x > 0, x, 0.0) / torch.where(x > 0, torch.sqrt(x), 1.0),
        (SPECIAL,),
    ),
    "logic": (
        lambda x, y: (((x > y) & (x > 0)) | ~(y < 1)).logical_xor(torch.logical_not(x)).to(x.dtype) * 3,
        (torch.randn(3, 4), torch.randn(4)),
    ),
    "conversions": (lambda x: (x.bool().float() * 2, x.to(torch.bool)), (SPECIAL,)),
    "NaN and infinities are found": (lambda x: (torch.isnan(x), torch.isinf(x), x * 2), (SPECIAL,)),
    "any of rows": (lambda x: ((x > 1).any(-1, keepdim=True), (x != x).any(0), (x > 9).any(), x * 2), (SPECIAL,)),
    "repeated masks": (lambda x: torch.relu((x[:, :1] > 0).expand(-1, 6).to(x.dtype)), (SPECIAL,)),
    "arithmetic of masks": (
        lambda x, y: (
            torch.where(torch.isfinite(x) * (y > 0), x, -1.0),
            torch.where(torch.maximum(x > 0, y[0] > 0), x, -1.0),
            torch.where(torch.minimum(x > 0, y > 0), x, -1.0),
        ),
        (SPECIAL, OTHER),
    ),
    "parts of masks": (
        lambda x: (
            torch.where((x > 0).unfold(1, 3, 1), x.unfold(1, 3, 1), -1.0),
            torch.where((x > 0).split([1, 3], 1)[1], x[:, 1:], -1.0),
            torch.where((x > 0).unbind(0)[1], x[0], -1.0),
            torch.where(torch.slice_scatter(x > 0, x[:, :1] > 1, 1, 2, 3), x, -1.0),
            torch.where((x > 0).index_select(1, torch.tensor([1, 0, 3])), x[:, :3], -1.0),
            torch.where((x > 0).repeat(2, 3), x.repeat(2, 3), -1.0),
        ),
        (SPECIAL,),
    ),
    "equal masks": (lambda x, y: torch.where((x > 0) == (y > 0), x, y), (SPECIAL, OTHER)),
    "moved masks": (_mask_by_sums, (torch.randn(2, 4), _mask(3, 4))),
    "filled": (lambda x: torch.where(x > 0, x, torch.full_like(x, 0.5)) + torch.zeros_like(x), (SPECIAL,)),
    "selection of masks": (lambda x, y: torch.where(x > 0, y > 0, y < 0) * x, (SPECIAL.nan_to_num(1, 2, 3), OTHER)),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_match_eager(name: str) -> None:
    compare = COMPARISONS[name]
    module = Function(lambda x, y: (x + y, compare(x, y), compare(x, y[1]), compare(x[0, 0], y), compare(x, 1.0)))
    (_, *found), (_, *expected) = run(module, (SPECIAL, OTHER)), module(SPECIAL, OTHER)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == torch.bool
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", CASES)
def test_selections_and_masks_match_eager(name: str) -> None:
    torch.manual_seed(0)
    compute, inputs = CASES[name]
    check(Function(compute), inputs, ONE_ROUNDING)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["selection", "selection by rows", "logic", "NaN that is not chosen", "filled"])
def test_selections_in_half_precision_match_eager(name: str, dtype: torch.dtype) -> None:
    compute, inputs = CASES[name]
    cast = tuple(tensor.to(dtype) if tensor.is_floating_point() else tensor for tensor in inputs)
    check(Function(compute), cast, ONE_ROUNDING)


def test_a_selection_takes_masks_and_tensors_of_any_batch() -> None:
    class Masked(torch.nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return torch.softmax(torch.where(mask[:, None], x * 2, torch.full_like(x, -INF)), -1)

    batch = Dim("batch", max=8)
    example = (torch.randn(3, 2, 4), _mask(3, 4))
    exported = torch.export.export(Masked(), example, dynamic_shapes=({0: batch}, {0: batch}))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert get_delegation_info(lowered.exported_program().graph_module).num_non_delegated_nodes == 0
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in (1, 8, 3):
        inputs = (torch.randn(size, 2, 4), torch.rand(size, 4) > 0.3)
        (output,) = method.execute(inputs)
        torch.testing.assert_close(output, Masked()(*inputs), equal_nan=True)


def _left(compute: Callable[..., object], *inputs: torch.Tensor) -> list[str]:
    """Operators that no delegate computes."""
    exported = torch.export.export(Function(compute), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    graph = lowered.exported_program().graph
    names = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    return [name for name in names if "getitem" not in name and "call_delegate" not in name]


def test_selections_and_comparisons_of_integers_are_not_delegated() -> None:
    ids = torch.arange(4)
    assert len(_left(lambda x, i: (torch.where(i > 2, i, 0), x * 2), torch.randn(4), ids)) == 2
    assert len(_left(lambda x, i: torch.where(i > 2, x, 0.0) * 2, torch.randn(4), ids)) == 1


def test_comparisons_alone_make_no_delegate() -> None:
    assert len(_left(lambda x, y: (x > y) & (x < 1), torch.randn(4), torch.randn(4))) == 3


def test_logic_before_unsupported_operators_stays_outside() -> None:
    def compute(x: torch.Tensor, mask: torch.Tensor) -> Tensors:
        return (x * 2, (~mask).to(torch.int64))

    assert len(_left(compute, torch.randn(4), _mask(4))) == 2


def _attention(fill: float, chooses: bool, with_bias: bool = False) -> Callable[..., torch.Tensor]:
    def compute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = q @ k.mT * 0.25 + (torch.arange(7) * -0.5 if with_bias else 0.0)
        masked = torch.where(mask, scores, fill) if chooses else scores.masked_fill(mask, fill)
        return torch.softmax(masked, -1) @ v

    return compute


@pytest.mark.sampled
@pytest.mark.parametrize("mask", [(2, 3, 5, 7), (2, 1, 1, 7), (1, 1, 5, 7), (5, 1), (7,)], ids=str)
@pytest.mark.parametrize("fill", [torch.finfo(torch.float32).min, -1e4, -INF, 0.25])
@pytest.mark.parametrize("chooses", [True, False])
def test_attention_with_replaced_scores_matches_eager(fill: float, chooses: bool, mask: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 3, size, 8) for size in (5, 7, 7))
    hidden = _mask(*mask)
    hidden[0] = not chooses  # the first query of all, or of a batch, sees no key
    q[1, 2, 4, 0] = NAN
    check(Function(_attention(fill, chooses, with_bias=fill == -1e4)), (q, k, v, hidden), BETWEEN_PRODUCTS)


def test_replaced_scores_of_nan_do_not_affect_the_result() -> None:
    torch.manual_seed(2)
    q, k, v = (torch.randn(1, 2, size, 8) for size in (5, 7, 7))
    k[0, 0, 3], k[0, 1, 3] = NAN, INF
    hidden = torch.zeros(7, dtype=torch.bool)
    hidden[3] = True
    (output,) = run(Function(_attention(-INF, False)), (q, k, v, hidden))
    assert torch.isfinite(output).all()
    torch.testing.assert_close(output, _attention(-INF, False)(q, k, v, hidden), **BETWEEN_PRODUCTS)
