# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The lowering report lists fallbacks with reason and cost; strict turns them into an error."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export
from torch.utils.flop_counter import FlopCounterMode

from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.delegate.dry_build import register_dry_build, unregister_dry_build
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.backend.utils import WhyNoPartition
from executorch.exir.error import VerificationError

X = torch.randn(2, 3, 8, 8)
BACKEND = "BackendWithCompilerDemo"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, padding=1)
        self.linear = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.sin(self.convolution(x)) * 2 + 1)


class SayingWhy(Partitioner):
    """Takes no node, and gives a reason for convolutions."""

    def partition(self, exported_program: Any) -> PartitionResult:
        why = WhyNoPartition(logging.getLogger("test"))
        for node in exported_program.graph.nodes:
            if "convolution" in str(node.target):
                why(node, "padding is not supported")
        return PartitionResult(exported_program, {})


def _lowered(*partitioners: Partitioner, **config: Any) -> Any:
    return to_edge_transform_and_lower(
        export(Net(), (X,)), partitioner=list(partitioners), compile_config=EdgeCompileConfig(**config)
    )


def _warnings(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith("executorch")]


def test_without_a_partitioner_nothing_falls_back(caplog: pytest.LogCaptureFixture) -> None:
    (method,) = to_edge(export(Net(), (X,))).to_executorch().verdict.methods
    assert method.fallbacks == () and method.delegates == () and not _warnings(caplog)
    assert method.kernels["aten::convolution.out"] == 1


def test_every_partitioner_gives_its_reason_and_the_most_expensive_operator_comes_first() -> None:
    (method,) = _lowered(SayingWhy(), AddMulPartitionerDemo()).to_executorch().verdict.methods
    first, *rest = method.fallbacks
    assert first.operator == "aten::convolution.out"
    assert first.reasons["SayingWhy"] == "padding is not supported"
    assert "no reason" in first.reasons["AddMulPartitionerDemo"]
    assert "test_lowering_report.py" in first.source and "convolution" in first.module
    assert {"aten::sin.out", "aten::addmm.out"} <= {one.operator for one in rest}
    assert "aten::add.out" not in {one.operator for one in rest}
    (delegate,) = method.delegates
    assert (delegate.backend, delegate.operators, delegate.dry_built) == (BACKEND, 1, None)
    assert delegate.flops == 2 * 4 * 64


def test_the_cost_of_products_is_the_count_of_torch_and_bytes_are_those_of_tensors() -> None:
    model = Net()
    with FlopCounterMode(display=False) as counter:
        model(X)
    by_operator = {one.operator: one for one in _lowered(SayingWhy()).to_executorch().verdict.methods[0].fallbacks}
    products = by_operator["aten::convolution.out"].flops + by_operator["aten::addmm.out"].flops
    assert products == counter.get_total_flops()
    sin = by_operator["aten::sin.out"]
    assert (sin.flops, sin.bytes) == (2 * 4 * 64, 2 * 4 * 2 * 4 * 64)


def test_a_fallback_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        _lowered(SayingWhy()).to_executorch()
    (record,) = caplog.records
    for words in (
        "method forward",
        "not delegated",
        "aten::convolution.out",
        "padding is not supported",
        "test_lowering_report.py",
    ):
        assert words in record.getMessage()


def test_strict_refuses_a_fallback_with_its_reason_and_source() -> None:
    lowered = _lowered(SayingWhy(), strict=True)
    with pytest.raises(
        VerificationError, match=r"strict.*convolution.*test_lowering_report.py.*padding is not supported"
    ):
        lowered.to_executorch()
    add = to_edge_transform_and_lower(
        export(_Add(), (X,)), partitioner=[AddMulPartitionerDemo()], compile_config=EdgeCompileConfig(strict=True)
    )
    assert add.to_executorch().verdict.methods[0].fallbacks == ()


class _Add(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x


def test_the_verdict_is_a_table_and_json() -> None:
    register_dry_build(BACKEND, lambda module: None)
    try:
        manager = _lowered(AddMulPartitionerDemo()).to_executorch()
        text, data = str(manager.verdict), json.loads(manager.verdict.as_json())
    finally:
        unregister_dry_build(BACKEND)
    for words in (
        "checked against the target",
        "arena 1",
        "aten::sin.out",
        BACKEND,
        "FLOPs",
        "test_lowering_report.py",
    ):
        assert words in text
    (method,) = data["methods"]
    assert method["delegates"][0]["dry_built"] is True
    plan = manager.executorch_program.execution_plan[0]
    assert method["arenas"] == {"1": plan.non_const_buffer_sizes[1]}
    assert data["constant_bytes"] == sum(len(b.storage) for b in manager.executorch_program.constant_buffer)


def test_fallbacks_survive_passes_that_rewrite_nodes_and_control_flow() -> None:
    class Branch(nn.Module):
        def forward(self, p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(p, lambda x: torch.sin(x), lambda x: torch.cos(x), (x,))

    exported = export(Branch(), (torch.tensor(True), X))
    manager = to_edge_transform_and_lower(exported, partitioner=[SayingWhy()]).to_executorch()
    assert {one.operator for one in manager.verdict.methods[0].fallbacks} >= {"aten::sin.out", "aten::cos.out"}
