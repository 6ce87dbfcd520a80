# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The stages of an export. Each takes the artifact of the one before and makes the next."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.delegation_info import DelegationInfo, get_delegation_info
from executorch.exir.pass_manager import PassManager
from executorch.export.quantization import quantize_pt2e, quantize_source
from executorch.export.recipe import ExportRecipe, LoweringRecipe
from executorch.export.types import StageType

__all__ = ["PipelineArtifact", "Stage", "make_stage"]


class PipelineArtifact:
    """What a stage hands on: its data, and a context that all stages share (example inputs, dynamic shapes, times
    …)."""

    def __init__(self, data: Any, context: dict[str, Any]) -> None:
        self.data = data
        self.context = context

    def add_context(self, key: str, value: Any) -> None:
        self.context[key] = value

    def get_context(self, key: str, default: Any = None) -> Any:
        return self.context.get(key, default)

    def copy_with_new_data(self, new_data: Any) -> PipelineArtifact:
        return PipelineArtifact(new_data, dict(self.context))


class Stage(ABC):
    """One step of a pipeline. Write your own and hand it to `ExportSession.register_stage`.

    valid_predecessor_stages: what it may follow; empty: anything. can_start_pipeline: whether it may be the first.
    """

    _artifact: PipelineArtifact | None = None

    @property
    @abstractmethod
    def stage_type(self) -> StageType: ...

    @property
    @abstractmethod
    def valid_predecessor_stages(self) -> list[StageType]: ...

    @property
    @abstractmethod
    def can_start_pipeline(self) -> bool: ...

    @abstractmethod
    def run(self, artifact: PipelineArtifact) -> None:
        """Does the step and sets `self._artifact`."""

    def get_artifacts(self) -> PipelineArtifact:
        if self._artifact is None:
            raise RuntimeError(f"Stage: {type(self).__name__} not executed")
        return self._artifact


class _BuiltinStage(Stage):
    """A stage that reads its settings from the recipe. `run` is `apply` with the bookkeeping around it."""

    stage_type: StageType
    valid_predecessor_stages: list[StageType] = []
    can_start_pipeline = False

    def __init__(self, recipe: ExportRecipe) -> None:
        self.recipe = recipe
        self.lowering = recipe.lowering_recipe or LoweringRecipe()

    def run(self, artifact: PipelineArtifact) -> None:
        self._artifact = artifact.copy_with_new_data(self.apply(artifact))

    @abstractmethod
    def apply(self, artifact: PipelineArtifact) -> Any:
        """The data of the next artifact."""


class SourceTransformStage(_BuiltinStage):
    """Quantizes weights in copies of the models with torchao's `quantize_`, if the recipe asks for it."""

    stage_type = StageType.SOURCE_TRANSFORM
    can_start_pipeline = True

    def apply(self, artifact: PipelineArtifact) -> Any:
        quantization = self.recipe.quantization_recipe
        configs = quantization.ao_quantization_configs if quantization else None
        if not configs:
            return artifact.data
        models = copy.deepcopy(artifact.data)
        for model in models.values():
            quantize_source(model, configs)
        return models


class QuantizeStage(_BuiltinStage):
    """PT2E quantization, calibrated with all example inputs, if the recipe has quantizers."""

    stage_type = StageType.QUANTIZE
    valid_predecessor_stages = [StageType.SOURCE_TRANSFORM]
    can_start_pipeline = True

    def apply(self, artifact: PipelineArtifact) -> Any:
        quantization = self.recipe.quantization_recipe
        quantizers = quantization.get_quantizers() if quantization else None
        if not quantizers:
            return artifact.data
        return {
            method: quantize_pt2e(model, quantizers, _examples_of(artifact, method))
            for method, model in artifact.data.items()
        }


class TorchExportStage(_BuiltinStage):
    """torch.export of every method with its first example input."""

    stage_type = StageType.TORCH_EXPORT
    valid_predecessor_stages = [StageType.SOURCE_TRANSFORM, StageType.QUANTIZE]
    can_start_pipeline = True

    def apply(self, artifact: PipelineArtifact) -> Any:
        shapes = artifact.get_context("dynamic_shapes") or {}
        programs = {}
        for method, model in artifact.data.items():
            example = _examples_of(artifact, method)[0]
            with torch.no_grad():
                program = torch.export.export(
                    model, example, dynamic_shapes=shapes.get(method), strict=self.recipe.strict
                )
            for transform in self.recipe.aten_transform_passes or ():
                _require_callable(transform, "aten_transform_passes")
                program = transform(method, program)
            programs[method] = program
        return programs


class _DelegatingStage(_BuiltinStage):
    """A stage that hands parts to backends, and records which."""

    def run(self, artifact: PipelineArtifact) -> None:
        super().run(artifact)
        _record_delegation(self.get_artifacts())

    @property
    def delegation_info(self) -> DelegationInfo | None:
        info: DelegationInfo | None = self.get_artifacts().get_context("delegation_info")
        return info


