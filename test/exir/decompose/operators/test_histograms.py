# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""torch.histogram, torch.histogramdd and torch.frexp give eager's counts, edges, mantissas and exponents."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.models.pipeline import assert_matches_eager

VALUES = torch.tensor([[0.0, 1.0, 0.25, float("nan"), 3.0], [-1.0, 0.5, 2.0, 1.999, float("inf")]])
FINITE = torch.linspace(-2, 5, 41).reshape(1, 41).t()
EDGES = torch.tensor([-1.0, 0.25, 0.3, 2.0])
POINTS = torch.stack([FINITE.flatten(), FINITE.flatten().sin()], -1)
HISTOGRAMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "as many bins as given between the extremes": (lambda x: torch.histogram(x, 7), (FINITE,)),
    "a given range, with NaN and values outside": (lambda x: torch.histogram(x, 4, range=(0.0, 2.0)), (VALUES,)),
    "given edges": (torch.histogram, (VALUES, EDGES)),
    "weights and a density": (
        lambda x, w: torch.histogram(x, 5, weight=w, density=True),
        (FINITE, FINITE.square()),
    ),
    "float64": (lambda x: torch.histogram(x, 3), (FINITE.double(),)),
    "equal values": (lambda x: torch.histogram(x, 4), (torch.full([6], 3.0),)),
    "no value": (lambda x: torch.histogram(x, 4), (torch.zeros(0),)),
    "two columns": (lambda x: torch.histogramdd(x, [3, 5]), (POINTS,)),
    "two columns with a range and a density": (
        lambda x, w: torch.histogramdd(x, [2, 3], range=[-1.0, 1.0, 0.0, 2.0], weight=w, density=True),
        (POINTS, FINITE.flatten().abs()),
    ),
    "two columns with given edges": (lambda x, a, b: torch.histogramdd(x, [a, b]), (POINTS, EDGES, EDGES[1:] - 0.3)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", HISTOGRAMS)
def test_a_histogram_has_the_counts_and_edges_of_eager(what: str) -> None:
    function, inputs = HISTOGRAMS[what]
    assert_matches_eager(Function(function), inputs)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_mantissas_and_exponents_are_those_of_eager(dtype: torch.dtype) -> None:
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps  # the least subnormal number
    special = [0.0, -0.0, 1.0, -0.75, 3.5, info.max, info.tiny, -info.tiny / 2, smallest]
    values = torch.tensor([*special, float("inf"), float("-inf"), float("nan")], dtype=dtype)
    assert_matches_eager(Function(torch.frexp), (values,))
    assert_matches_eager(Function(torch.frexp), (values[:0],))
    assert_matches_eager(Function(torch.frexp), (values[4],))
