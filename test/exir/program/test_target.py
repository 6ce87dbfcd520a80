# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The compiler refuses programs that would not load or run; the message says what, where and what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.delegate.dry_build import register_dry_build, unregister_dry_build
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.error import VerificationError
from executorch.exir.program.target import installed_kernels, target_operators, unsupported_calls

X = torch.randn(2, 4)
BACKEND = "BackendWithCompilerDemo"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) * x + x


class Cast(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(self.dtype)


def _manifest(tmp_path: Path, **changes: Any) -> Path:
    operators = {name: {} for name in installed_kernels()}
    operators.update(changes)
    path = tmp_path / "target.json"
    path.write_text(json.dumps({"dtypes": {}, "operators": {k: v for k, v in operators.items() if v is not None}}))
    return path


def _edge(model: nn.Module, *inputs: torch.Tensor, **config: Any) -> Any:
    return to_edge(export(model, inputs), compile_config=EdgeCompileConfig(**config))


def test_a_cast_to_float8_is_refused_by_the_dialect_and_by_the_target() -> None:
    with pytest.raises(
        VerificationError, match=r"result has dtype float8_e4m3fn; the operator takes .*float32"
    ) as caught:
        _edge(Cast(torch.float8_e4m3fn), X)
    assert "test_target.py" in str(caught.value) and "argument 'self' float32" in str(caught.value)
    unchecked = _edge(Cast(torch.float8_e4m3fn), X, _check_ir_validity=False)
    with pytest.raises(VerificationError, match=r"check target.*_to_dim_order_copy.out.*float8_e4m3fn") as caught:
        unchecked.to_executorch()
    assert "test_target.py" in str(caught.value) and "check_target=False" in str(caught.value)
    exception = [torch.ops.dim_order_ops._to_dim_order_copy.default]
    assert _edge(Cast(torch.float8_e4m3fn), X, _core_aten_ops_exception_list=exception)


def test_an_operator_that_the_target_lacks_is_refused_with_the_name_of_the_target(tmp_path: Path) -> None:
    path = _manifest(tmp_path, **{"aten::relu.out": None})
    with pytest.raises(VerificationError, match=r"target.json has no kernel for aten::relu.out"):
        _edge(Net(), X).to_executorch(ExecutorchBackendConfig(target_manifest=path))


def test_each_argument_and_result_must_have_a_dtype_that_the_kernel_of_the_target_takes(tmp_path: Path) -> None:
    path = _manifest(tmp_path, **{"aten::relu.out": {"takes": ["T -> T: float16 int64"]}})
    with pytest.raises(VerificationError) as caught:
        _edge(Net(), X).to_executorch(ExecutorchBackendConfig(target_manifest=str(path)))
    for words in (
        "aten_relu",
        "argument 'self' has dtype float32; the operator takes int64, float16",
        "test_target.py",
    ):
        assert words in str(caught.value)
    assert _edge(Cast(torch.int64), X).to_executorch(ExecutorchBackendConfig(target_manifest=str(path)))


def test_a_kernel_for_contiguous_tensors_alone_is_not_given_others(tmp_path: Path) -> None:
    config = ExecutorchBackendConfig(
        target_manifest=_manifest(tmp_path, **{"aten::relu.out": {"layouts": "contiguous"}})
    )
    image = torch.randn(1, 3, 4, 4)
    assert _edge(nn.ReLU(), image).to_executorch(config)
    with pytest.raises(VerificationError, match=r"contiguous tensors only, found dim order \[0, 2, 3, 1\]"):
        _edge(nn.ReLU(), image.to(memory_format=torch.channels_last)).to_executorch(config)


def test_the_yaml_of_a_kernel_library_is_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "functions.yaml"
    path.write_text(
        "- func: relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n- func: my::op.out(Tensor x) -> ()\n"
        "- op: add.out\n"
    )
    assert sorted(target_operators(path)) == ["aten::add.out", "aten::relu.out", "my::op.out"]
    assert _edge(nn.ReLU(), X).to_executorch(ExecutorchBackendConfig(target_manifest=path))


@pytest.fixture
def refusing_backend() -> Iterator[list[str]]:
    tried: list[str] = []

    def build(module: Any) -> None:
        tried.append(module.backend_id)
        raise RuntimeError("payload of another version")

    register_dry_build(BACKEND, build)
    yield tried
    unregister_dry_build(BACKEND)


def test_a_delegate_that_its_backend_does_not_take_is_refused(refusing_backend: list[str]) -> None:
    edge = to_edge_transform_and_lower(export(Net(), (X,)), partitioner=[AddMulPartitionerDemo()])
    with pytest.raises(VerificationError, match=rf"{BACKEND} refuses its delegate.*test_target.py.*another version"):
        edge.to_executorch()
    assert refusing_backend == [BACKEND]
    assert edge.to_executorch(ExecutorchBackendConfig(check_target=False))


def test_a_partitioner_that_takes_what_its_backend_cannot_compile_fails_while_lowering() -> None:
    from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
    from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult

    class PickyBackend(BackendDetails):
        @staticmethod
        def preprocess(edge_program: Any, compile_specs: Any) -> PreprocessResult:
            raise NotImplementedError("relu is not in this backend")

    class Greedy(Partitioner):
        def partition(self, exported_program: Any) -> PartitionResult:
            for node in exported_program.graph.nodes:
                if node.op == "call_function":
                    node.meta["delegation_tag"] = "all"
            return PartitionResult(exported_program, {"all": DelegationSpec("PickyBackend", [])})

    with pytest.raises(NotImplementedError, match="relu is not in this backend"):
        to_edge_transform_and_lower(export(nn.ReLU(), (X,)), partitioner=[Greedy()])


def test_every_legal_edge_call_has_a_kernel() -> None:
    """One table: nothing that the verifier lets pass in these is refused by the target, and the other way round."""
    for dtype in (torch.float16, torch.int64, torch.uint8, torch.bool, torch.bfloat16):
        edge = _edge(Cast(torch.float32), X.to(dtype))
        assert not unsupported_calls(edge.to_executorch().exported_program().graph_module, installed_kernels())
