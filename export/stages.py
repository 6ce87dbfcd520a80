# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Stages of an export. Each converts the previous stage's artifact to the next."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExportedProgram,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.delegate.delegation_info import DelegationInfo, get_delegation_info
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.pass_manager import PassManager
from executorch.export.quantization import quantize_pt2e, quantize_source
from executorch.export.recipe import ExportRecipe, LoweringRecipe, Passes, QuantizationRecipe
from executorch.export.types import StageType

__all__ = [
    "EdgeProgramManagerTransformStage",
    "EdgeTransformAndLowerStage",
    "ExecutorchStage",
    "PipelineArtifact",
    "QuantizeStage",
    "SourceTransformStage",
    "Stage",
    "ToBackendStage",
    "ToEdgeStage",
    "TorchExportStage",
    "make_stage",
]

AtenPass = Callable[[str, ExportedProgram], ExportedProgram]
EdgePasses = Callable[[str, ExportedProgram], Passes]
ManagerPasses = Callable[[EdgeProgramManager], Passes]


@dataclass
class PipelineArtifact:
    """Result of a stage, with the context of the whole export (example inputs, dynamic shapes, times)."""

    data: Any
    context: dict[str, Any]

    def add_context(self, key: str, value: Any) -> None:
        """Set an entry of the context, which later stages read."""
        self.context[key] = value

    def get_context(self, key: str, default: Any = None) -> Any:
        """Return an entry of the context, or `default`."""
        return self.context.get(key, default)

    def copy_with_new_data(self, new_data: Any) -> PipelineArtifact:
        """Return an artifact of other data with a copy of the context."""
        return PipelineArtifact(new_data, dict(self.context))


class Stage(ABC):
    """One step of a pipeline. Register custom stages with `ExportSession.register_stage`.

    valid_predecessor_stages: stages it may follow; empty: any. can_start_pipeline: whether it may be first.
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
        """Run the stage and set `self._artifact`."""

    def get_artifacts(self) -> PipelineArtifact:
        if self._artifact is None:
            raise RuntimeError(f"Stage: {type(self).__name__} not executed")
        return self._artifact


class _BuiltinStage(Stage):
    """Base class of this module's stages. `run` calls `apply` and keeps the artifact."""

    stage_type: StageType
    valid_predecessor_stages: list[StageType] = []
    can_start_pipeline = False

    def run(self, artifact: PipelineArtifact) -> None:
        self._artifact = artifact.copy_with_new_data(self.apply(artifact))

    @abstractmethod
    def apply(self, artifact: PipelineArtifact) -> Any:
        """Return the data of the next artifact."""


class SourceTransformStage(_BuiltinStage):
    """Quantizes weights in copies of the models with torchao's `quantize_`, if the recipe has a config."""

    stage_type = StageType.SOURCE_TRANSFORM
    can_start_pipeline = True

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        self._quantization_recipe = quantization_recipe

    def apply(self, artifact: PipelineArtifact) -> Any:
        configs = self._quantization_recipe.ao_quantization_configs if self._quantization_recipe else None
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

    def __init__(self, quantization_recipe: QuantizationRecipe | None) -> None:
        self._quantization_recipe = quantization_recipe

    def apply(self, artifact: PipelineArtifact) -> Any:
        quantizers = self._quantization_recipe.quantizers if self._quantization_recipe else None
        if not quantizers:
            return artifact.data
        shapes = artifact.get_context("dynamic_shapes") or {}
        return {
            method: quantize_pt2e(model, quantizers, _examples_of(artifact, method), dynamic_shapes=shapes.get(method))
            for method, model in artifact.data.items()
        }


class TorchExportStage(_BuiltinStage):
    """torch.export of every method with its first example input."""

    stage_type = StageType.TORCH_EXPORT
    valid_predecessor_stages = [StageType.SOURCE_TRANSFORM, StageType.QUANTIZE]
    can_start_pipeline = True

    def __init__(self, aten_transform_passes: Sequence[AtenPass] | None = None, strict: bool = True) -> None:
        self._aten_transform_passes = aten_transform_passes
        self.strict = strict

    def apply(self, artifact: PipelineArtifact) -> Any:
        shapes = artifact.get_context("dynamic_shapes") or {}
        programs = {}
        for method, model in artifact.data.items():
            example = _examples_of(artifact, method)[0]
            with torch.no_grad():
                program = torch.export.export(model, example, dynamic_shapes=shapes.get(method), strict=self.strict)
            for transform in self._aten_transform_passes or ():
                _require_callable(
                    transform,
                    "Aten transform passes must be a callable that can transform and return an exported program",
                )
                program = transform(method, program)
            programs[method] = program
        return programs


