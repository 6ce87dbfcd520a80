# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Stages with their documented settings, each run on its own; the recipe registry; the record of a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from executorch.devtools import parse_etrecord
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, ExportedProgram
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.pass_base import ExportPass
from executorch.exir.schema import Program
from executorch.export import ExportRecipe, LoweringRecipe, StageType, export, recipe_registry
from executorch.export.recipe_registry import RecipeRegistry
from executorch.export.stages import (
    EdgeProgramManagerTransformStage,
    EdgeTransformAndLowerStage,
    ExecutorchStage,
    PipelineArtifact,
    QuantizeStage,
    SourceTransformStage,
    Stage,
    ToBackendStage,
    ToEdgeStage,
    TorchExportStage,
)


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + x).relu()


class CountedPass(ExportPass):
    calls = 0

    def call(self, graph_module: torch.fx.GraphModule) -> Any:
        CountedPass.calls += 1
        return super().call(graph_module)


INPUTS = [(torch.ones(3),)]


def ran(stages: list[Stage]) -> PipelineArtifact:
    artifact = PipelineArtifact({"forward": Add()}, {"example_inputs": {"forward": INPUTS}})
    for stage in stages:
        stage.run(artifact)
        artifact = stage.get_artifacts()
    return artifact


def program_of(artifact: PipelineArtifact) -> Program:
    program: Program = artifact.data.executorch_program
    return program


def test_stages_take_their_settings_by_keyword() -> None:
    seen: list[str] = []

    def record(method: str, program: ExportedProgram) -> ExportedProgram:
        seen.append(method)
        return program

    CountedPass.calls = 0
    lower = EdgeTransformAndLowerStage(
        partitioners=[AddMulPartitionerDemo()],
        transform_passes=[lambda method, program: [CountedPass()]],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    artifact = ran(
        [
            SourceTransformStage(None),
            QuantizeStage(quantization_recipe=None),
            TorchExportStage(aten_transform_passes=[record], strict=False),
            lower,
            ExecutorchStage(ExecutorchBackendConfig()),
        ]
    )
    assert seen == ["forward"] and CountedPass.calls == 1
    assert lower.delegation_info is not None and lower.delegation_info.num_delegated_subgraphs == 1
    assert [delegate.id for delegate in program_of(artifact).execution_plan[0].delegates] == ["BackendWithCompilerDemo"]


def test_stages_without_settings_give_a_portable_program() -> None:
    manager_passes: list[Callable[[EdgeProgramManager], Any]] = [lambda manager: [CountedPass()]]
    CountedPass.calls = 0
    artifact = ran(
        [
            TorchExportStage(),
            ToEdgeStage(edge_compile_config=None),
            EdgeProgramManagerTransformStage(edge_manager_transform_passes=manager_passes),
            ToBackendStage(),
            ExecutorchStage(None),
        ]
    )
    assert CountedPass.calls == 1
    assert not program_of(artifact).execution_plan[0].delegates


@pytest.mark.parametrize(
    "kind", [EdgeTransformAndLowerStage, ToEdgeStage, ToBackendStage, EdgeProgramManagerTransformStage]
)
def test_stages_are_built_from_a_lowering_recipe_or_none(kind: Any) -> None:
    assert isinstance(kind.from_recipe(None), kind)
    recipe = LoweringRecipe(partitioners=[AddMulPartitionerDemo()])
    before: list[Stage] = [TorchExportStage()]
    if kind in (ToBackendStage, EdgeProgramManagerTransformStage):
        before.append(ToEdgeStage())
    ran_artifact = ran([*before, kind.from_recipe(recipe)])
    info = ran_artifact.get_context("delegation_info")
    delegates = kind in (EdgeTransformAndLowerStage, ToBackendStage)
    assert (info.num_delegated_subgraphs if info else 0) == int(delegates)


def test_stages_refuse_passes_that_are_not_functions_and_missing_programs() -> None:
    with pytest.raises(ValueError, match=r"Aten transform passes must be a callable.*found str"):
        ran([TorchExportStage(aten_transform_passes=["fold"])])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"Transform passes must be a callable.*found str"):
        ran([TorchExportStage(), EdgeTransformAndLowerStage(transform_passes=["fold"])])  # type: ignore[list-item]
    with pytest.raises(RuntimeError, match=r"Edge program manager is not set.*to_backend"):
        ToBackendStage().run(PipelineArtifact(None, {}))
    with pytest.raises(RuntimeError, match="Stage: ToEdgeStage not executed"):
        ToEdgeStage().get_artifacts()


def test_the_recipe_registry_is_one_instance_that_keeps_its_providers() -> None:
    before = list(recipe_registry.list_backends())
    assert RecipeRegistry() is recipe_registry
    assert recipe_registry.list_backends() == before


@pytest.mark.parametrize(
    "lowering",
    [
        [StageType.TO_EDGE_TRANSFORM_AND_LOWER],
        [StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM, StageType.TO_BACKEND],
    ],
)
def test_a_session_returns_the_record_of_its_export(lowering: list[StageType], tmp_path: Path) -> None:
    recipe = ExportRecipe(
        lowering_recipe=LoweringRecipe(partitioners=[AddMulPartitionerDemo()]),
        pipeline_stages=[StageType.TORCH_EXPORT, *lowering, StageType.TO_EXECUTORCH],
    )
    session = export(Add(), INPUTS, recipe, generate_etrecord=True)
    session.get_etrecord().save(tmp_path / "add.etrecord")
    record = parse_etrecord(str(tmp_path / "add.etrecord"))
    assert record._delegate_map is not None and set(record._delegate_map) == {"forward"}
    with pytest.raises(RuntimeError, match="generate_etrecord=True"):
        export(Add(), INPUTS, recipe).get_etrecord()


def test_an_empty_output_name_raises_value_and_assertion_error() -> None:
    session = export(Add(), INPUTS)
    for kind in (ValueError, AssertionError):
        with pytest.raises(kind, match="output name is empty"):
            session.save_to_pte("")
