# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Common pitfalls give correct programs, or errors of the compiler with node, module, source line and hint."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from oracle.demo.demo_backends import DEMO_OPERATORS, Takes
from oracle.demo.demo_runtime import loaded
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from executorch.exir.backend.canonical_partitioners.config_partitioner import (
    ConfigerationBasedPartitioner,
    PartitionerConfig,
)
from executorch.exir.backend.partitioner import DelegationSpec
from executorch.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from executorch.exir.error import ExportError, VerificationError
from executorch.exir.program.target import installed_kernels

IMAGE = torch.randn(1, 3, 8, 8)


class Calls(nn.Module):
    """Calls a function from a place that messages can name."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class Outer(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.inner = Calls(function)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.inner(*inputs)


class _Pooling(PartitionerConfig):
    target_name = "max_pool2d_with_indices.default"

    def check_constraints(self, node: Any, ep: Any) -> bool:
        return True

    def get_original_aten(self) -> Any:
        return torch.ops.aten.max_pool2d.default

    def get_partition(self, node: Any, ep: Any) -> list[Any]:
        return [node]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 2, ceil_mode=True),
        lambda x: F.avg_pool2d(x, 2),
        lambda x: F.max_pool1d(x[0], 2),
        lambda x: F.interpolate(x, scale_factor=2),
        lambda x: x.flatten(1)[:, :4].softmax(-1),
    ],
)
@pytest.mark.parametrize(
    "partitioner",
    [
        AllNodePartitioner(ExecutorBackend.__name__, []),
        ConfigerationBasedPartitioner(DelegationSpec(ExecutorBackend.__name__, []), [_Pooling()]),
    ],
    ids=["all", "config"],
)
def test_arguments_left_at_their_defaults_do_not_trouble_partitioners(function: Any, partitioner: Any) -> None:
    lowered = to_edge_transform_and_lower(export(Calls(function), (IMAGE,)), partitioner=[partitioner])
    with loaded(bytes(lowered.to_executorch().buffer)) as program:
        torch.testing.assert_close(program.run("forward", IMAGE)[0], function(IMAGE))


@pytest.mark.parametrize("alpha", [2, -0.5])
def test_a_delegate_applies_alpha(alpha: float) -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sub(torch.add(x, y, alpha=alpha), y * y, alpha=alpha)

    inputs = torch.randn(3, 4), torch.randn(3, 4)
    takes = Takes("BackendWithCompilerDemo", *DEMO_OPERATORS)
    lowered = to_edge_transform_and_lower(export(Calls(function), inputs), partitioner=[takes])
    with loaded(bytes(lowered.to_executorch().buffer)) as program:
        torch.testing.assert_close(program.run("forward", *inputs)[0], function(*inputs))


def test_a_layout_that_the_backend_does_not_know_is_refused_while_lowering() -> None:
    image = IMAGE.to(memory_format=torch.channels_last)
    program = export(Calls(lambda x: x * x), (image,))
    with pytest.raises(RuntimeError, match=r"dim order \[0, 2, 3, 1\].*BackendWithCompilerDemo"):
        to_edge_transform_and_lower(program, partitioner=[Takes("BackendWithCompilerDemo", *DEMO_OPERATORS)])


@pytest.mark.parametrize(
    ("function", "inputs", "operator"),
    [
        (lambda x: torch.linalg.ldl_factor(x)[0], (torch.eye(3),), "linalg_ldl_factor_ex"),
        (lambda x: torch.linalg.ldl_factor_ex(x)[0], (torch.eye(3),), "nothing decomposes it: write it with others"),
        (lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2])), (torch.ones(3),), "segment_reduce"),
    ],
)
def test_an_operator_that_no_kernel_library_has_is_refused_with_its_place(
    function: Any, inputs: tuple[Any, ...], operator: str
) -> None:
    with pytest.raises(VerificationError) as caught:
        to_edge(export(Outer(function), inputs)).to_executorch()
    for words in (operator, "inner", "test_pitfalls.py"):
        assert words in str(caught.value)


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library("pitfalls", "DEF") as library:
        library.define("mul3(Tensor x) -> Tensor")
        library.impl("mul3", lambda x: x * 3, "CompositeExplicitAutograd")
        torch.library.register_fake("pitfalls::mul3", torch.empty_like, lib=library)
        yield library


def _own() -> Any:
    return to_edge(export(Outer(lambda x: torch.ops.pitfalls.mul3(x)), (IMAGE,)))


def test_an_operator_without_an_out_variant_is_refused_with_its_place(library: torch.library.Library) -> None:
    with pytest.raises(ExportError) as caught:
        _own().to_executorch()
    for words in ("pitfalls::mul3", "out", "inner", "test_pitfalls.py"):
        assert words in str(caught.value)


def test_kernels_that_must_be_linked_are_named(
    library: torch.library.Library, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    library.define("mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    with caplog.at_level(logging.WARNING):
        program = _own().to_executorch()
    assert "pitfalls::mul3.out" in caplog.text and "link" in caplog.text
    assert program.verdict.methods[0].to_link == ("pitfalls::mul3.out",)
    assert "kernels to link: pitfalls::mul3.out" in str(program.verdict)

    manifest = tmp_path / "board.json"
    operators = {name: {} for name in installed_kernels()}
    manifest.write_text(json.dumps({"operators": operators}))
    with pytest.raises(
        VerificationError, match=r"inner.*test_pitfalls.py.*board.json has no kernel for pitfalls::mul3"
    ):
        _own().to_executorch(ExecutorchBackendConfig(target_manifest=manifest))
    manifest.write_text(json.dumps({"operators": {**operators, "pitfalls::mul3.out": {"takes": ["T -> T: float32"]}}}))
    assert _own().to_executorch(ExecutorchBackendConfig(target_manifest=manifest)).buffer


def test_a_delegate_for_a_backend_that_the_target_lacks_is_refused(tmp_path: Path) -> None:
    manifest = tmp_path / "board.json"
    operators = {name: {} for name in installed_kernels()}
    takes = Takes("BackendWithCompilerDemo", *DEMO_OPERATORS)
    lowered = to_edge_transform_and_lower(export(Outer(lambda x: x * x + x), (IMAGE,)), partitioner=[takes])
    manifest.write_text(json.dumps({"operators": operators, "backends": ["AnotherBackend"]}))
    with pytest.raises(VerificationError) as caught:
        lowered.to_executorch(ExecutorchBackendConfig(target_manifest=manifest))
    for words in ("board.json has no backend BackendWithCompilerDemo; it has AnotherBackend", "test_pitfalls.py"):
        assert words in str(caught.value)
    manifest.write_text(json.dumps({"operators": operators, "backends": ["BackendWithCompilerDemo"]}))
    assert lowered.to_executorch(ExecutorchBackendConfig(target_manifest=manifest)).buffer


def test_a_yaml_that_lists_no_operator_is_no_target(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("operators:\n  - aten::add.out\n")
    with pytest.raises(ValueError, match=r"other.yaml.*- func"):
        to_edge(export(nn.ReLU(), (IMAGE,))).to_executorch(
            ExecutorchBackendConfig(target_manifest=tmp_path / "other.yaml")
        )