class _DelegatingStage(_BuiltinStage):
    """A stage that delegates to backends and records the delegation of each method."""

    def record_delegation(self, methods: Iterable[str]) -> None:
        """Add the delegation of each method to the context of the artifact."""
        artifact = self.get_artifacts()
        infos = {method: get_delegation_info(artifact.data.exported_program(method).graph_module) for method in methods}
        artifact.add_context("delegation_infos", infos)
        artifact.add_context("delegation_info", infos.get("forward", next(iter(infos.values()), None)))

    @property
    def delegation_info(self) -> DelegationInfo | None:
        info: DelegationInfo | None = self.get_artifacts().get_context("delegation_info")
        return info


class EdgeTransformAndLowerStage(_DelegatingStage):
    """Lowers to edge dialect with passes and delegates in one step."""

    stage_type = StageType.TO_EDGE_TRANSFORM_AND_LOWER
    valid_predecessor_stages = [StageType.TORCH_EXPORT]
    can_start_pipeline = True

    def __init__(
        self,
        partitioners: list[Partitioner] | None = None,
        transform_passes: Sequence[EdgePasses] | None = None,
        compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        self._partitioners = partitioners
        self._transform_passes = transform_passes
        self._compile_config = compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeTransformAndLowerStage:
        """The stage with the settings of a recipe."""
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.partitioners, recipe.edge_transform_passes, recipe.compile_config())

    def run(self, artifact: PipelineArtifact) -> None:
        super().run(artifact)
        self.record_delegation(artifact.data)

    def apply(self, artifact: PipelineArtifact) -> Any:
        return to_edge_transform_and_lower(
            artifact.data,
            transform_passes=_passes_by_method(self._transform_passes, artifact.data) or None,
            partitioner=self._partitioners,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self._compile_config,
            generate_etrecord=bool(artifact.get_context("generate_etrecord", False)),
        )


class ToEdgeStage(_BuiltinStage):
    """Edge dialect only."""

    stage_type = StageType.TO_EDGE
    valid_predecessor_stages = [StageType.TORCH_EXPORT]
    can_start_pipeline = True

    def __init__(self, edge_compile_config: EdgeCompileConfig | None = None) -> None:
        self._edge_compile_config = edge_compile_config

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToEdgeStage:
        """The stage with the settings of a recipe."""
        return cls((lowering_recipe or LoweringRecipe()).compile_config())

    def apply(self, artifact: PipelineArtifact) -> Any:
        return to_edge(
            artifact.data,
            constant_methods=artifact.get_context("constant_methods"),
            compile_config=self._edge_compile_config,
            generate_etrecord=bool(artifact.get_context("generate_etrecord", False)),
        )


class EdgeProgramManagerTransformStage(_BuiltinStage):
    """The recipe's passes on an edge program: first those by method, then those that take the manager, in turn."""

    stage_type = StageType.EDGE_PROGRAM_MANAGER_TRANSFORM
    valid_predecessor_stages = [StageType.TO_EDGE]

    def __init__(
        self,
        edge_transform_passes: Sequence[EdgePasses] | None = None,
        edge_manager_transform_passes: Sequence[ManagerPasses] | None = None,
    ) -> None:
        self._edge_transform_passes = edge_transform_passes or []
        self._edge_manager_transform_passes = edge_manager_transform_passes or []

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> EdgeProgramManagerTransformStage:
        """The stage with the settings of a recipe."""
        recipe = lowering_recipe or LoweringRecipe()
        return cls(recipe.edge_transform_passes, recipe.edge_manager_transform_passes)

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        programs = {method: manager.exported_program(method) for method in manager.methods}
        by_method = _passes_by_method(self._edge_transform_passes, programs)
        if by_method:
            manager = manager.transform(by_method)
        for make_passes in self._edge_manager_transform_passes:
            _require_callable(make_passes, "Edge manager transform passes must be a callable that resolves to passes")
            passes = make_passes(manager)
            if passes:
                manager = manager.transform(passes)
        return manager


