# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gelu that a model writes by erf is delegated; formulas that only look alike keep erf."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import ELEMENTWISE

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegates
from executorch.runtime import Runtime

_Formula = Callable[[torch.Tensor], torch.Tensor]
_ROOT = math.sqrt(2.0)
_WRITTEN: dict[str, _Formula] = {
    "as transformers write it": lambda x: x * 0.5 * (1.0 + torch.erf(x / _ROOT)),
    "half first": lambda x: 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5))),
    "half last": lambda x: (torch.erf(x / _ROOT) + 1) * x * 0.5,
    "halved": lambda x: x * (1 + torch.erf(x / _ROOT)) / 2,
    "the distribution alone": lambda x: x * (0.5 * (1 + torch.erf(x / _ROOT))),
    "of a product": lambda x: (lambda y: y * 0.5 * (1 + torch.erf(y / _ROOT)))(x * 3),
    "as a factor": lambda x: torch.sigmoid(x) * (x * 0.5 * (1 + torch.erf(x / _ROOT))),
    "twice": lambda x: _WRITTEN["halved"](_WRITTEN["half first"](x)),
}
_OTHERS: dict[str, _Formula] = {
    "another scale": lambda x: x * 0.5 * (1 + torch.erf(x / 2)),
    "a scale close to the root": lambda x: x * 0.5 * (1 + torch.erf(x / 1.4152)),
    "a factor close to a half": lambda x: x * 0.5004 * (1 + torch.erf(x / _ROOT)),
    "another shift": lambda x: x * 0.5 * (2 + torch.erf(x / _ROOT)),
    "a scaled term": lambda x: x * 0.5 * torch.add(1, torch.erf(x / _ROOT), alpha=2),
    "not halved": lambda x: x * (1 + torch.erf(x / _ROOT)),
    "an inverse": lambda x: 0.5 / x * (1 + torch.erf(x / _ROOT)),
    "another operand": lambda x: (x + 1) * 0.5 * (1 + torch.erf(x / _ROOT)),
    "a broadcast operand": lambda x: x[:1] * 0.5 * (1 + torch.erf(x[:, :1] / _ROOT)),
    "a scalar of the input": lambda x: x * x.shape[0] * (1 + torch.erf(x / x.abs().max())),
    "its square": lambda x: (1 + torch.erf(x / _ROOT)) * (1 + torch.erf(x / _ROOT)) * 0.5,
}


def _error(lowered: EdgeProgramManager, formula: _Formula, x: torch.Tensor) -> float:
    (found,) = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward").execute((x,))
    expected = formula(x)
    assert torch.equal(found.isnan(), expected.isnan())
    return float((found - expected).nan_to_num(0.0, 0.0, 0.0).abs().max())


def _input(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    special = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -40.0])
    return torch.cat([torch.linspace(-7, 7, 57), special]).reshape(8, 8).to(dtype)


@needs_xnnpack
@pytest.mark.parametrize("partitions_later", [False, True])
@pytest.mark.parametrize("name", _WRITTEN)
def test_a_gelu_written_by_erf_is_one_delegate(name: str, partitions_later: bool) -> None:
    x = _input()
    exported = torch.export.export(Function(_WRITTEN[name]), (x,))
    lowered = (
        to_edge(exported).to_backend(XnnpackPartitioner())
        if partitions_later
        else to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    )
    graph = lowered.exported_program().graph
    assert len(get_delegates(graph)) == 1
    assert not [node for node in graph.nodes if "erf" in str(node.target)]
    assert _error(lowered, _WRITTEN[name], x) < ELEMENTWISE["atol"]


@needs_xnnpack
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_gelu_in_half_precision_is_one_delegate(dtype: torch.dtype) -> None:
    x, formula = _input(dtype).nan_to_num(0.0, 0.0, 0.0), _WRITTEN["as transformers write it"]
    exported = torch.export.export(Function(formula), (x,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert len(get_delegates(lowered.exported_program().graph)) == 1
    assert _error(lowered, formula, x) <= 7 * 2 * torch.finfo(dtype).eps


@needs_xnnpack
@pytest.mark.parametrize("name", _OTHERS)
def test_a_formula_that_is_not_gelu_keeps_its_results(name: str) -> None:
    x = _input()
    exported = torch.export.export(Function(_OTHERS[name]), (x,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert [node for node in lowered.exported_program().graph.nodes if "erf" in str(node.target)]
    assert _error(lowered, _OTHERS[name], x) < ELEMENTWISE["atol"]