class EdgeTransformAndLowerStage(_DelegatingStage):
    """Edge dialect, passes and delegates in one go."""

    stage_type = StageType.TO_EDGE_TRANSFORM_AND_LOWER
    valid_predecessor_stages = [StageType.TORCH_EXPORT]
    can_start_pipeline = True

    def apply(self, artifact: PipelineArtifact) -> Any:
        return to_edge_transform_and_lower(
            artifact.data,
            transform_passes=_passes_by_method(self.lowering, artifact.data) or None,
            partitioner=self.lowering.partitioners,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self.lowering.compile_config(),
            generate_etrecord=bool(artifact.get_context("generate_etrecord", False)),
        )


class ToEdgeStage(_BuiltinStage):
    """Edge dialect only."""

    stage_type = StageType.TO_EDGE
    valid_predecessor_stages = [StageType.TORCH_EXPORT]
    can_start_pipeline = True

    def apply(self, artifact: PipelineArtifact) -> Any:
        return to_edge(
            artifact.data,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self.lowering.compile_config(),
            generate_etrecord=bool(artifact.get_context("generate_etrecord", False)),
        )


class EdgeProgramManagerTransformStage(_BuiltinStage):
    """The recipe's passes on an edge program: those by method first, then those that want the manager, one by one."""

    stage_type = StageType.EDGE_PROGRAM_MANAGER_TRANSFORM
    valid_predecessor_stages = [StageType.TO_EDGE]

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        by_method = _passes_by_method(self.lowering, {m: manager.exported_program(m) for m in manager.methods})
        if by_method:
            manager = manager.transform(by_method)
        for make_passes in self.lowering.edge_manager_transform_passes or ():
            _require_callable(make_passes, "edge_manager_transform_passes")
            passes = make_passes(manager)
            if passes:
                manager = manager.transform(passes)
        return manager


class ToBackendStage(_DelegatingStage):
    """The recipe's partitioners, one after the other."""

    stage_type = StageType.TO_BACKEND
    valid_predecessor_stages = [StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM]

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        for partitioner in self.lowering.partitioners or ():
            manager = manager.to_backend(partitioner)
        return manager


class ExecutorchStage(_BuiltinStage):
    """Memory planning, emission and serialization."""

    stage_type = StageType.TO_EXECUTORCH
    valid_predecessor_stages = [
        StageType.TO_EDGE_TRANSFORM_AND_LOWER,
        StageType.TO_EDGE,
        StageType.TO_BACKEND,
        StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
    ]

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        return manager.to_executorch(self.recipe.executorch_backend_config or ExecutorchBackendConfig())


_BUILTIN = {
    stage.stage_type: stage
    for stage in (
        SourceTransformStage,
        QuantizeStage,
        TorchExportStage,
        EdgeTransformAndLowerStage,
        ToEdgeStage,
        EdgeProgramManagerTransformStage,
        ToBackendStage,
        ExecutorchStage,
    )
}


def make_stage(stage_type: StageType, recipe: ExportRecipe) -> Stage | None:
    """The stage of this type as `recipe` sets it up; None for a type that is not one of ours."""
    maker = _BUILTIN.get(stage_type)
    return None if maker is None else maker(recipe)


def _examples_of(artifact: PipelineArtifact, method: str) -> list[tuple[Any, ...]]:
    examples = (artifact.get_context("example_inputs") or {}).get(method)
    if not examples:
        raise ValueError(f"Example inputs for method {method} not found or empty.")
    if not isinstance(examples, list) or not all(isinstance(example, tuple) for example in examples):
        raise ValueError(
            f"example inputs for method {method}: expected a list of tuples, found {type(examples).__name__}"
        )
    return examples


def _passes_by_method(lowering: LoweringRecipe, programs: dict[str, Any]) -> dict[str, Sequence[Any]] | PassManager:
    """The passes that `edge_transform_passes` gives each method; a PassManager, once given, stands for all."""
    by_method: dict[str, list[Any]] = {}
    for method, program in programs.items():
        for make_passes in lowering.edge_transform_passes or ():
            _require_callable(make_passes, "edge_transform_passes")
            passes = make_passes(method, program)
            if isinstance(passes, PassManager):
                return passes
            by_method.setdefault(method, []).extend(passes)
    return dict(by_method)


def _record_delegation(artifact: PipelineArtifact) -> None:
    manager = artifact.data
    infos = {method: get_delegation_info(manager.exported_program(method).graph_module) for method in manager.methods}
    artifact.add_context("delegation_infos", infos)
    artifact.add_context("delegation_info", infos.get("forward", next(iter(infos.values()), None)))


def _require_callable(value: object, setting: str) -> None:
    if not callable(value):
        raise ValueError(f"{setting}: expected functions, found {type(value).__name__}")


def _require_manager(artifact: PipelineArtifact, stage: StageType) -> EdgeProgramManager:
    if not isinstance(artifact.data, EdgeProgramManager):
        raise TypeError(f"stage {stage.value}: expected an EdgeProgramManager, found {type(artifact.data).__name__}")
    return artifact.data
