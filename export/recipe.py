# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recipes: settings of an export as values that can be stored, shared and combined."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, EnumMeta
from typing import TYPE_CHECKING, Any

import torch

from executorch.exir import EdgeCompileConfig, EdgeProgramManager, ExecutorchBackendConfig, ExportedProgram
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.pass_base import PassType
from executorch.exir.pass_manager import PassManager
from executorch.export.types import StageType

if TYPE_CHECKING:  # importing torchao takes seconds, and only quantization needs it
    from torchao.core.config import AOBaseConfig  # type: ignore[import-untyped]
    from torchao.quantization.pt2e.quantizer import Quantizer  # type: ignore[import-untyped]

__all__ = ["AOQuantizationConfig", "ExportRecipe", "LoweringRecipe", "Mode", "QuantizationRecipe", "RecipeType"]

Passes = list[PassType] | PassManager


class _EnumWithAbstractMethods(EnumMeta, ABCMeta):
    pass


class RecipeType(Enum, metaclass=_EnumWithAbstractMethods):
    """Base class of an enum of a backend's recipes, one member for each."""

    @classmethod
    @abstractmethod
    def get_backend_name(cls) -> str:
        """The backend that provides these recipes, as in `recipe_registry`."""


class Mode(str, Enum):
    """Kind of a build, as ExecuTorch 1.4 names it; no stage reads it."""

    DEBUG = "debug"
    RELEASE = "release"


@dataclass
class AOQuantizationConfig:
    """A torchao weight quantization (`quantize_`) and a filter of modules, (module, fqn) → bool; None: all."""

    ao_base_config: AOBaseConfig
    filter_fn: Callable[[torch.nn.Module, str], bool] | None = None


@dataclass
class QuantizationRecipe:
    """Settings of quantization.

    quantizers: for PT2E quantization (prepare, calibrate with all example inputs, convert).
    ao_quantization_configs: applied first, to the model's source; at most one.
    """

    quantizers: list[Quantizer] | None = None
    ao_quantization_configs: list[AOQuantizationConfig] | None = None

    def get_quantizers(self) -> list[Quantizer] | None:
        """Return the quantizers, None without any."""
        return self.quantizers


@dataclass
class LoweringRecipe:
    """Settings of lowering: partitioners, passes, strictness.

    partitioners: in the order in which they may take nodes.
    edge_transform_passes: functions (method, program) → passes to run on the edge program.
    edge_manager_transform_passes: functions EdgeProgramManager → passes, one after the other (stage
    EDGE_PROGRAM_MANAGER_TRANSFORM).
    strict: operators left to portable kernels are an error instead of a warning.
    """

    partitioners: list[Partitioner] | None = None
    edge_transform_passes: list[Callable[[str, ExportedProgram], Passes]] | None = None
    edge_manager_transform_passes: list[Callable[[EdgeProgramManager], Passes]] | None = None
    edge_compile_config: EdgeCompileConfig | None = None
    strict: bool = False

    def compile_config(self) -> EdgeCompileConfig:
        """Return the edge configuration, strict if the recipe or the configuration is strict."""
        config = self.edge_compile_config or EdgeCompileConfig()
        return replace(config, strict=True) if self.strict else config


@dataclass
class ExportRecipe:
    """Settings of an export. All are optional; an empty recipe gives a portable program.

    aten_transform_passes: functions (method, program) → program, run on the result of torch.export.
    pipeline_stages: None for the default pipeline of the given kind of model.
    strict: the flag of torch.export.
    """

    name: str | None = None
    quantization_recipe: QuantizationRecipe | None = None
    aten_transform_passes: list[Callable[[str, ExportedProgram], ExportedProgram]] | None = None
    lowering_recipe: LoweringRecipe | None = None
    executorch_backend_config: ExecutorchBackendConfig | None = None
    pipeline_stages: list[StageType] | None = None
    mode: Mode = Mode.RELEASE
    strict: bool = True

    @classmethod
    def get_recipe(cls, recipe: RecipeType, **kwargs: Any) -> ExportRecipe:
        """Return the recipe of a registered backend. Raises ValueError for an unknown type."""
        from executorch.export.recipe_registry import recipe_registry

        if not isinstance(recipe, RecipeType):
            raise ValueError(f"Invalid recipe type: expected a member of a RecipeType, found {recipe!r}")
        backend = recipe.get_backend_name()
        export_recipe = recipe_registry.create_recipe(recipe, backend, **kwargs)
        if export_recipe is None:
            supported = [kind.value for kind in recipe_registry.get_supported_recipes(backend)]
            raise ValueError(f"Recipe {recipe.value!r} not supported by {backend!r}. Supported: {supported}")
        return export_recipe

    @classmethod
    def combine(cls, recipes: list[ExportRecipe], recipe_name: str | None = None) -> ExportRecipe:
        """Combine recipes: partitioners, quantizers and passes in the given order, and the first of single settings
        (edge_compile_config, executorch_backend_config). Raises ValueError without recipes.
        """
        if not recipes:
            raise ValueError("Recipes cannot be empty")
        if len(recipes) == 1:
            return recipes[0]
        backend_config = next((r.executorch_backend_config for r in recipes if r.executorch_backend_config), None)
        return cls(
            name=recipe_name or "_".join(recipe.name for recipe in recipes if recipe.name is not None),
            quantization_recipe=_combine_quantization([recipe.quantization_recipe for recipe in recipes]),
            aten_transform_passes=_concatenate(recipe.aten_transform_passes for recipe in recipes),
            lowering_recipe=_combine_lowering([recipe.lowering_recipe for recipe in recipes]),
            executorch_backend_config=copy.deepcopy(backend_config),
        )


def _combine_quantization(recipes: list[QuantizationRecipe | None]) -> QuantizationRecipe | None:
    present = [recipe for recipe in recipes if recipe is not None]
    quantizers = _concatenate(recipe.quantizers for recipe in present)
    configs = _concatenate(recipe.ao_quantization_configs for recipe in present)
    return QuantizationRecipe(quantizers, configs) if quantizers or configs else None


def _combine_lowering(recipes: list[LoweringRecipe | None]) -> LoweringRecipe | None:
    present = [recipe for recipe in recipes if recipe is not None]
    if not present:
        return None
    return LoweringRecipe(
        partitioners=_concatenate(recipe.partitioners for recipe in present),
        edge_transform_passes=_concatenate(recipe.edge_transform_passes for recipe in present),
        edge_manager_transform_passes=_concatenate(recipe.edge_manager_transform_passes for recipe in present),
        edge_compile_config=next((r.edge_compile_config for r in present if r.edge_compile_config), None),
        strict=any(recipe.strict for recipe in present),
    )


def _concatenate(lists: Iterable[list[Any] | None]) -> list[Any] | None:
    return [item for items in lists for item in items or ()] or None
