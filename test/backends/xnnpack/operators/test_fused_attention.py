# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Attention, a chain of XNNPACK nodes in a payload, runs as one node and matches eager."""

import math
from collections.abc import Callable

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import BETWEEN_PRODUCTS, LAYERS
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Tensors = tuple[torch.Tensor, ...]
Compute = Callable[..., torch.Tensor | Tensors]


class _Module(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor | Tensors:
        return self.compute(*inputs)


def _results(compute: Compute, inputs: Tensors) -> tuple[list[torch.Tensor], Tensors]:
    """The delegate's results, and eager's in double precision."""
    exported = torch.export.export(_Module(compute), inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    expected = compute(*(tensor.double() for tensor in inputs))
    return method.execute(list(inputs)), expected if isinstance(expected, tuple) else (expected,)


def _assert_close(compute: Compute, inputs: Tensors) -> None:
    found, expected = _results(compute, inputs)
    for result, exact in zip(found, expected, strict=True):
        torch.testing.assert_close(result.double(), exact, **BETWEEN_PRODUCTS, equal_nan=True)


def _manual(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    return torch.matmul(torch.softmax(scores, -1), v)


def _masked(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) * 0.3 + mask
    return torch.matmul(torch.softmax(scores, -1), v)


def _heads_together(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """[batch, position, head, channel], as linear layers give them."""
    attended = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    return attended.transpose(1, 2).flatten(2)


SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "one head": ((5, 16), (7, 16), (7, 9)),
    "a batch": ((3, 20, 16), (3, 33, 16), (3, 33, 16)),
    "heads": ((1, 3, 197, 64), (1, 3, 197, 64), (1, 3, 197, 64)),
    "heads in a batch": ((2, 3, 17, 8), (2, 3, 19, 8), (2, 3, 19, 5)),
    "one query": ((2, 3, 1, 8), (2, 3, 19, 8), (2, 3, 19, 8)),
    "one key": ((2, 3, 4, 8), (2, 3, 1, 8), (2, 3, 1, 8)),
    "shared keys": ((2, 3, 4, 8), (2, 1, 7, 8), (2, 1, 7, 8)),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_attention_of_these_sizes_matches_eager(sizes: tuple[tuple[int, ...], ...]) -> None:
    torch.manual_seed(0)
    _assert_close(_manual, tuple(torch.randn(shape) for shape in sizes))


@pytest.mark.parametrize("batch", [1, 3])
def test_attention_between_layout_changes_matches_eager(batch: int) -> None:
    torch.manual_seed(1)
    _assert_close(_heads_together, tuple(torch.randn(batch, 37, 4, 16) for _ in range(3)))


@pytest.mark.parametrize("mask", [(1, 1, 1, 40), (2, 1, 30, 40), (30, 1), (2, 3, 30, 40), (1,)])
def test_a_mask_of_these_sizes_is_added(mask: tuple[int, ...]) -> None:
    torch.manual_seed(2)
    q, k, v = torch.randn(2, 3, 30, 8), torch.randn(2, 3, 40, 8), torch.randn(2, 3, 40, 8)
    _assert_close(_masked, (q, k, v, torch.randn(mask)))


def test_a_mask_that_makes_the_batch_larger_is_added() -> None:
    torch.manual_seed(3)
    q, k, v = torch.randn(1, 3, 30, 8), torch.randn(1, 3, 40, 8), torch.randn(1, 3, 40, 8)
    _assert_close(_masked, (q, k, v, torch.randn(2, 1, 1, 40)))


def test_hidden_keys_have_no_effect_and_nan_propagates() -> None:
    torch.manual_seed(4)
    q, k, v = (torch.randn(1, 2, 6, 8) for _ in range(3))
    mask = torch.zeros(1, 1, 6, 6)
    mask[..., 3:] = float("-inf")
    mask[0, 0, 1] = float("-inf")
    q[0, 0, 2, 0], k[0, 1, 5, 0], q[0, 1, 3, 1] = float("nan"), 1e30, float("inf")
    _assert_close(_masked, (q, k, v, mask))


def test_attention_weights_with_other_readers_are_returned() -> None:
    def compute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Tensors:
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)), -1)
        return torch.matmul(weights, v), weights

    torch.manual_seed(5)
    _assert_close(compute, tuple(torch.randn(2, 9, 8) for _ in range(3)))


def test_one_tensor_may_be_queries_keys_and_values() -> None:
    torch.manual_seed(6)
    _assert_close(lambda x: _manual(x * 2, x * 2, x * 2), (torch.randn(2, 21, 8),))
    _assert_close(lambda x: _manual(x, x, x) + x, (torch.randn(2, 21, 8),))


def test_factors_before_and_after_the_product_form_one_scale() -> None:
    def compute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul((q * 0.5).transpose(1, 2) * 3.0, k.transpose(-2, -1)) * 0.25
        return torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2) * 2

    torch.manual_seed(7)
    _assert_close(compute, (torch.randn(2, 11, 3, 8), torch.randn(2, 3, 9, 8), torch.randn(2, 3, 9, 8)))