class ToBackendStage(_DelegatingStage):
    """The recipe's partitioners, one after the other."""

    stage_type = StageType.TO_BACKEND
    valid_predecessor_stages = [StageType.TO_EDGE, StageType.EDGE_PROGRAM_MANAGER_TRANSFORM]

    def __init__(self, partitioners: list[Partitioner] | None = None) -> None:
        self._partitioners = partitioners

    @classmethod
    def from_recipe(cls, lowering_recipe: LoweringRecipe | None) -> ToBackendStage:
        """The stage with the settings of a recipe."""
        return cls((lowering_recipe or LoweringRecipe()).partitioners)

    def run(self, artifact: PipelineArtifact) -> None:
        super().run(artifact)
        self.record_delegation(self.get_artifacts().data.methods)

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        for partitioner in self._partitioners or ():
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

    def __init__(self, backend_config: ExecutorchBackendConfig | None = None) -> None:
        self._backend_config = backend_config

    def apply(self, artifact: PipelineArtifact) -> Any:
        manager = _require_manager(artifact, self.stage_type)
        return manager.to_executorch(self._backend_config or ExecutorchBackendConfig())


_FROM_RECIPE: dict[StageType, Callable[[ExportRecipe], Stage]] = {
    StageType.SOURCE_TRANSFORM: lambda recipe: SourceTransformStage(recipe.quantization_recipe),
    StageType.QUANTIZE: lambda recipe: QuantizeStage(recipe.quantization_recipe),
    StageType.TORCH_EXPORT: lambda recipe: TorchExportStage(recipe.aten_transform_passes, recipe.strict),
    StageType.TO_EDGE_TRANSFORM_AND_LOWER: lambda recipe: EdgeTransformAndLowerStage.from_recipe(
        recipe.lowering_recipe
    ),
    StageType.TO_EDGE: lambda recipe: ToEdgeStage.from_recipe(recipe.lowering_recipe),
    StageType.EDGE_PROGRAM_MANAGER_TRANSFORM: lambda recipe: EdgeProgramManagerTransformStage.from_recipe(
        recipe.lowering_recipe
    ),
    StageType.TO_BACKEND: lambda recipe: ToBackendStage.from_recipe(recipe.lowering_recipe),
    StageType.TO_EXECUTORCH: lambda recipe: ExecutorchStage(recipe.executorch_backend_config),
}


def make_stage(stage_type: StageType, recipe: ExportRecipe) -> Stage | None:
    """Return the stage of this type with the settings of `recipe`, or None for a type that this module lacks."""
    make = _FROM_RECIPE.get(stage_type)
    return None if make is None else make(recipe)


def _examples_of(artifact: PipelineArtifact, method: str) -> list[tuple[Any, ...]]:
    examples = (artifact.get_context("example_inputs") or {}).get(method)
    if not examples:
        raise ValueError(f"Example inputs for method {method} not found or empty.")
    if not isinstance(examples, list) or not all(isinstance(example, tuple) for example in examples):
        raise ValueError(
            f"example inputs for method {method}: expected a list of tuples, found {type(examples).__name__}"
        )
    return examples


def _passes_by_method(
    makers: Sequence[EdgePasses] | None, programs: dict[str, Any]
) -> dict[str, Sequence[Any]] | PassManager:
    """Return the passes of each method. The first PassManager that a maker returns replaces all other passes."""
    by_method: dict[str, list[Any]] = {}
    for method, program in programs.items():
        for make_passes in makers or ():
            _require_callable(make_passes, "Transform passes must be a callable that resolves to passes")
            passes = make_passes(method, program)
            if isinstance(passes, PassManager):
                return passes
            by_method.setdefault(method, []).extend(passes)
    return dict(by_method)


def _require_callable(value: object, expected: str) -> None:
    if not callable(value):
        raise ValueError(f"{expected}; found {type(value).__name__}")


def _require_manager(artifact: PipelineArtifact, stage: StageType) -> EdgeProgramManager:
    if artifact.data is None:
        raise RuntimeError(f"Edge program manager is not set. Stage {stage.value} needs the artifact of an edge stage.")
    if not isinstance(artifact.data, EdgeProgramManager):
        raise TypeError(f"stage {stage.value}: expected an EdgeProgramManager, found {type(artifact.data).__name__}")
    return artifact.data
