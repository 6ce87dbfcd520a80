# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export a model to a `.pte` in one call: recipes, sessions, and `python -m executorch.export`."""

from executorch.export.export import ExportSession, export
from executorch.export.recipe import (
    AOQuantizationConfig,
    ExportRecipe,
    LoweringRecipe,
    Mode,
    QuantizationRecipe,
    RecipeType,
)
from executorch.export.recipe_provider import BackendRecipeProvider
from executorch.export.recipe_registry import recipe_registry
from executorch.export.types import StageType

__all__ = [
    "AOQuantizationConfig",
    "BackendRecipeProvider",
    "ExportRecipe",
    "ExportSession",
    "LoweringRecipe",
    "Mode",
    "QuantizationRecipe",
    "RecipeType",
    "StageType",
    "export",
    "recipe_registry",
]