@pytest.mark.parametrize("scale", [0.0, -0.5, 1e-40])
def test_any_scale_is_kept(scale: float) -> None:
    torch.manual_seed(8)
    q, k, v = (torch.randn(2, 9, 8) for _ in range(3))
    _assert_close(lambda q, k, v: torch.matmul(torch.softmax(torch.matmul(q, k) * scale, -1), v), (q, k.mT, v))


@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "added"])
def test_grouped_heads_and_masks_match_eager(mask: str) -> None:
    def compute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        given = {"boolean": hidden, "added": added.to(q.dtype)}.get(mask)
        return F.scaled_dot_product_attention(q, k, v, given, is_causal=mask == "causal", enable_gqa=True)

    torch.manual_seed(9)
    hidden = torch.rand(2, 1, 21, 21) > 0.4
    hidden[1, 0, 3] = False
    added = torch.randn(21, 21)
    q, k, v = torch.randn(2, 6, 21, 16), torch.randn(2, 2, 21, 16), torch.randn(2, 2, 21, 16)
    _assert_close(compute, (q, k, v))


@pytest.mark.parametrize("batch", [1, 2])
def test_multihead_attention_matches_eager(batch: int) -> None:
    torch.manual_seed(10)
    layer = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    padding = torch.zeros(batch, 19, dtype=torch.bool)
    padding[:, 15:] = True

    def compute(x: torch.Tensor) -> torch.Tensor:
        return layer.to(x.dtype)(x, x, x, key_padding_mask=padding, need_weights=False)[0]

    x = torch.randn(batch, 19, 32)
    exported = torch.export.export(_Module(compute), (x,))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], compute(x), **LAYERS)


@pytest.mark.parametrize("which", ["batch", "positions", "heads together"])
def test_dynamic_sizes_match_eager_at_both_bounds(which: str) -> None:
    size = torch.export.Dim("size", min=1 if which == "batch" else 2, max=9)
    compute = _heads_together if which == "heads together" else _manual

    def inputs(count: int) -> Tensors:
        sizes = {"batch": (count, 3, 7, 8), "positions": (2, 3, count, 8), "heads together": (2, count, 3, 8)}[which]
        return tuple(torch.randn(sizes) for _ in range(3))

    torch.manual_seed(11)
    place = {"batch": 0, "positions": 2, "heads together": 1}[which]
    dynamic_shapes = (tuple({place: size} for _ in range(3)),)
    exported = torch.export.export(_Module(compute), inputs(5), dynamic_shapes=dynamic_shapes)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for count in (9, 2, 1 if which == "batch" else 3, 9):
        given = inputs(count)
        torch.testing.assert_close(method.execute(list(given))[0], compute(*given), **LAYERS)
